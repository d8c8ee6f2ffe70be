"""Jobs: whole in one cluster, on real nodes, in the best of those that fit."""

from __future__ import annotations

from placement_fleet import (
    GPU,
    again,
    cluster,
    intents_of,
    job,
    member,
    node,
    planned,
    service,
    snapshot_of,
    task,
)

from gitops_vg.capacity import Taint
from gitops_vg.placement import State

GPUS = {"requests": {"cpu": 4, GPU: 8}}


def decided(workload, *members, clusters=None):
    clusters = clusters or [cluster(one.name) for one in members]
    return planned(intents_of(*clusters, workload), snapshot_of(*members)).decision[workload.key]


def test_a_gang_goes_into_one_cluster_whole():
    decision = decided(
        job("train", task(replicas=6, requests={"cpu": 16})),
        member("a", node("a1"), node("a2")),
        member("b", node("b1"), node("b2"), node("b3")),
    )

    assert dict(decision.assignments) == {"b": 6}
    assert decision.rejected["a"].text == "only 4 of 6 pods of task worker fit"
    assert decision.reason.text == "the only cluster that fits"


def test_a_cluster_with_enough_in_total_but_no_node_for_a_pod_does_not_fit():
    decision = decided(
        job("train", task(requests={"cpu": 40})), member("a", *(node(f"a{index}") for index in range(10)))
    )

    assert decision.state is State.PENDING
    assert decision.rejected["a"].text == "largest node has 32 of 40 CPU free"


def test_gpus_are_counted_node_by_node():
    decision = decided(
        job("train", task(**GPUS)),
        member("a", node("a1", gpu=8, free={"gpu": 2}), node("a2", gpu=8, free={"gpu": 7})),
    )

    assert decision.rejected["a"].text == "largest node has 7 of 8 GPUs free"
    assert decision.reason.text == "no cluster has room; nearest is a: largest node has 7 of 8 GPUs free"


def test_a_resource_that_a_cluster_does_not_list_is_not_there():
    assert decided(job("train", task(**GPUS)), member("a", node("a1"))).rejected["a"].text == "has no GPUs"


def test_enough_of_each_on_different_nodes_is_not_enough_together():
    decision = decided(
        job("train", task(requests={"cpu": 20, "memory": "64Gi"})),
        member("a", node("a1", cpu=32, memory="32Gi"), node("a2", cpu=8, memory="128Gi")),
    )

    assert decision.rejected["a"].text == "no node has 20 CPU, 64Gi memory free together"


def test_the_largest_task_is_seated_first():
    big, small = task("zz", requests={"cpu": 30}), task("aa", replicas=2, requests={"cpu": 8})
    decision = decided(job("mixed", small, big), member("a", node("a1"), node("a2", cpu=16)))

    assert dict(decision.assignments) == {"a": 3}


def test_pod_slots_of_a_node_are_a_limit_of_their_own():
    decision = decided(job("many", task(replicas=5, requests={"cpu": "10m"})), member("a", node("a1", pods=4)))

    assert decision.rejected["a"].text == "only 4 of 5 pods of task worker fit"


def test_a_node_selector_narrows_the_nodes():
    workload = job("train", task(replicas=2, requests={"cpu": 20}, nodeSelector={"disk": "ssd"}))
    labelled = node("a1", labels={"disk": "ssd"})

    assert decided(workload, member("a", labelled, node("a2"))).rejected["a"].text == (
        "only 1 of 2 pods of task worker fit"
    )
    assert decided(workload, member("a", node("a2"))).rejected["a"].text == (
        "no node takes its pods: no node has the label disk=ssd"
    )


def test_required_node_affinity_and_tolerations_of_the_template_are_understood():
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
        {"matchExpressions": [{"key": "gen", "operator": "In", "values": ["7", "8"]},
                              {"key": "memory", "operator": "Gt", "values": ["100"]}]}]}}}  # fmt: skip
    spec = {"affinity": affinity, "tolerations": [{"key": "old", "operator": "Exists"}], "containers": [{"name": "c"}]}
    workload = job("picky", task(template={"spec": spec}))
    right = {"gen": "7", "memory": "128"}

    assert decided(workload, member("a", node("n", labels=right, taints=(Taint("old"),)))).assignments
    assert not decided(workload, member("a", node("n", labels={**right, "memory": "64"}))).assignments
    assert not decided(workload, member("a", node("n", labels=right, taints=(Taint("new"),)))).assignments


def test_nodes_that_are_not_known_cannot_promise_a_label():
    workload = job("train", task(nodeSelector={"disk": "ssd"}))

    decision = decided(workload, member("a", node("summary-0000"), node_source="summary"))

    assert decision.rejected["a"].text == "no node takes its pods: the labels of its nodes are not known now"


def test_cordoned_and_tainted_nodes_are_not_used():
    decision = decided(job("train"), member("a", node("a1", schedulable=False), node("a2", taints=(Taint("x"),))))

    assert decision.rejected["a"].text == "no node takes its pods: taint x:NoSchedule is not tolerated"


def test_only_the_minimum_of_a_loose_gang_has_to_fit_and_all_replicas_count_for_the_queue():
    three_fit = member("a", node("a1", cpu=3))

    assert decided(job("loose", task(replicas=9), gang="none"), three_fit).assignments
    assert decided(job("partly", task(replicas=9), gang=3), three_fit).assignments
    assert not decided(job("partly", task(replicas=9), gang=4), three_fit).assignments


def test_a_job_is_never_divided_whatever_its_mode_says():
    workload = job("train", task(replicas=4), placement={"mode": "divide"})
    intents = intents_of(cluster("a"), cluster("b"), workload)

    result = planned(intents, snapshot_of(member("a", node("a1")), member("b", node("b1"))))

    decision = result.decision["ml/train"]
    assert decision.mode == "one"
    assert len(decision.assignments) == 1
    assert "only services are divided" in result.warnings[0]


def test_headroom_is_left_alone():
    declared = cluster("a", headroom={"cpu": "10%"})
    live = member("a", node("a1", cpu=10))

    assert decided(job("x", task(requests={"cpu": 9})), live, clusters=[declared]).assignments
    assert not decided(job("x", task(requests={"cpu": 10})), live, clusters=[declared]).assignments


def test_a_job_everywhere_goes_whole_into_each_cluster_that_has_room():
    workload = job("agent", task(replicas=2, requests={"cpu": 16}), placement={"mode": "everywhere"})

    decision = decided(workload, member("a", node("a1")), member("b", node("b1", cpu=8)), member("c", node("c1")))

    assert dict(decision.assignments) == {"a": 1, "c": 1}
    assert decision.rejected["b"].text == "largest node has 8 of 16 CPU free"


# ---------------------------------------------------------------- which of those that fit


def test_spread_clusters_are_chosen_by_the_room_that_stays():
    decision = decided(job("x", task(requests={"cpu": 8})), member("a", node("a1")), member("b", node("b1", cpu=64)))

    assert dict(decision.assignments) == {"b": 1}
    assert decision.reason.text == "best of 2 that fit: 87.5 % of its CPU stay free"
    assert decision.rejected["a"].text == "fits, scores lower than b by 12.5 points"


def test_packed_clusters_are_chosen_by_the_room_that_is_used():
    clusters = [cluster("a", packing="binpack"), cluster("b", packing="binpack")]
    decision = decided(
        job("x", task(requests={"cpu": 8})), member("a", node("a1")), member("b", node("b1", cpu=64)), clusters=clusters
    )

    assert dict(decision.assignments) == {"a": 1}


def test_work_without_gpus_leaves_whole_gpu_nodes_alone():
    decision = decided(
        job("x", task(requests={"cpu": 8})),
        member("a", node("a1", cpu=128, gpu=8)),
        member("b", node("b1", cpu=16)),
    )

    assert dict(decision.assignments) == {"b": 1}
    assert decision.rejected["a"].text == "fits, would break 1 more whole accelerator nodes than b"


def test_a_small_gpu_job_uses_a_node_that_is_broken_already():
    intents = intents_of(
        cluster("a"),
        job("small", task(requests={"cpu": 1, GPU: 1})),
        job("whole", task(requests={"cpu": 1, GPU: 8})),
    )
    nodes = [node("a1", gpu=8), node("a2", gpu=8, free={"gpu": 3})]

    result = planned(intents, snapshot_of(member("a", *nodes)))

    assert all(decision.assignments for decision in result.decisions)


def test_equals_are_decided_by_name():
    decision = decided(job("x"), member("b", node("n")), member("a", node("n")))

    assert dict(decision.assignments) == {"a": 1}
    assert decision.rejected["b"].text == "fits as well; a comes first by name"


def test_online_work_is_served_before_offline_work():
    intents = intents_of(cluster("a"), job("batch", task(requests={"cpu": 20})), service("shop", cpu=20))

    result = planned(intents, snapshot_of(member("a", node("a1"))))

    assert result.decision["web/shop"].assignments
    assert result.decision["ml/batch"].state is State.PENDING


def test_a_periodic_job_keeps_room_for_one_run():
    nightly = job("nightly", task(requests={"cpu": 20}), schedule="0 2 * * *")
    intents = intents_of(cluster("a"), nightly, job("zz", task(requests={"cpu": 20})))
    snapshot = snapshot_of(member("a", node("a1")))

    result = planned(intents, snapshot)

    assert dict(result.decision["ml/nightly"].assignments) == {"a": 1}
    assert result.decision["ml/zz"].state is State.PENDING
    assert again(intents, snapshot, result).decision["ml/nightly"].state is State.KEPT
