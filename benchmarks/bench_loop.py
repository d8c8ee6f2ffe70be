"""From a commit of one changed intent to the object in the control plane, through the running loop."""

from __future__ import annotations

import shutil
import sys
import tempfile
import threading
import time
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parent))

import structlog
from sandbox_process import sandbox_process

from gitops_vg import pipeline
from gitops_vg.controller.run import Controller, RunSettings
from gitops_vg.controller.stages import FleetStages
from gitops_vg.demo import FLEET, sample_fleet
from gitops_vg.gitstore import start_repository
from gitops_vg.kube import connect
from gitops_vg.objects import ObjectKey

CHANGES = 50
WINDOW = 0.5
SHOP = ObjectKey("apps", "Deployment", "web", "shop")


def main() -> None:
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(40))
    with sandbox_process() as (kubeconfig, _), tempfile.TemporaryDirectory() as folder:
        for name in FLEET:
            source = sample_fleet() / name
            (shutil.copytree if source.is_dir() else shutil.copy)(source, Path(folder) / name)  # type: ignore[operator]
        repository = start_repository(Path(folder), message="intents")
        server = connect(kubeconfig=kubeconfig)
        intents = pipeline.load(Path(folder))
        stages = FleetStages(repository, intents=intents, server=server)
        settings = RunSettings(window=WINDOW, limit=50, refresh=15, poll=60)
        controller = Controller(stages, server=server, folder=repository.git.top, settings=settings)
        thread = threading.Thread(target=controller.run)
        thread.start()
        try:
            _wait(server, "shop:2.3")
            times = [_change(repository, server, number) for number in range(CHANGES)]
        finally:
            controller.stop()
            thread.join(timeout=30)
    after = sorted(max(0.0, seconds - WINDOW) for seconds in times)
    print(f"commit → applied, after the {WINDOW * 1000:.0f} ms window, over {CHANGES} changes:")
    print(f"  median {median(after) * 1000:.0f} ms, p99 {after[-1] * 1000:.0f} ms (target ≤ 300 ms)")


def _change(repository: object, server: object, number: int) -> float:
    path = repository.root / "workloads/shop.yaml"  # type: ignore[attr-defined]
    image = f"shop:3.{number}"
    lines = [f"    image: {image}" if "image:" in line else line for line in path.read_text().splitlines()]
    path.write_text("\n".join(lines) + "\n")
    repository.commit_all(f"change {number}")  # type: ignore[attr-defined]
    started = time.perf_counter()
    _wait(server, image)
    seconds = time.perf_counter() - started
    time.sleep(WINDOW + 1.0)  # What the change itself sets off (live events) must not shorten the next window.
    return seconds


def _wait(server: object, image: str) -> None:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        body = server.get(SHOP)  # type: ignore[attr-defined]
        if body and body["spec"]["template"]["spec"]["containers"][0]["image"] == image:
            return
        time.sleep(0.01)
    raise TimeoutError(image)


if __name__ == "__main__":
    main()
