"""`run` on a real repository and the embedded control plane: a commit is applied, an edit is repaired."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable, Iterator
from http.client import HTTPConnection
from pathlib import Path

import pytest

from gitops_vg import pipeline
from gitops_vg.controller.run import Controller, RunSettings
from gitops_vg.controller.stages import FleetStages
from gitops_vg.demo import FLEET
from gitops_vg.gitstore import Repository, start_repository
from gitops_vg.kube import ApiServer, connect
from gitops_vg.objects import ObjectKey
from gitops_vg.sandbox import KARMADA, Sandbox

SHOP = ObjectKey("apps", "Deployment", "web", "shop")
QUEUE = ObjectKey("scheduling.volcano.sh", "Queue", "", "reports")


@pytest.fixture
def server() -> Iterator[ApiServer]:
    with Sandbox.start(job_seconds=600) as sandbox:
        yield connect(kubeconfig=str(sandbox.kubeconfig), context=KARMADA)


@pytest.fixture
def fleet(tmp_path: Path, repository_root: Path) -> Repository:
    for name in FLEET:
        source = repository_root / name
        (shutil.copytree if source.is_dir() else shutil.copy)(source, tmp_path / name)  # type: ignore[operator]
    return start_repository(tmp_path, message="intents")


@pytest.fixture
def controller(fleet: Repository, server: ApiServer) -> Iterator[Controller]:
    intents = pipeline.load(fleet.root)
    stages = FleetStages(fleet, intents=intents, server=server)
    settings = RunSettings(window=0.05, limit=50, refresh=0.5, poll=60)
    running = Controller(stages, server=server, folder=fleet.git.top, settings=settings)
    thread = threading.Thread(target=running.run)
    thread.start()
    yield running
    running.stop()
    thread.join(timeout=20)
    assert not thread.is_alive()


def until(condition: Callable[[], bool], *, seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return
        time.sleep(0.02)
    raise AssertionError("never came true")


def image_of(server: ApiServer) -> str:
    body = server.get(SHOP)
    return str(body["spec"]["template"]["spec"]["containers"][0]["image"]) if body else ""


def get(port: int, path: str) -> tuple[int, str]:
    connection = HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        return response.status, response.read().decode()
    finally:
        connection.close()


def test_a_running_fleet_applies_commits_repairs_edits_and_holds_destruction(
    fleet: Repository, server: ApiServer, controller: Controller
) -> None:
    until(lambda: image_of(server) == "shop:2.3")
    until(lambda: get(controller.port, "/readyz")[0] == 200)

    path = fleet.root / "workloads/shop.yaml"
    path.write_text(path.read_text().replace("shop:2.3", "shop:2.4"))
    fleet.commit_all("a new image")
    until(lambda: image_of(server) == "shop:2.4")

    server.json_patch(SHOP, [{"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": "evil:1"}])
    until(lambda: image_of(server) == "shop:2.4")
    until(lambda: "gitops_vg_actions_total" in get(controller.port, "/metrics")[1])

    good = path.read_text()
    path.write_text("kind: [broken\n")
    fleet.commit_all("a mistake")
    until(lambda: get(controller.port, "/readyz")[0] == 503)
    server.json_patch(SHOP, [{"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": "evil:2"}])
    until(lambda: image_of(server) == "shop:2.4")

    path.write_text(good)
    (fleet.root / "policies/queues.yaml").unlink()
    for name in ("bert-training", "vision-training", "llm-pretraining", "nightly-report"):
        (fleet.root / f"workloads/{name}.yaml").unlink()
    fleet.commit_all("the queues go")
    until(lambda: "destroys what needs a person's word" in get(controller.port, "/readyz")[1])
    assert server.get(QUEUE) is not None
