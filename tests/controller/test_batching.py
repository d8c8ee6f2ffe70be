"""Many hints in a short time make one cycle."""

from __future__ import annotations

import threading
import time

from gitops_vg.controller.batching import Batches, Cause, Change


def test_changes_within_the_window_come_as_one_batch() -> None:
    batches = Batches(window=0.05, limit=50)
    for name in ("a", "b", "a"):
        batches.put(Change(Cause.LIVE, name))

    assert batches.take() == (Change(Cause.LIVE, "a"), Change(Cause.LIVE, "b"))


def test_a_full_batch_does_not_wait_for_its_window() -> None:
    batches = Batches(window=60, limit=2)
    batches.put(Change(Cause.LIVE, "a"))
    batches.put(Change(Cause.LIVE, "b"))

    started = time.monotonic()
    batch = batches.take()

    assert len(batch) == 2
    assert time.monotonic() - started < 5


def test_a_steady_stream_cannot_put_the_cycle_off() -> None:
    now = 0.0
    batches = Batches(window=0.5, limit=1000, clock=lambda: now)
    batches.put(Change(Cause.LIVE, "first"))
    now = 0.49
    batches.put(Change(Cause.LIVE, "second"))
    now = 0.5

    assert len(batches.take()) == 2


def test_closing_wakes_the_taker() -> None:
    batches = Batches(window=60, limit=50)
    taken: list[tuple[Change, ...]] = []
    taker = threading.Thread(target=lambda: taken.append(batches.take()))
    taker.start()

    batches.close()
    taker.join(timeout=5)

    assert taken == [()]
