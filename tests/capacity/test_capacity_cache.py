"""How long a snapshot is good, with a clock of the test's own."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from gitops_vg.capacity import CapacityCache, Snapshot
from gitops_vg.errors import Unavailable


class Clock:
    def __init__(self) -> None:
        self.now = datetime(2026, 12, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def snapshot_at(now: datetime) -> Snapshot:
    return Snapshot(clusters=(), taken_at=now)


def cache_with(clock: Clock, capture=snapshot_at) -> CapacityCache:
    return CapacityCache(capture, ttl=timedelta(seconds=30), clock=clock)


def test_within_its_time_the_same_snapshot_is_given(clock):
    cache = cache_with(clock)
    first = cache.get()
    clock.now += timedelta(seconds=29)

    assert cache.get() is first


def test_after_its_time_capacity_is_captured_anew(clock):
    cache = cache_with(clock)
    first = cache.get()
    clock.now += timedelta(seconds=30)

    assert cache.get().taken_at > first.taken_at


def test_an_invalidated_snapshot_is_captured_anew(clock):
    cache = cache_with(clock)
    first = cache.get()
    cache.invalidate()

    assert cache.get() is not first


def test_a_clock_that_went_back_does_not_make_a_snapshot_good_for_longer(clock):
    cache = cache_with(clock)
    first = cache.get()
    clock.now -= timedelta(hours=1)

    assert cache.get() is not first


def test_a_failed_capture_raises_and_no_old_snapshot_passes_for_a_new_one(clock):
    answers = [snapshot_at, _fails]
    cache = cache_with(clock, capture=lambda now: answers.pop(0)(now))
    cache.get()
    clock.now += timedelta(minutes=1)

    with pytest.raises(Unavailable):
        cache.get()


def _fails(_now: datetime) -> Snapshot:
    raise Unavailable("no answer")
