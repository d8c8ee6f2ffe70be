"""Gathers changes into batches: many hints in a short time make one cycle.

The window starts with the first change, so a steady stream cannot put the cycle off for ever.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum


class Cause(StrEnum):
    """What a change is about; decides which stages a cycle runs."""

    SOURCE = "source"
    RENDERED = "rendered"
    LIVE = "live"
    CAPACITY = "capacity"
    START = "start"


@dataclass(frozen=True)
class Change:
    """A hint that something may be different; the cycle looks for itself."""

    cause: Cause
    what: str = ""


class Batches:
    """A queue of changes that gives them out batch by batch. Safe for many threads on the giving side.

    `window` is in seconds; a batch closes that long after its first change, or when it has `limit` different ones.
    """

    def __init__(self, *, window: float, limit: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.window = window
        self.limit = limit
        self._clock = clock
        self._changed = threading.Condition()
        self._pending: dict[Change, float] = {}
        self._closed = False

    def put(self, change: Change) -> None:
        """Note a change; the same change twice in one batch counts once."""
        with self._changed:
            self._pending.setdefault(change, self._clock())
            self._changed.notify_all()

    def close(self) -> None:
        """Wake the taker for the last time."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def take(self) -> tuple[Change, ...]:
        """Wait for the next batch; () when closed."""
        with self._changed:
            while not self._closed:
                if not self._pending:
                    self._changed.wait()
                    continue
                remaining = self._first() + self.window - self._clock()
                if remaining <= 0 or len(self._pending) >= self.limit:
                    break
                self._changed.wait(remaining)
            if self._closed:
                return ()
            batch = tuple(self._pending)
            self._pending.clear()
            return batch

    def _first(self) -> float:
        return min(self._pending.values())
