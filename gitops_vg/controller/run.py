"""Wires the loop to the world: folder events, polls, live watches, capacity, probes."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import structlog

from gitops_vg.controller.batching import Batches, Cause, Change
from gitops_vg.controller.live import LiveWatch
from gitops_vg.controller.loop import Loop
from gitops_vg.controller.metrics import HealthServer, Heartbeat, Metrics
from gitops_vg.controller.stages import FleetStages, seconds
from gitops_vg.controller.watching import FolderWatch
from gitops_vg.errors import GitopsVgError
from gitops_vg.intents import Intents
from gitops_vg.kube import ApiServer
from gitops_vg.objects import GroupKind

_LOG = structlog.get_logger(__name__)
_PATIENCE = 600.0
"""Seconds without a sign of life after which the loop counts as stuck."""
_LOOK_AGAIN = 5.0
"""Seconds between looks at the folder when no event comes."""


@dataclass(frozen=True)
class RunSettings:
    """How `run` works; durations in seconds."""

    window: float
    limit: int
    refresh: float
    poll: float = 30.0
    address: str = "127.0.0.1"
    port: int = 0

    @classmethod
    def of(cls, intents: Intents, *, poll: float, address: str, port: int) -> RunSettings:
        """The Fleet's settings, with those of the command line."""
        spec = intents.fleet.spec
        return cls(
            window=seconds(spec.batch.window), limit=spec.batch.max, refresh=seconds(spec.capacity.refresh),
            poll=poll, address=address, port=port,
        )  # fmt: skip


class Controller:
    """A running fleet. `run` returns after `stop`, with the cycle at hand finished."""

    def __init__(self, stages: FleetStages, *, server: ApiServer, folder: Path, settings: RunSettings) -> None:
        self._stages = stages
        self._server = server
        self._folder = folder
        self._settings = settings
        self.metrics = Metrics()
        self.heartbeat = Heartbeat(patience=_PATIENCE)
        self._batches = Batches(window=settings.window, limit=settings.limit)
        self.loop = Loop(
            stages, batches=self._batches, metrics=self.metrics, heartbeat=self.heartbeat, after_sync=self._watch_live
        )
        self._stopped = threading.Event()
        self._hint = threading.Event()
        self._live: LiveWatch | None = None
        self._watched: frozenset[GroupKind] = frozenset()
        self.port = 0

    def run(self, ready: Callable[[], None] = lambda: None) -> None:
        """Work until `stop`; `ready` is called once the probes answer."""
        settings = self._settings
        with ExitStack() as stack:
            health = HealthServer(
                address=settings.address, port=settings.port, heartbeat=self.heartbeat, metrics=self.metrics
            )
            stack.enter_context(health)
            self.port = health.port
            stack.enter_context(FolderWatch(self._folder, changed=self._hint.set, poll=_LOOK_AGAIN))
            threads = [
                threading.Thread(target=self._looking, name="look", daemon=True),
                threading.Thread(
                    target=self._every, args=(settings.refresh, self._refresh), name="capacity", daemon=True
                ),
                threading.Thread(target=self._every, args=(settings.poll, self._fetch), name="poll", daemon=True),
            ]
            for thread in threads:
                thread.start()
            # What is loaded by now stays: the collector need not walk through it in the middle of a cycle.
            gc.collect()
            gc.freeze()
            ready()
            try:
                self.loop.run()
            finally:
                self._stopped.set()
                self._hint.set()
                if self._live is not None:
                    self._live.__exit__()

    def stop(self) -> None:
        """End `run`."""
        self._stopped.set()
        self._hint.set()
        self.loop.stop()

    def _looking(self) -> None:
        """Turn any number of hints into looks, one at a time."""
        while not self._stopped.is_set():
            self._hint.wait()
            self._hint.clear()
            if not self._stopped.is_set():
                self._quietly(self.loop.look)

    def _every(self, pause: float, work: Callable[[], None]) -> None:
        while not self._stopped.wait(pause):
            self._quietly(work)

    def _quietly(self, work: Callable[[], None]) -> None:
        """A look that fails is told and looked at again later."""
        try:
            work()
        except GitopsVgError as error:
            _LOG.warning("could not look", problem=error.message)

    def _refresh(self) -> None:
        self._stages.refresh_capacity()
        self._batches.put(Change(Cause.CAPACITY))

    def _fetch(self) -> None:
        self._stages.fetch()
        self.loop.look()

    def _watch_live(self) -> None:
        """Watch the kinds of the tree; start anew when there are others."""
        kinds = frozenset(manifest.key.group_kind for manifest in self._stages.tree().manifests)
        if kinds == self._watched:
            return
        if self._live is not None:
            self._live.__exit__()
        self._watched = kinds
        self._live = LiveWatch(
            self._server, kinds=kinds, owned=self._stages.owns,
            changed=lambda key: self._batches.put(Change(Cause.LIVE, str(key))),
        )  # fmt: skip
        self._live.__enter__()
