"""A fleet that changes between two plans: what must hold whatever happened."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from placement_fleet import GPU, cluster, intent, intents_of, job, member, node, planned, service, snapshot_of, task

from gitops_vg.capacity import ClusterCapacity, PodGroupUse, Taint
from gitops_vg.intents.models import Workload
from gitops_vg.placement import LockEntry, State, lock_of
from gitops_vg.placement.reasons import HARD

few = settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
KEYS = ("ml/one", "ml/two", "web/shop", "web/site")


@st.composite
def workloads(draw) -> list[Workload]:
    placement = st.sampled_from(
        [{}, {"clusters": {"names": ["a"]}}, {"clusters": {"exclude": ["b"]}}, {"clusters": {"count": "2-3"}},
         {"spread": "region"}, {"mode": "everywhere"}]
    )  # fmt: skip
    found = [
        job(name, task(replicas=draw(st.integers(0, 4)), requests={"cpu": draw(st.integers(1, 20)),
                                                                   **draw(st.sampled_from([{}, {GPU: 1}]))}),
            placement=draw(placement), queue="q", gang=draw(st.sampled_from(["all", "none"])))
        for name in ("one", "two")
    ]  # fmt: skip
    found += [
        service(name, replicas=draw(st.integers(0, 12)), cpu=draw(st.integers(1, 9)), placement=draw(placement))
        for name in ("shop", "site")
    ]
    return found


@st.composite
def members(draw, name: str) -> ClusterCapacity:
    """A cluster in any state, with pods of the fleet's workloads on its nodes or waiting."""
    nodes = [node(f"{name}{index}", cpu=draw(st.sampled_from([8, 32])), free={"cpu": draw(st.integers(0, 8))},
                  gpu=draw(st.integers(0, 8)), schedulable=draw(st.booleans()))
             for index in range(draw(st.integers(0, 3)))]  # fmt: skip
    places = ["", *(one.name for one in nodes)]
    ours = tuple(
        PodGroupUse(key, "worker" if key.startswith("ml") else "", draw(st.sampled_from(places)),
                    draw(st.integers(1, 3)), draw(st.sampled_from([{"cpu": 2000, "pods": 1}, {}])))
        for key in draw(st.lists(st.sampled_from(KEYS), max_size=4))
    )  # fmt: skip
    return member(
        name,
        *nodes,
        ours=ours,
        problem=draw(st.sampled_from(["", "", "not ready"])),
        region=draw(st.sampled_from(["", "x", "y"])),
        waiting=frozenset(draw(st.sets(st.sampled_from(KEYS[:2])))),
        finished=frozenset(draw(st.sets(st.sampled_from(KEYS[:2]), max_size=1))),
        taints=draw(st.sampled_from([(), (), (Taint("x"),), (Taint("x", "", "NoExecute"),)])),
        node_source=draw(st.sampled_from(["nodes", "nodes", "summary"])),
    )


@st.composite
def locks(draw) -> dict[str, LockEntry]:
    """Any lock that an earlier plan, or a person, could have left behind."""
    return {
        key: LockEntry(
            mode=draw(st.sampled_from(["one", "divide", "everywhere"])),
            assignments=draw(st.dictionaries(st.sampled_from("abcz"), st.integers(0, 6), max_size=3)),
            reason="as before",
        )
        for key in draw(st.sets(st.sampled_from(KEYS)))
    }


CLUSTERS = [cluster(name, packing=packing) for name, packing in (("a", "spread"), ("b", "binpack"), ("c", "spread"))]
QUEUE = intent("Queue", "q", spec={"capability": {"cpu": 30}, "guarantee": {"cpu": 5}})


@given(work=workloads(), fleet=st.tuples(members("a"), members("b"), members("c")), lock=locks())
@few
def test_every_plan_is_whole_and_explained_whatever_it_starts_from(work, fleet, lock):
    snapshot = snapshot_of(*fleet)

    result = planned(intents_of(*CLUSTERS, QUEUE, *work), snapshot, lock)

    for decision in result.decisions:
        assigned = decision.assignments
        if decision.state is State.PENDING:
            assert not assigned
        elif decision.mode == "everywhere":
            assert set(assigned.values()) == {1}
        elif decision.reason.code != "finished":
            assert sum(assigned.values()) == decision.replicas
        if decision.mode == "one" and decision.reason.code != "finished":
            assert len(assigned) <= 1
        assert decision.reason.text
        assert decision.rejected.keys() | assigned.keys() >= snapshot.cluster.keys()
        for name in assigned.keys() & decision.rejected.keys():
            raise AssertionError(f"{name} is both")


@given(work=workloads(), fleet=st.tuples(members("a"), members("b"), members("c")), lock=locks())
@few
def test_work_never_starts_in_a_cluster_that_is_refused(work, fleet, lock):
    snapshot = snapshot_of(*fleet)

    result = planned(intents_of(*CLUSTERS, QUEUE, *work), snapshot, lock)

    for decision in result.decisions:
        seen = {one.name for one in fleet for use in one.ours if use.workload == decision.workload}
        seen |= {one.name for one in fleet if decision.workload in one.finished}
        before = set(lock[decision.workload].assignments) if decision.workload in lock else set()
        for name in decision.assignments:
            if name in snapshot.cluster and snapshot.cluster[name].problem:
                assert name in before | seen


@given(work=workloads(), fleet=st.tuples(members("a"), members("b"), members("c")), lock=locks())
@few
def test_a_second_plan_from_the_same_world_moves_nothing(work, fleet, lock):
    """What waited may be placed: the first plan may have made the world simpler."""
    snapshot = snapshot_of(*fleet)
    intents = intents_of(*CLUSTERS, QUEUE, *work)
    first = planned(intents, snapshot, lock)

    second = planned(intents, snapshot, lock_of(first))

    for decision in first.decisions:
        if decision.assignments:
            assert second.decision[decision.workload].assignments == decision.assignments


@given(work=workloads(), fleet=st.tuples(members("a"), members("b"), members("c")))
@few
def test_a_gang_with_running_pods_leaves_only_a_cluster_that_it_may_not_have(work, fleet):
    """Whatever became full, broken or better elsewhere."""
    snapshot = snapshot_of(*fleet)
    running = [
        (use.workload, one.name)
        for one in fleet
        for use in one.ours
        if use.workload.startswith("ml") and use.node and use.requests
    ]
    by_key = {one.key: one for one in work}
    lock = {
        key: LockEntry(mode="one", assignments={name: sum(t.replicas for t in by_key[key].spec.job.tasks)})
        for key, name in running
        if by_key[key].mode == "one"
    }

    result = planned(intents_of(*CLUSTERS, QUEUE, *work), snapshot, lock)

    for key, entry in lock.items():
        (home,) = entry.assignments
        decision = result.decision[key]
        if home not in decision.assignments:
            assert decision.rejected[home].code in HARD


def test_planning_does_not_change_what_it_was_given():
    snapshot = snapshot_of(member("a", node("a1"), ours=(PodGroupUse("ml/x", "worker", "a1", 1, {"cpu": 1000}),)))
    before = replace(snapshot)

    planned(intents_of(cluster("a"), job("x"), job("y")), snapshot)

    assert snapshot == before
    assert snapshot.digest == before.digest
