"""The lock as committed data, and what is not read as one."""

from __future__ import annotations

import pytest
from placement_fleet import cluster, intents_of, job, member, node, planned, service, snapshot_of, task

from gitops_vg.errors import InputError
from gitops_vg.placement import LockEntry, lock_from_data, lock_of, lock_to_data

LOCK = {
    "web/shop": LockEntry(mode="divide", assignments={"b": 5, "a": 7}, reason="divided"),
    "ml/train": LockEntry(mode="one", assignments={}, reason="pending: no cluster has room"),
}


def test_a_lock_survives_the_way_through_a_file():
    assert lock_from_data(lock_to_data(LOCK)) == LOCK


def test_workloads_and_clusters_are_written_in_stable_order():
    data = lock_to_data(LOCK)

    assert list(data) == ["ml/train", "web/shop"]
    assert list(data["web/shop"]["clusters"]) == ["a", "b"]


def test_a_fleet_that_was_never_planned_has_an_empty_lock():
    assert lock_from_data(None) == {}
    assert lock_from_data({}) == {}


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        ([], "not a mapping of workloads"),
        ("", "not a mapping of workloads"),
        ({"a/b": 3}, "a/b is not a mapping"),
        ({"a/b": {"mode": "twice", "clusters": {}}}, "mode 'twice'"),
        ({"a/b": {"mode": "one"}}, "clusters of a/b"),
        ({"a/b": {"mode": "one", "clusters": {"c": True}}}, "clusters of a/b"),
        ({"a/b": {"mode": "one", "clusters": {"c": -1}}}, "clusters of a/b"),
        ({"a/b": {"mode": "one", "clusters": {}, "reason": 5}}, "reason of a/b"),
    ],
)
def test_what_is_no_lock_never_looks_like_an_empty_one(data, problem):
    with pytest.raises(InputError, match=problem):
        lock_from_data(data)


def test_figures_of_waiting_work_are_not_committed():
    def lock(free):
        intents = intents_of(cluster("a"), job("huge", task(requests={"cpu": 64})), service("shop"))
        return lock_of(planned(intents, snapshot_of(member("a", node("a1", free={"cpu": free})))))

    assert lock(30) == lock(20)
    assert lock(30)["ml/huge"].reason == "pending: not enough room for it now"
