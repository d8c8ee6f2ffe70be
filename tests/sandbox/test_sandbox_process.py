"""The sandbox as a process: killed, started again, started wrongly."""

from __future__ import annotations

import base64
import json
import signal
import socket
import ssl
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from sandbox_client import CONFIG_MAPS, config_map

SECONDS = 20


@dataclass
class Process:
    """One `gitops-vg sandbox up`, and requests by the kubeconfig that it wrote."""

    process: subprocess.Popen[str]
    kubeconfig: Path

    def request(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        config = yaml.safe_load(self.kubeconfig.read_text())
        cluster = config["clusters"][0]["cluster"]

        authority = base64.b64decode(cluster["certificate-authority-data"]).decode()
        request = urllib.request.Request(
            cluster["server"] + path,
            method=method,
            data=json.dumps(body).encode() if body is not None else None,
            headers={"Authorization": f"Bearer {config['users'][0]['user']['token']}"},
        )
        opener = urllib.request.build_opener(
            urllib.request.ProxyHandler({}),
            urllib.request.HTTPSHandler(context=ssl.create_default_context(cadata=authority)),
        )
        with opener.open(request, timeout=SECONDS) as answer:
            return json.load(answer)


Start = Callable[..., Process]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    running: list[subprocess.Popen[str]] = []

    def run(*options: str) -> Process:
        kubeconfig = tmp_path / "kubeconfig"
        program = Path(sys.executable).with_name("gitops-vg")
        command = [str(program), "sandbox", "up", "--kubeconfig", str(kubeconfig), *options]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        running.append(process)
        assert process.stdout is not None
        process.stdout.readline()
        process.stdout.readline()
        return Process(process, kubeconfig)

    yield run
    for process in running:
        process.kill()
        process.communicate(timeout=SECONDS)


def test_what_was_answered_survives_a_kill(start: Start, tmp_path: Path):
    first = start("--state", str(tmp_path / "state"))
    for number in range(30):
        made = first.request("POST", CONFIG_MAPS, config_map(f"c{number:02}", x=str(number)))
    first.request("DELETE", f"{CONFIG_MAPS}/c29")
    first.process.send_signal(signal.SIGKILL)
    first.process.wait(timeout=SECONDS)

    second = start("--state", str(tmp_path / "state"))

    listed = second.request("GET", CONFIG_MAPS)
    assert [item["data"]["x"] for item in listed["items"]] == [str(number) for number in range(29)]
    assert int(listed["metadata"]["resourceVersion"]) > int(made["metadata"]["resourceVersion"])
    clusters = second.request("GET", "/apis/cluster.karmada.io/v1alpha1/clusters")
    assert [cluster["metadata"]["name"] for cluster in clusters["items"]] == ["cluster-1", "cluster-2", "cluster-3"]


def test_an_interrupt_ends_it_at_once_and_well(start: Start):
    running = start()

    running.process.send_signal(signal.SIGINT)

    assert running.process.wait(timeout=5) == 0


def test_a_second_process_on_the_same_state_is_refused_and_the_first_lives(start: Start, tmp_path: Path):
    first = start("--state", str(tmp_path / "state"))

    second = start("--state", str(tmp_path / "state"))

    assert second.process.wait(timeout=SECONDS) == 1
    assert second.process.stderr is not None
    message = second.process.stderr.read()
    assert "another process uses it" in message
    assert "Traceback" not in message
    assert first.request("GET", CONFIG_MAPS)["items"] == []


def test_a_port_that_is_taken_is_an_error_with_a_way_out(start: Start):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        refused = start("--port", str(taken.getsockname()[1]))

        assert refused.process.wait(timeout=SECONDS) == 1
    assert refused.process.stderr is not None
    assert "--port" in refused.process.stderr.read()


def test_the_kubeconfig_is_for_its_owner_alone(start: Start):
    assert start().kubeconfig.stat().st_mode & 0o077 == 0
