"""What holds for every fleet: found by trying many small ones."""

from __future__ import annotations

from collections import Counter

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from placement_fleet import (
    GPU,
    again,
    cluster,
    intent,
    intents_of,
    job,
    member,
    node,
    planned,
    service,
    snapshot_of,
    task,
)

from gitops_vg.capacity import PodGroupUse, Snapshot
from gitops_vg.intents.fleet import Intents
from gitops_vg.intents.models import Intent
from gitops_vg.placement import Plan, State, lock_of
from gitops_vg.placement.case import World
from gitops_vg.placement.demand import demands_of
from gitops_vg.placement.gangs import by_size

NAMES = ("a", "b", "c")
few = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@st.composite
def fleets(draw) -> tuple[list[Intent], Snapshot]:
    """Up to three clusters, two queues, and a handful of jobs and services that compete."""
    names = NAMES[: draw(st.integers(1, 3))]
    parts: list[Intent] = [
        cluster(name, packing=draw(st.sampled_from(["spread", "binpack"])), region=draw(st.sampled_from("xy")),
                headroom=draw(st.sampled_from([{}, {"cpu": "10%"}])))
        for name in names
    ]  # fmt: skip
    parts.append(intent("Queue", "big", spec={"weight": 5, "capability": {"cpu": draw(st.integers(4, 60))}}))
    parts.append(intent("Queue", "small", spec={"guarantee": {"cpu": draw(st.integers(1, 20))}}))
    for index in range(draw(st.integers(0, 5))):
        tasks = [
            task(
                f"t{number}",
                replicas=draw(st.integers(0, 4)),
                requests={"cpu": draw(st.integers(1, 20)), **draw(st.sampled_from([{}, {GPU: 2}, {GPU: 8}]))},
            )
            for number in range(draw(st.integers(1, 2)))
        ]
        parts.append(
            job(f"job-{index}", *tasks, queue=draw(st.sampled_from(["big", "small", "default"])),
                gang=draw(st.sampled_from(["all", "none", 1])))
        )  # fmt: skip
    for index in range(draw(st.integers(0, 3))):
        placement = draw(st.sampled_from([{}, {"clusters": {"count": "1-3"}}, {"spread": "region"}]))
        parts.append(
            service(f"svc-{index}", replicas=draw(st.integers(0, 30)), cpu=draw(st.integers(1, 6)),
                    placement=placement)
        )  # fmt: skip
    members = [
        member(
            name,
            *(
                node(f"{name}{index}", cpu=draw(st.sampled_from([8, 32, 64])),
                     free={"cpu": draw(st.integers(0, 8))} if draw(st.booleans()) else None,
                     **draw(st.sampled_from([{}, {"gpu": 8}])))
                for index in range(draw(st.integers(1, 4)))
            ),
            problem=draw(st.sampled_from(["", "", "", "not ready"])),
        )
        for name in names
    ]  # fmt: skip
    return parts, snapshot_of(*members)


def work_of(parts: list[Intent]) -> Intents:
    return intents_of(*parts)


def seated(intents: Intents, snapshot: Snapshot, plan: Plan) -> dict[tuple[str, str], Counter[str]]:
    """Every placed pod on a node of its cluster, largest first; raises when one finds none."""
    world = World.of(intents, snapshot)
    used: dict[tuple[str, str], Counter[str]] = {}
    for rank in sorted(demands_of(intents), key=lambda one: (one.workload.qos != "online", one.key)):
        decision = plan.decision[rank.key]
        for name, replicas in decision.assignments.items():
            room = world.rooms[name]
            for part in by_size(rank.tasks, room=room):
                wanted = replicas if decision.mode == "divide" else part.minimum
                for place, count in room.take(part.shape, wanted).places:
                    pods = used.setdefault((name, place.node.name), Counter())
                    pods.update({resource: value * count for resource, value in part.shape.requests.items()})
    return used


@given(fleet=fleets())
@few
def test_no_node_is_ever_promised_more_than_it_has_free(fleet):
    parts, snapshot = fleet
    intents = work_of(parts)

    used = seated(intents, snapshot, planned(intents, snapshot))

    for (name, node_name), pods in used.items():
        free = next(one for one in snapshot.cluster[name].nodes if one.name == node_name).free
        assert all(value <= free.get(resource, 0) for resource, value in pods.items())


@given(fleet=fleets())
@few
def test_every_replica_is_placed_or_the_work_waits_and_a_gang_has_one_cluster(fleet):
    parts, snapshot = fleet
    intents = work_of(parts)

    for decision in planned(intents, snapshot).decisions:
        if decision.state is State.PENDING:
            assert not decision.assignments
        else:
            assert sum(decision.assignments.values()) == decision.replicas
        if decision.mode == "one":
            assert len(decision.assignments) <= 1
        assert decision.reason.text
        assert decision.rejected.keys() | decision.assignments.keys() == snapshot.cluster.keys()
        assert not decision.rejected.keys() & decision.assignments.keys()


@given(fleet=fleets())
@few
def test_no_queue_exceeds_its_capability_and_clusters_with_problems_get_nothing(fleet):
    parts, snapshot = fleet
    intents = work_of(parts)

    result = planned(intents, snapshot)

    for use in result.queues:
        assert all(use.used.get(name, 0) <= limit for name, limit in use.capability.items())
    for decision in result.decisions:
        assert all(not snapshot.cluster[name].problem for name in decision.assignments)


@given(fleet=fleets(), data=st.data())
@few
def test_the_order_of_the_input_does_not_matter(fleet, data):
    parts, snapshot = fleet
    clusters = data.draw(st.permutations(snapshot.clusters))
    shuffled = Snapshot(clusters=tuple(clusters), taken_at=snapshot.taken_at)

    one = planned(work_of(parts), snapshot)
    two = planned(work_of(data.draw(st.permutations(parts))), shuffled)

    assert one.decisions == two.decisions


@given(fleet=fleets())
@few
def test_planning_again_changes_nothing(fleet):
    parts, snapshot = fleet
    intents = work_of(parts)
    first = planned(intents, snapshot)

    second = again(intents, snapshot, first)

    assert lock_of(second) == lock_of(first)
    assert all(decision.state is not State.PLACED for decision in second.decisions)


@given(fleet=fleets())
@few
def test_planning_again_after_the_apply_moves_nothing(fleet):
    """The pods of the first plan now run on nodes, not always those that planning had in mind.

    What waited may find room for that; what was placed stays.
    """
    parts, snapshot = fleet
    intents = work_of(parts)
    first = planned(intents, snapshot)

    second = again(intents, applied(intents, snapshot, first), first)

    for decision in first.decisions:
        if decision.assignments:
            assert second.decision[decision.workload].assignments == decision.assignments


def applied(intents: Intents, snapshot: Snapshot, plan: Plan) -> Snapshot:
    """The snapshot in which every placed pod that finds a node runs on it."""
    world = World.of(intents, snapshot)
    ours: dict[str, list[PodGroupUse]] = {name: [] for name in snapshot.cluster}
    for demand in demands_of(intents):
        decision = plan.decision[demand.key]
        for name, replicas in decision.assignments.items():
            for part in by_size(demand.tasks, room=world.rooms[name]):
                count = replicas if decision.mode == "divide" else part.replicas
                for place, here in world.rooms[name].take(part.shape, count).places:
                    ours[name].append(PodGroupUse(demand.key, part.name, place.node.name, here, part.shape.requests))
    clusters = []
    for one in snapshot.clusters:
        taken: dict[str, Counter[str]] = {}
        for use in ours[one.name]:
            taken.setdefault(use.node, Counter()).update(
                {resource: value * use.count for resource, value in use.requests.items()}
            )
        nodes = [
            node(each.name, cpu=each.allocatable["cpu"] // 1000,
                 free={name: _quantity(name, value - taken.get(each.name, {}).get(name, 0))
                       for name, value in each.free.items()},
                 **({"gpu": 8} if GPU in each.allocatable else {}))
            for each in one.nodes
        ]  # fmt: skip
        clusters.append(member(one.name, *nodes, problem=one.problem, ours=tuple(ours[one.name])))
    return snapshot_of(*clusters)


def _quantity(name: str, value: int) -> str:
    return f"{value}m" if name == "cpu" else str(value)


@given(fleet=fleets(), cpu=st.integers(1, 20))
@few
def test_new_work_moves_nothing_that_is_placed(fleet, cpu):
    parts, snapshot = fleet
    intents = work_of(parts)
    first = planned(intents, snapshot)
    newcomers = [
        service("aaa", replicas=4, cpu=cpu),
        job("aaa", task(replicas=2, requests={"cpu": cpu}), queue="big"),
    ]

    second = again(work_of([*parts, *newcomers]), snapshot, first)

    for decision in first.decisions:
        if decision.assignments:
            assert second.decision[decision.workload].assignments == decision.assignments
