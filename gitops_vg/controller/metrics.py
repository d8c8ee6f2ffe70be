"""What the loop tells Prometheus, and how it tells probes that it is well."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest


class Metrics:
    """The loop's own registry: nothing global, so that two loops in one process do not mix."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.cycles = Counter("gitops_vg_cycles", "Cycles of the loop by result.", ["result"], registry=self.registry)
        self.actions = Counter("gitops_vg_actions", "Actions done by kind.", ["kind"], registry=self.registry)
        self.held = Gauge("gitops_vg_held_actions", "Actions that a guard holds back.", registry=self.registry)
        self.drift = Gauge("gitops_vg_drifted_objects", "Objects that differed live.", registry=self.registry)
        self.pending = Gauge("gitops_vg_pending_workloads", "Workloads without a place.", registry=self.registry)
        self.findings = Gauge("gitops_vg_findings", "Findings in the source.", ["severity"], registry=self.registry)
        self.age = Gauge("gitops_vg_capacity_age_seconds", "Age of the last snapshot.", registry=self.registry)
        self.seconds = Histogram("gitops_vg_cycle_seconds", "Time of a cycle after its batch.", registry=self.registry)


class Heartbeat:
    """When the loop last showed life, and whether its first cycle was good."""

    def __init__(self, *, patience: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._patience = patience
        self._beat = clock()
        self._problem = "the first cycle has not finished"

    def beat(self) -> None:
        """Called at least every few seconds by a loop that is alive."""
        self._beat = self._clock()

    def result(self, problem: str) -> None:
        """`problem` is "" after a good cycle, else one sentence."""
        self._problem = problem

    @property
    def alive(self) -> bool:
        return self._clock() - self._beat < self._patience

    @property
    def problem(self) -> str:
        return self._problem


class HealthServer:
    """/healthz (the loop is alive), /readyz (its last cycle was good), /metrics; on its own thread."""

    def __init__(self, *, address: str, port: int, heartbeat: Heartbeat, metrics: Metrics) -> None:
        def answer(path: str) -> tuple[int, str, bytes]:
            if path == "/metrics":
                return 200, CONTENT_TYPE_LATEST, generate_latest(metrics.registry)
            if path == "/healthz":
                return _plain(heartbeat.alive, "the loop has not moved for too long")
            if path == "/readyz":
                return _plain(not heartbeat.problem, heartbeat.problem)
            return 404, "text/plain", b"not found: /healthz, /readyz, /metrics\n"

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                status, content_type, body = answer(self.path.partition("?")[0])
                self.send_response(status)
                self.send_header("Content-Type", content_type)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (the name is the base class's)
                """Probes every few seconds are not worth a line."""

        self._server = ThreadingHTTPServer((address, port), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, name="health", daemon=True)

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    def __enter__(self) -> HealthServer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def _plain(good: bool, problem: str) -> tuple[int, str, bytes]:
    return (200, "text/plain", b"ok\n") if good else (503, "text/plain", f"{problem}\n".encode())
