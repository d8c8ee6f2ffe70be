"""The loop: changes in, cycles out, for ever; a failure is told, waited out and tried again.

Level-triggered: a change only says that it is time to look. Every cycle reads the committed
source, the committed manifests and the live objects, so a missed event costs time and nothing else.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import structlog

from gitops_vg.controller.batching import Batches, Cause, Change
from gitops_vg.controller.metrics import Heartbeat, Metrics
from gitops_vg.errors import GitopsVgError

_LOG = structlog.get_logger(__name__)
_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 60.0


@dataclass(frozen=True)
class Published:
    """What publishing did: the commit it made ("" when nothing changed), and what waits for a place."""

    commit: str
    pending: int
    warnings: int = 0


@dataclass(frozen=True)
class Synced:
    """What syncing did: actions by kind, what a guard holds, objects that had drifted."""

    actions: dict[str, int]
    held: int
    drifted: int
    problem: str = ""


class Stages(Protocol):
    """What the loop drives; `pipeline` provides it."""

    def source_commit(self) -> str: ...
    def rendered_commit(self) -> str: ...
    def publish(self) -> Published: ...
    def sync(self) -> Synced: ...


class Loop:
    """One loop over one fleet. `run` returns after `stop`, with the cycle at hand finished."""

    def __init__(
        self,
        stages: Stages,
        *,
        batches: Batches,
        metrics: Metrics,
        heartbeat: Heartbeat,
        after_sync: Callable[[], None] = lambda: None,
    ) -> None:
        self._stages = stages
        self._batches = batches
        self._metrics = metrics
        self._heartbeat = heartbeat
        self._after_sync = after_sync
        self._retry: threading.Timer | None = None
        self._pause = _FIRST_PAUSE
        self._published_from = ""
        self._synced_from = ""
        self._source_problem = ""
        self._busy = False
        self._again = False

    def look(self) -> None:
        """Compare the commits with what the last cycle worked on, and note what is new. Cheap; called often."""
        if not self._busy:
            self._heartbeat.beat()
        if (source := self._stages.source_commit()) != self._published_from:
            self._batches.put(Change(Cause.SOURCE, source))
        if (rendered := self._stages.rendered_commit()) != self._synced_from:
            self._batches.put(Change(Cause.RENDERED, rendered))

    def run(self) -> None:
        """Work until stopped."""
        self._batches.put(Change(Cause.START))
        while batch := self._batches.take():
            self._cycle(batch)
            self._heartbeat.beat()

    def stop(self) -> None:
        """End `run` after the cycle at hand."""
        if self._retry is not None:
            self._retry.cancel()
        self._batches.close()

    def _cycle(self, batch: tuple[Change, ...]) -> None:
        started = time.monotonic()
        causes = {change.cause for change in batch}
        self._busy, self._again = True, False
        try:
            problem = self._work(causes)
        except GitopsVgError as error:
            problem, self._again = error.message, True
        self._busy = False
        self._heartbeat.result(problem)
        self._metrics.cycles.labels("problem" if problem else "good").inc()
        self._metrics.seconds.observe(time.monotonic() - started)
        if problem:
            _LOG.warning("cycle", causes=sorted(causes), problem=problem, again=self._again)
        self._plan_retry()

    def _work(self, causes: set[Cause]) -> str:
        if causes & {Cause.START, Cause.SOURCE, Cause.CAPACITY}:
            self._source_problem = self._publish()
        rendered = self._stages.rendered_commit()
        if causes & {Cause.START, Cause.LIVE} or rendered != self._synced_from:
            return self._sync(rendered) or self._source_problem
        return self._source_problem

    def _publish(self) -> str:
        """Publish; what is wrong with the source must not keep the committed state from being held."""
        source = self._stages.source_commit()
        try:
            published = self._stages.publish()
        except GitopsVgError as error:
            if error.exit_code == 4:
                raise
            # The source is wrong or a guard stopped it: only a new commit changes that, so no retry.
            self._published_from = source
            _LOG.warning("not published", source=source, problem=error.message)
            return error.message
        self._published_from = source
        self._metrics.pending.set(published.pending)
        if published.commit:
            _LOG.info("published", source=source, commit=published.commit, pending=published.pending)
        return ""

    def _sync(self, rendered: str) -> str:
        if not rendered:
            return ""
        synced = self._stages.sync()
        self._metrics.held.set(synced.held)
        self._metrics.drift.set(synced.drifted)
        for kind, number in synced.actions.items():
            self._metrics.actions.labels(kind).inc(number)
        if synced.actions or synced.held:
            _LOG.info("synced", commit=rendered, held=synced.held, drifted=synced.drifted, **synced.actions)
        if synced.problem:
            self._again = True
            return synced.problem
        self._synced_from = rendered
        self._after_sync()
        return ""

    def _plan_retry(self) -> None:
        """After a failure another cycle, after a pause that doubles until something goes well."""
        if self._retry is not None:
            self._retry.cancel()
        if not self._again:
            self._pause = _FIRST_PAUSE
            return
        self._retry = threading.Timer(self._pause, lambda: self._batches.put(Change(Cause.START)))
        self._retry.daemon = True
        self._retry.start()
        self._pause = min(self._pause * 2, _LONGEST_PAUSE)
