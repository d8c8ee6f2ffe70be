"""The last Snapshot, kept for as long as the fleet's cacheTTL allows."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import datetime, timedelta

from gitops_vg.capacity.snapshot import Snapshot


class CapacityCache:
    """Gives the same Snapshot until it is older than `ttl`; one thread captures, others wait for it.

    A capture that fails raises to who asked and leaves no trace: an old snapshot is never
    given out as a new one.
    """

    def __init__(
        self, capture: Callable[[datetime], Snapshot], *, ttl: timedelta, clock: Callable[[], datetime]
    ) -> None:
        self._capture = capture
        self._ttl = ttl
        self._clock = clock
        self._lock = threading.Lock()
        self._snapshot: Snapshot | None = None

    def get(self) -> Snapshot:
        """A snapshot that is at most `ttl` old. Raises what capturing raises."""
        with self._lock:
            now = self._clock()
            if self._snapshot is None or not timedelta(0) <= now - self._snapshot.taken_at < self._ttl:
                self._snapshot = self._capture(now)
            return self._snapshot

    def refresh(self) -> None:
        """Capture anew while others go on with the old snapshot. Raises what capturing raises."""
        snapshot = self._capture(self._clock())
        with self._lock:
            self._snapshot = snapshot

    def invalidate(self) -> None:
        """Forget the snapshot: the fleet has changed (work was applied, a cluster went away)."""
        with self._lock:
            self._snapshot = None
