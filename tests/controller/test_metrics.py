"""Probes and metrics of the loop, over real HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from http.client import HTTPConnection

import pytest

from gitops_vg.controller.metrics import HealthServer, Heartbeat, Metrics


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def heartbeat(clock: Clock) -> Heartbeat:
    return Heartbeat(patience=30, clock=clock)


@pytest.fixture
def server(heartbeat: Heartbeat) -> Iterator[HealthServer]:
    metrics = Metrics()
    metrics.actions.labels("create").inc(3)
    with HealthServer(address="127.0.0.1", port=0, heartbeat=heartbeat, metrics=metrics) as running:
        yield running


def get(server: HealthServer, path: str) -> tuple[int, str]:
    connection = HTTPConnection("127.0.0.1", server.port, timeout=5)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        return response.status, response.read().decode()
    finally:
        connection.close()


def test_a_loop_that_stopped_moving_is_not_healthy(server: HealthServer, clock: Clock, heartbeat: Heartbeat) -> None:
    assert get(server, "/healthz") == (200, "ok\n")

    clock.now = 31

    assert get(server, "/healthz")[0] == 503
    heartbeat.beat()
    assert get(server, "/healthz")[0] == 200


def test_ready_only_after_a_good_cycle_and_says_why_not(server: HealthServer, heartbeat: Heartbeat) -> None:
    assert get(server, "/readyz") == (503, "the first cycle has not finished\n")
    heartbeat.result("")
    assert get(server, "/readyz")[0] == 200
    heartbeat.result("karmada-apiserver did not answer")
    assert get(server, "/readyz") == (503, "karmada-apiserver did not answer\n")


def test_metrics_are_those_of_this_loop(server: HealthServer) -> None:
    status, body = get(server, "/metrics")

    assert status == 200
    assert 'gitops_vg_actions_total{kind="create"} 3.0' in body


def test_other_paths_say_what_there_is(server: HealthServer) -> None:
    assert get(server, "/")[0] == 404
