"""A refresh never makes a reader wait."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta

from gitops_vg.capacity import CapacityCache
from gitops_vg.capacity.snapshot import Snapshot

NOW = datetime(2026, 12, 1, tzinfo=UTC)


def test_readers_go_on_with_the_old_snapshot_while_a_new_one_is_captured() -> None:
    capturing, go_on = threading.Event(), threading.Event()
    captured: list[Snapshot] = []

    def capture(now: datetime) -> Snapshot:
        if captured:
            capturing.set()
            assert go_on.wait(5)
        captured.append(Snapshot((), now))
        return captured[-1]

    cache = CapacityCache(capture, ttl=timedelta(seconds=30), clock=lambda: NOW)
    first = cache.get()
    refresher = threading.Thread(target=cache.refresh)
    refresher.start()
    assert capturing.wait(5)

    assert cache.get() is first
    go_on.set()
    refresher.join(timeout=5)
    assert cache.get() is captured[1]
