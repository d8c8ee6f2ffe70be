"""A snapshot as committed data, its digest, and the rounding that keeps it quiet."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitops_vg.capacity import (
    ClusterCapacity,
    Node,
    PodGroupUse,
    Snapshot,
    Taint,
    quantised,
    snapshot_from_json,
    snapshot_to_json,
)
from gitops_vg.errors import InputError

NOW = datetime(2026, 12, 1, 12, 0, tzinfo=UTC)
GIB = 1 << 30

FULL = ClusterCapacity(
    name="cluster-1",
    problem="not ready",
    labels={"b": "2", "a": "1"},
    taints=(Taint(key="k", value="v", effect="NoExecute"),),
    region="north",
    zones=("a", "b"),
    provider="own",
    kinds=frozenset({"ConfigMap", "Job.batch.volcano.sh"}),
    capacity={"cpu": 32_000, "memory": 128 * GIB},
    allocatable={"cpu": 30_500, "memory": 100 * GIB},
    nodes=(
        Node(name="n1", allocatable={"cpu": 32_000}, free={"cpu": 30_500}, labels={"disk": "ssd"},
             taints=(Taint(key="x"),), schedulable=False),
    ),
    node_source="nodes",
    ours=(PodGroupUse(workload="ml/bert", task="worker", node="n1", count=1, requests={"cpu": 1500}),),
    finished=frozenset({"ml/old"}),
    waiting=frozenset({"ml/next"}),
    running={"Job.batch.volcano.sh": 1},
    warnings=("odd",),
)  # fmt: skip


def snapshot_of(*clusters: ClusterCapacity, at: datetime = NOW) -> Snapshot:
    return Snapshot(clusters=clusters, taken_at=at)


def one_node(name: str, *, allocatable: dict[str, int], free: dict[str, int]) -> Snapshot:
    node = Node(name="n1", allocatable=allocatable, free=free)
    return snapshot_of(ClusterCapacity(name=name, nodes=(node,), node_source="nodes"))


def test_a_snapshot_survives_the_way_through_a_file():
    snapshot = snapshot_of(ClusterCapacity(name="a"), FULL)

    text = json.dumps(snapshot_to_json(snapshot))

    assert snapshot_from_json(json.loads(text)) == snapshot


def test_amounts_are_written_as_quantities():
    assert snapshot_to_json(snapshot_of(FULL))["clusters"][0]["allocatable"] == {"cpu": "30500m", "memory": "100Gi"}


def test_the_digest_is_of_the_figures_and_not_of_the_time():
    later = snapshot_of(FULL, at=NOW + timedelta(hours=1))

    assert snapshot_of(FULL).digest == later.digest
    assert snapshot_of(FULL).digest != snapshot_of().digest


def test_an_edited_snapshot_is_refused():
    data = snapshot_to_json(snapshot_of(FULL))
    data["clusters"][0]["allocatable"]["cpu"] = "999"

    with pytest.raises(InputError, match="its figures give"):
        snapshot_from_json(data)


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        ([], "list indices"),
        ({}, "'takenAt' is missing"),
        ({"takenAt": "yesterday", "clusters": []}, "yesterday"),
        ({"takenAt": "2026-12-01T12:00:00", "clusters": []}, "no time zone"),
        ({"takenAt": NOW.isoformat(), "clusters": [{"name": "a"}]}, "'nodeSource' is missing"),
        ({"takenAt": NOW.isoformat(), "clusters": [{"name": "a", "nodeSource": "guess"}]}, "none of nodes, models"),
    ],
)
def test_what_is_no_snapshot_is_refused_with_the_reason(data, problem):
    with pytest.raises(InputError, match=problem):
        snapshot_from_json(data)


def test_a_cluster_twice_is_refused():
    data = snapshot_to_json(snapshot_of(FULL))
    data["clusters"] *= 2

    with pytest.raises(InputError, match="twice"):
        snapshot_from_json(data)


def test_small_changes_on_a_busy_node_leave_the_rounded_snapshot_as_it_was():
    whole = {"cpu": 96_000, "memory": 512 * GIB, "pods": 110}
    before = one_node("c", allocatable=whole, free={"cpu": 60_900, "memory": 300 * GIB + 4321, "pods": 88})
    after = one_node("c", allocatable=whole, free={"cpu": 60_150, "memory": 301 * GIB, "pods": 86})

    assert quantised(before).digest == quantised(after).digest


def test_a_node_that_nothing_runs_on_stays_exact():
    whole = {"cpu": 31_910, "memory": 127 * GIB + 12345, "pods": 113, "nvidia.com/gpu": 7}

    assert quantised(one_node("c", allocatable=whole, free=whole)).clusters[0].nodes[0].free == whole


def test_gpus_are_never_rounded():
    rounded = quantised(one_node("c", allocatable={"nvidia.com/gpu": 8}, free={"nvidia.com/gpu": 3}))

    assert rounded.clusters[0].nodes[0].free == {"nvidia.com/gpu": 3}


def test_what_is_ours_is_kept_as_it_is():
    assert quantised(snapshot_of(FULL)).clusters[0].ours == FULL.ours


RESOURCES = ("cpu", "memory", "pods", "nvidia.com/gpu", "kubernetes.io/batch-cpu", "kubernetes.io/batch-memory")


@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_rounding_only_takes_away_never_below_zero_and_twice_is_once(data):
    whole = data.draw(st.dictionaries(st.sampled_from(RESOURCES), st.integers(0, 2**40)))
    free = {name: data.draw(st.integers(0, value)) for name, value in whole.items()}
    snapshot = one_node("c", allocatable=whole, free=free)

    rounded = quantised(snapshot)

    node = rounded.clusters[0].nodes[0]
    assert all(0 <= node.free[name] <= free[name] for name in free)
    assert all(node.free[name] <= node.allocatable[name] for name in free)
    assert rounded.clusters[0].allocatable == node.free
    assert quantised(rounded) == rounded
