"""Services: how many clusters, which ones, how many replicas in each."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from placement_fleet import (
    cluster,
    intent,
    intents_of,
    member,
    node,
    planned,
    service,
    snapshot_of,
)

from gitops_vg.placement import State
from gitops_vg.placement.services import divide

REGIONS = {"a": "north", "b": "north", "c": "south"}


def decided(workload, *members, declared=None, policies=()):
    clusters = declared or [cluster(one.name, region=REGIONS.get(one.name)) for one in members]
    result = planned(intents_of(*clusters, workload, *policies), snapshot_of(*members))
    return result.decision[workload.key]


def test_an_online_service_is_divided_over_two_clusters_by_free_room():
    decision = decided(
        service("shop", replicas=12), member("a", node("a1")), member("c", node("c1", cpu=64)), member("d", node("d1"))
    )

    assert dict(decision.assignments) == {"a": 4, "c": 8}
    assert decision.reason.text == "12 replicas over 2 clusters in proportion to free room"
    assert decision.rejected["d"].text == "not needed: count allows 2"


def test_an_online_service_makes_do_with_one_cluster():
    assert dict(decided(service("shop", replicas=3), member("a", node("a1"))).assignments) == {"a": 3}


def test_an_offline_service_stays_in_one_cluster_when_one_is_enough():
    one = decided(service("batch", replicas=4, qos="offline"), member("a", node("a1")), member("b", node("b1")))
    two = decided(service("batch", replicas=40, qos="offline"), member("a", node("a1")), member("b", node("b1")))

    assert dict(one.assignments) == {"a": 4}
    assert one.rejected["b"].text == "fits 32 replicas; a has room for more"
    assert dict(two.assignments) == {"a": 20, "b": 20}


def test_one_replica_needs_one_cluster():
    decision = decided(service("shop"), member("a", node("a1")), member("b", node("b1")))

    assert dict(decision.assignments) == {"a": 1}


def test_spread_by_region_takes_the_roomiest_cluster_of_each_region():
    workload = service("shop", replicas=10, placement={"spread": "region", "clusters": {"count": 2}})

    decision = decided(
        workload, member("a", node("a1", cpu=8)), member("b", node("b1", cpu=20)), member("c", node("c1", cpu=20))
    )

    assert dict(decision.assignments) == {"b": 5, "c": 5}
    assert decision.rejected["a"].text == "fits, but b already stands for region north"


def test_a_cluster_without_a_region_cannot_be_spread_over():
    workload = service("shop", replicas=2, placement={"spread": "region"})

    decision = decided(workload, member("a", node("a1")), member("nowhere", node("n1")))

    assert decision.rejected["nowhere"].text == "has no region to spread by"


def test_too_few_regions_leave_it_pending_with_what_is_needed():
    workload = service("shop", replicas=4, placement={"spread": "region", "clusters": {"count": 2}})

    decision = decided(workload, member("a", node("a1")), member("b", node("b1")))

    assert decision.state is State.PENDING
    assert decision.reason.text == "needs 2 regions with room, 1 can be used"


def test_count_is_a_range_whose_upper_end_is_aimed_at():
    members = [member(name, node(f"{name}1")) for name in ("a", "b", "c", "d")]
    workload = service("shop", replicas=9, placement={"clusters": {"count": "2-3"}})

    assert dict(decided(workload, *members).assignments) == {"a": 3, "b": 3, "c": 3}


def test_counts_of_policies_and_workload_have_to_meet():
    policy = intent("PlacementPolicy", "wide", spec={"selects": {"qos": "online"}, "clusters": {"count": 3}})
    workload = service("shop", replicas=9, placement={"clusters": {"count": 2}})

    decision = decided(workload, member("a", node("a1")), member("b", node("b1")), policies=[policy])

    assert decision.state is State.PENDING
    assert "its own placement: 2-2, policy wide: 3-3" in decision.reason.text


def test_every_replica_needs_a_node():
    decision = decided(
        service("shop", replicas=5, cpu=20), member("a", node("a1"), node("a2")), member("b", node("b1"), node("b2"))
    )

    assert decision.state is State.PENDING
    assert decision.reason.text == ("only 4 of 5 replicas fit in the clusters it may use; room for 1 more is needed")


def test_no_room_at_all_names_the_nearest_cluster_and_what_it_lacks():
    decision = decided(service("shop", cpu=40), member("a", node("a1")))

    assert decision.reason.text == "no cluster has room; nearest is a: largest node has 32 of 40 CPU free"


def test_a_service_with_no_replicas_still_has_a_cluster():
    assert dict(decided(service("shop", replicas=0), member("a", node("a1"))).assignments) == {"a": 0}


def test_mode_one_keeps_all_replicas_together():
    workload = service("shop", replicas=4, placement={"mode": "one"})

    assert dict(decided(workload, member("a", node("a1")), member("b", node("b1"))).assignments) == {"a": 4}


def test_mode_everywhere_copies_all_replicas_to_every_cluster():
    workload = service("agent", replicas=4, placement={"mode": "everywhere"})

    decision = decided(workload, member("a", node("a1")), member("b", node("b1")))

    assert dict(decision.assignments) == {"a": 1, "b": 1}


def test_raw_manifests_go_to_every_cluster_that_may_have_them():
    from placement_fleet import manifests

    decision = decided(manifests("legacy"), member("a", node("a1")), member("b", node("b1"), problem="not ready"))

    assert dict(decision.assignments) == {"a": 1}
    assert decision.reason.code == "everywhere"


# ---------------------------------------------------------------- the arithmetic


@pytest.mark.parametrize(
    ("total", "weights", "parts"),
    [
        (12, {"a": 1, "b": 1}, {"a": 6, "b": 6}),
        (7, {"a": 2, "b": 1}, {"a": 5, "b": 2}),
        (3, {"a": 100, "b": 1}, {"a": 2, "b": 1}),
        (1, {"a": 1, "b": 1}, {"a": 1, "b": 0}),
        (0, {"a": 1}, {"a": 0}),
    ],
)
def test_division_by_largest_remainder(total, weights, parts):
    assert divide(total, weights) == parts


@given(data=st.data())
@settings(max_examples=200, deadline=None)
def test_division_is_exact_and_nobody_gets_more_than_fits(data):
    weights = data.draw(st.dictionaries(st.sampled_from("abcdefg"), st.integers(1, 50), min_size=1))
    total = data.draw(st.integers(0, sum(weights.values())))

    parts = divide(total, weights)

    assert sum(parts.values()) == total
    assert all(0 <= parts[name] <= weights[name] for name in weights)
    assert total < len(weights) or all(parts.values())
