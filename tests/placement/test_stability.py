"""What runs stays where it runs, and moves only for a reason."""

from __future__ import annotations

from dataclasses import replace

import pytest
from placement_fleet import (
    again,
    cluster,
    intent,
    intents_of,
    job,
    manifests,
    member,
    node,
    planned,
    ready_cluster,
    service,
    snapshot_of,
    task,
    uses,
)

from gitops_vg.capacity import Taint
from gitops_vg.errors import GitopsVgError
from gitops_vg.placement import LockEntry, State, lock_of

TRAIN = job("train", task(replicas=3, requests={"cpu": 8}))
LOCK = {"ml/train": LockEntry(mode="one", assignments={"a": 3}, reason="it was best")}
CLUSTERS = (cluster("a"), cluster("b"))


def replanned(*parts, members, lock=LOCK, clusters=CLUSTERS):
    return planned(intents_of(*clusters, *parts), snapshot_of(*members), lock)


def running(name, cpu_free, *, on="a1", workload="ml/train", count=3, cpu=8, **facts):
    """A member in which the workload's pods run on one node that has `cpu_free` beside them."""
    return member(name, node(on, free={"cpu": cpu_free}), ours=uses(workload, (on, count), cpu=cpu), **facts)


def test_work_stays_though_another_cluster_would_be_better_now():
    result = replanned(TRAIN, members=[running("a", 0), member("b", node("b1", cpu=96))])

    decision = result.decision["ml/train"]
    assert (decision.state, dict(decision.assignments)) == (State.KEPT, {"a": 3})
    assert decision.reason.text == "it was best"
    assert decision.rejected["b"].text == "not needed: it stays in a"


def test_the_room_of_running_pods_is_neither_lost_nor_counted_twice():
    rest = job("rest", task(requests={"cpu": 8}))

    result = replanned(TRAIN, rest, members=[running("a", 8)], clusters=[cluster("a")])

    assert result.decision["ml/rest"].assignments
    result = replanned(TRAIN, rest, members=[running("a", 7)], clusters=[cluster("a")])
    assert result.decision["ml/rest"].state is State.PENDING


def test_work_without_pods_yet_keeps_its_room():
    rest = job("rest", task(requests={"cpu": 16}))

    result = replanned(TRAIN, rest, members=[member("a", node("a1"))], clusters=[cluster("a")])

    assert result.decision["ml/train"].state is State.KEPT
    assert result.decision["ml/rest"].state is State.PENDING


@pytest.mark.parametrize("problem", ["not ready since noon", "not registered in Karmada", "status not renewed"])
def test_a_cluster_with_a_problem_loses_nothing_and_gets_nothing(problem):
    result = replanned(TRAIN, job("new"), members=[member("a", problem=problem), member("b", node("b1"))])

    assert dict(result.decision["ml/train"].assignments) == {"a": 3}
    assert dict(result.decision["ml/new"].assignments) == {"b": 1}


@pytest.mark.parametrize(
    "fact", [{"taints": (Taint("maintenance"),)}, {"kinds": frozenset({"ConfigMap"})},
             {"taints": (Taint("cluster.karmada.io/not-ready", "", "NoExecute"),)}]
)  # fmt: skip
def test_what_only_keeps_new_work_out_moves_nothing(fact):
    result = replanned(TRAIN, members=[running("a", 0, **fact), member("b", node("b1"))])

    assert result.decision["ml/train"].state is State.KEPT


def test_a_taint_that_evicts_moves_work_with_both_reasons():
    evicting = running("a", 0, taints=(Taint("rebuild", "", "NoExecute"),))

    decision = replanned(TRAIN, members=[evicting, member("b", node("b1"))]).decision["ml/train"]

    assert (decision.state, dict(decision.assignments)) == (State.PLACED, {"b": 3})
    assert decision.reason.text == (
        "moved from a (taint rebuild:NoExecute is not tolerated and evicts what runs): the only cluster that fits"
    )


def test_a_changed_placement_moves_work():
    moved = job("train", task(replicas=3, requests={"cpu": 8}), placement={"clusters": {"names": ["b"]}})

    decision = replanned(moved, members=[running("a", 0), member("b", node("b1"))]).decision["ml/train"]

    assert dict(decision.assignments) == {"b": 3}


def test_work_that_has_to_leave_and_fits_nowhere_waits_with_a_warning():
    moved = job("train", task(replicas=3, requests={"cpu": 8}), placement={"clusters": {"names": ["b"]}})

    result = replanned(moved, members=[running("a", 0), member("b", node("b1", cpu=4))])

    assert result.decision["ml/train"].state is State.PENDING
    assert result.warnings[0].startswith(
        "ml/train has to leave a (not among the clusters that its own placement names)"
    )


def test_a_cluster_that_is_gone_altogether_is_left():
    decision = replanned(TRAIN, members=[member("b", node("b1"))]).decision["ml/train"]

    assert dict(decision.assignments) == {"b": 3}
    assert "is neither declared nor registered" in decision.reason.text


def test_a_job_that_could_not_start_goes_where_it_fits():
    full = member("a", node("a1", free={"cpu": 4}), waiting=frozenset({"ml/train"}))

    decision = replanned(TRAIN, members=[full, member("b", node("b1"))]).decision["ml/train"]

    assert dict(decision.assignments) == {"b": 3}
    assert decision.reason.text == ("moved from a (largest node has 4 of 8 CPU free): the only cluster that fits")
    assert decision.rejected["a"].text == "largest node has 4 of 8 CPU free"


def test_a_job_that_could_not_start_and_fits_nowhere_goes_on_waiting_where_it_is():
    full = member("a", node("a1", free={"cpu": 4}), waiting=frozenset({"ml/train"}))

    result = replanned(TRAIN, members=[full, member("b", node("b1", cpu=4))])

    assert result.decision["ml/train"].state is State.KEPT
    assert "ml/train waits in a and fits nowhere else" in result.warnings[0]


def test_a_job_that_runs_in_part_is_never_moved():
    partly = member("a", node("a1", free={"cpu": 0}), ours=uses("ml/train", ("a1", 1), ("", 2), cpu=8))

    assert replanned(TRAIN, members=[partly, member("b", node("b1"))]).decision["ml/train"].state is State.KEPT


def test_a_job_that_ended_keeps_its_place_and_takes_no_room():
    done = member("a", node("a1"), finished=frozenset({"ml/train"}))

    result = replanned(TRAIN, job("next", task(requests={"cpu": 32})), members=[done], clusters=[cluster("a")])

    assert (result.decision["ml/train"].state, result.decision["ml/train"].reason.code) == (State.KEPT, "finished")
    assert result.decision["ml/next"].assignments


def test_a_job_that_ended_is_not_run_again_because_its_placement_changed():
    moved = job("train", task(replicas=3), placement={"clusters": {"names": ["b"]}})
    done = member("a", node("a1"), finished=frozenset({"ml/train"}))

    decision = replanned(moved, members=[done, member("b", node("b1"))]).decision["ml/train"]

    assert (decision.state, dict(decision.assignments)) == (State.KEPT, {"a": 3})


def test_pods_that_succeeded_need_no_room_again():
    pods = (*uses("ml/train", ("a1", 1), cpu=8), *uses("ml/train", ("", 2)))
    pods = (pods[0], replace(pods[1], requests={}))
    snapshot = member("a", node("a1", free={"cpu": 24}), ours=pods)

    result = replanned(TRAIN, job("next", task(requests={"cpu": 24})), members=[snapshot], clusters=[cluster("a")])

    assert result.decision["ml/next"].assignments


def test_raw_manifests_stay_and_spread_to_new_clusters():
    lock = {"web/legacy": LockEntry(mode="everywhere", assignments={"a": 1}, reason="as it was")}

    result = replanned(
        manifests("legacy"), members=[member("a", node("a1"), problem="not ready"), member("b", node("b1"))], lock=lock
    )

    assert dict(result.decision["web/legacy"].assignments) == {"a": 1, "b": 1}


# ---------------------------------------------------------------- services

SHOP_LOCK = {"web/shop": LockEntry(mode="divide", assignments={"a": 7, "b": 5}, reason="as divided")}


def shop(replicas, **spec):
    return service("shop", replicas=replicas, **spec)


def roomy(*names, **facts):
    return [member(name, node(f"{name}1"), **facts) for name in names]


def test_a_division_stays_as_it_is_whatever_is_free_now():
    members = [member("a", node("a1", cpu=8)), member("b", node("b1", cpu=96))]

    decision = replanned(shop(12), members=members, lock=SHOP_LOCK).decision["web/shop"]

    assert (decision.state, dict(decision.assignments)) == (State.KEPT, {"a": 7, "b": 5})


def test_more_replicas_are_added_to_those_that_run():
    decision = replanned(shop(16), members=roomy("a", "b"), lock=SHOP_LOCK).decision["web/shop"]

    assert sum(decision.assignments.values()) == 16
    assert decision.assignments["a"] >= 7
    assert decision.assignments["b"] >= 5
    assert decision.reason.text == "grown from 12 to 16 replicas in proportion to free room"


def test_fewer_replicas_are_taken_from_all_in_proportion():
    decision = replanned(shop(6), members=roomy("a", "b"), lock=SHOP_LOCK).decision["web/shop"]

    assert dict(decision.assignments) == {"a": 4, "b": 2}


def test_scaling_to_zero_keeps_the_clusters():
    decision = replanned(shop(0), members=roomy("a", "b"), lock=SHOP_LOCK).decision["web/shop"]

    assert dict(decision.assignments) == {"a": 0, "b": 0}
    lock = {"web/shop": LockEntry(mode="divide", assignments={"a": 0, "b": 0})}
    assert dict(replanned(shop(4), members=roomy("a", "b"), lock=lock).decision["web/shop"].assignments) == {
        "a": 2,
        "b": 2,
    }


def test_replicas_of_a_cluster_that_may_not_have_them_move_to_the_others():
    moved = shop(12, placement={"clusters": {"exclude": ["b"]}})

    decision = replanned(moved, members=roomy("a", "b", "c"), lock=SHOP_LOCK,
                         clusters=[*CLUSTERS, cluster("c")]).decision["web/shop"]  # fmt: skip

    assert dict(decision.assignments) == {"a": 12}
    assert decision.reason.text.startswith("moved from b (excluded by its own placement): 12 replicas over 1 cluster")


def test_new_replicas_never_go_to_a_cluster_with_a_problem():
    members = [*roomy("a", problem="not ready"), *roomy("b")]

    decision = replanned(shop(20), members=members, lock=SHOP_LOCK).decision["web/shop"]

    assert dict(decision.assignments) == {"a": 7, "b": 13}


def test_growth_beyond_all_room_waits_and_stops_nothing():
    members = [member("a", node("a1", cpu=10)), member("b", node("b1", cpu=10))]

    result = replanned(shop(30), members=members, lock=SHOP_LOCK)

    decision = result.decision["web/shop"]
    assert sum(decision.assignments.values()) == 30
    assert decision.reason.code == "growth-waits"
    assert "10 of 30 replicas wait for room, a: largest node has 0 of 1 CPU free" in decision.reason.text


def test_waiting_replicas_move_to_a_cluster_with_room():
    pods = uses("web/shop", ("a1", 4), ("", 3), task="", cpu=1)
    full = member("a", node("a1", free={"cpu": 0}), ours=pods)

    decision = replanned(shop(12), members=[full, *roomy("b")], lock=SHOP_LOCK).decision["web/shop"]

    assert dict(decision.assignments) == {"a": 4, "b": 8}


def test_a_count_that_was_raised_brings_a_new_cluster_in():
    lock = {"web/shop": LockEntry(mode="divide", assignments={"a": 6})}
    wide = shop(6, placement={"clusters": {"count": 2}})

    decision = replanned(wide, members=roomy("a", "b"), lock=lock).decision["web/shop"]

    assert dict(decision.assignments) == {"a": 5, "b": 1}


def test_a_count_that_was_lowered_gives_the_smallest_share_away():
    narrow = shop(12, placement={"clusters": {"count": 1}})

    decision = replanned(narrow, members=roomy("a", "b"), lock=SHOP_LOCK).decision["web/shop"]

    assert dict(decision.assignments) == {"a": 12}
    assert decision.reason.text == (
        "moved from b (not needed: count allows 1): 12 replicas over 1 cluster in proportion to free room"
    )


# ---------------------------------------------------------------- the whole plan


def test_planning_again_before_and_after_the_apply_gives_the_same_lock():
    intents = intents_of(
        ready_cluster("a"), cluster("b"), TRAIN, shop(10), manifests("legacy"),
        job("huge", task(requests={"cpu": 400})), job("nightly", schedule="0 2 * * *"),
    )  # fmt: skip
    empty = snapshot_of(*roomy("a", "b"))
    first = planned(intents, empty)
    where = first.decision["ml/train"].assignments
    ours = {
        name: (
            *(uses("ml/train", (f"{name}1", 3), cpu=8) if name in where else ()),
            *uses("web/shop", (f"{name}1", first.decision["web/shop"].assignments.get(name, 0)), task=""),
        )
        for name in ("a", "b")
    }
    applied = snapshot_of(
        *(
            member(
                name,
                node(f"{name}1", free={"cpu": 32 - sum(use.count * use.requests["cpu"] // 1000 for use in ours[name])}),
                ours=ours[name],
            )
            for name in ("a", "b")
        )
    )

    assert lock_of(again(intents, empty, first)) == lock_of(first)
    assert lock_of(again(intents, applied, first)) == lock_of(first)


def test_a_snapshot_without_any_cluster_is_refused():
    with pytest.raises(GitopsVgError, match="no cluster"):
        planned(intents_of(TRAIN), snapshot_of(), LOCK)


def test_warnings_of_the_capture_are_passed_on():
    result = planned(intents_of(cluster("a")), snapshot_of(member("a", node("a1"), warnings=("odd figures",))))

    assert result.warnings == ("a: odd figures",)


# ---------------------------------------------------------------- work that the lock does not know


def test_a_job_that_runs_is_kept_though_the_lock_was_lost():
    result = replanned(TRAIN, members=[running("a", 0), member("b", node("b1", cpu=96))], lock={})

    decision = result.decision["ml/train"]
    assert (decision.state, dict(decision.assignments)) == (State.KEPT, {"a": 3})
    assert decision.reason.text == "runs there already"


def test_a_job_that_ended_is_not_run_again_though_the_lock_was_lost():
    done = member("b", node("b1", cpu=4), finished=frozenset({"ml/train"}))

    decision = replanned(TRAIN, members=[member("a", node("a1")), done], lock={}).decision["ml/train"]

    assert dict(decision.assignments) == {"b": 3}


def test_a_service_that_runs_is_kept_as_it_is_seen_though_the_lock_was_lost():
    pods = {name: uses("web/shop", (f"{name}1", count), task="", cpu=1) for name, count in (("a", 2), ("b", 1))}
    members = [member(name, node(f"{name}1"), ours=ours) for name, ours in pods.items()]

    decision = replanned(shop(4), members=members, lock={}).decision["web/shop"]

    assert decision.assignments["a"] >= 2
    assert decision.assignments["b"] >= 1


def test_a_copy_that_ended_in_one_cluster_still_runs_in_the_other():
    workload = job("train", task(replicas=3, requests={"cpu": 8}), placement={"mode": "everywhere"})
    lock = {"ml/train": LockEntry(mode="everywhere", assignments={"a": 1, "b": 1})}
    members = [member("a", node("a1"), finished=frozenset({"ml/train"})), running("b", 8, on="b1")]

    result = replanned(workload, job("big", task(requests={"cpu": 32})), members=members, lock=lock)

    assert result.decision["ml/train"].state is State.KEPT
    assert dict(result.decision["ml/big"].assignments) == {"a": 1}


def test_a_job_that_ended_elsewhere_is_not_run_again_when_its_cluster_evicts():
    evicting = member("a", node("a1"), taints=(Taint("rebuild", "", "NoExecute"),))
    done = member("b", node("b1"), finished=frozenset({"ml/train"}))

    decision = replanned(TRAIN, members=[evicting, done]).decision["ml/train"]

    assert dict(decision.assignments) == {"b": 3}


def test_work_that_waits_only_for_a_guarantee_starts_once_the_owner_uses_it():
    owner = intent("Queue", "owner", spec={"guarantee": {"cpu": 10}})
    guest = intent("Queue", "guest", spec={"weight": 9})
    work = (job("own", task(requests={"cpu": 20}), queue="owner"), job("late", task(replicas=2, requests={"cpu": 6}),
                                                                         queue="guest", gang="none"))  # fmt: skip

    result = planned(intents_of(cluster("a"), owner, guest, *work), snapshot_of(member("a", node("a1", cpu=32))))

    assert all(decision.assignments for decision in result.decisions)


@pytest.mark.parametrize(
    "where",
    [{"zone": "z1"}, {"provider": "own"}, {"region": "north"}, {"labels": {"tier": "gold"}}, {"colocation": "ready"}],
)
def test_a_cluster_that_cannot_be_seen_loses_nothing_for_what_is_not_known_of_it(where):
    picky = job("train", task(replicas=3, requests={"cpu": 8}), placement={"clusters": {"where": where}})
    gone = member("a", problem="not registered in Karmada")

    result = replanned(
        picky, members=[gone, member("b", node("b1"))], clusters=[ready_cluster("a"), ready_cluster("b")]
    )

    assert dict(result.decision["ml/train"].assignments) == {"a": 3}


def test_a_cluster_whose_intent_went_missing_loses_nothing_and_gets_nothing():
    picky = job("train", task(replicas=3, requests={"cpu": 8}),
                placement={"clusters": {"where": {"colocation": "ready"}}})  # fmt: skip
    undeclared = running("a", 24, problem="has no Cluster intent")

    result = replanned(picky, job("new"), members=[undeclared], clusters=[])

    assert dict(result.decision["ml/train"].assignments) == {"a": 3}
    assert result.decision["ml/new"].state is State.PENDING


def test_a_service_keeps_its_share_in_a_cluster_whose_region_cannot_be_seen():
    spread = shop(12, placement={"spread": "region", "clusters": {"count": 2}})
    members = [member("a", problem="not registered in Karmada"), member("b", node("b1"), region="south")]

    decision = replanned(spread, members=members, lock=SHOP_LOCK).decision["web/shop"]

    assert (decision.state, dict(decision.assignments)) == (State.KEPT, {"a": 7, "b": 5})


def test_without_the_nodes_kept_work_is_counted_twice_rather_than_not_at_all():
    unread = member("a", node("summary-0000", cpu=32), node_source="summary")

    result = replanned(TRAIN, job("new", task(requests={"cpu": 9})), members=[unread], clusters=[cluster("a")])

    assert result.decision["ml/train"].state is State.KEPT
    assert result.decision["ml/new"].state is State.PENDING
