"""What capturing a fleet sees, and what it says when it cannot see."""

from __future__ import annotations

from datetime import timedelta

import pytest
from capacity_fleet import (
    NIGHTLY,
    NOW,
    SHOP,
    TRAINING,
    FakeControlPlane,
    cluster,
    intents_of,
    job,
    node,
    pod,
)

from gitops_vg.capacity import ClusterCapacity, PodGroupUse, Taint, collect
from gitops_vg.errors import ClusterError, Expired, Forbidden, Unavailable

GIB = 1 << 30


def captured(server: FakeControlPlane, *workloads, name: str = "cluster-1") -> ClusterCapacity:
    return collect(server, intents_of(*workloads), now=NOW).cluster[name]


def test_free_is_allocatable_minus_the_requests_of_bound_pods_that_have_not_ended(server):
    server.members["cluster-1"]["pods"] = [
        pod("a", on="n1", requests={"cpu": "1500m", "memory": "4Gi"}),
        pod("b", on="n1", requests={"cpu": "8"}, phase="Succeeded"),
        pod("c", on="", requests={"cpu": "8"}, phase="Pending"),
    ]

    result = captured(server)

    assert result.nodes[0].free == {"cpu": 30_500, "memory": 124 * GIB, "pods": 109}
    assert result.nodes[1].free == result.nodes[1].allocatable
    assert result.allocatable["cpu"] == 62_500
    assert result.capacity["cpu"] == 64_000
    assert result.node_source == "nodes"


def test_facts_of_the_karmada_cluster_are_kept(server):
    server.clusters = [cluster("cluster-1", spec={"taints": [{"key": "gpu", "value": "only", "effect": "NoSchedule"}]})]

    result = captured(server)

    assert (result.region, result.zones, result.provider) == ("north", ("a", "b"), "own")
    assert result.labels == {"tier": "gold"}
    assert result.taints == (Taint(key="gpu", value="only"),)
    assert result.kinds == {"Job.batch.volcano.sh", "ConfigMap"}
    assert result.problem == ""


def test_a_suffix_of_thousands_in_an_oversold_amount_is_understood(server):
    server.members["cluster-1"]["nodes"] = [node("n1", allocatable={"cpu": "32", "kubernetes.io/batch-cpu": "16k"})]

    assert captured(server).nodes[0].free["kubernetes.io/batch-cpu"] == 16_000


def test_cordoned_and_not_ready_nodes_take_nothing_and_are_not_counted_free(server):
    server.members["cluster-1"]["nodes"] = [
        node("n1"),
        node("n2", unschedulable=True),
        node("n3", ready="Unknown"),
    ]

    result = captured(server)

    assert [one.schedulable for one in result.nodes] == [True, False, False]
    assert result.allocatable["cpu"] == 32_000
    assert result.capacity["cpu"] == 96_000


def test_pods_of_the_fleet_are_told_apart_by_workload_task_and_node(server):
    worker = {"volcano.sh/job-name": "bert", "volcano.sh/task-spec": "worker"}
    server.members["cluster-1"]["pods"] = [
        pod("bert-0", on="n1", labels=worker),
        pod("bert-1", on="n1", labels=worker),
        pod("bert-2", labels=worker, phase="Pending"),
        pod("shop-1", on="n2", namespace="web",
            labels={"app.kubernetes.io/name": "shop", "app.kubernetes.io/managed-by": "gitops-vg"}),
        pod("nightly-0", on="n2",
            labels={"volcano.sh/job-name": "nightly-29412000", "volcano.sh/task-spec": "main"}),
        pod("other", on="n2", labels={"volcano.sh/job-name": "other"}),
        pod("impostor", on="n2", namespace="web", labels={"app.kubernetes.io/name": "shop"}),
    ]  # fmt: skip

    result = captured(server, TRAINING, NIGHTLY, SHOP)

    one_cpu = {"cpu": 1000, "pods": 1}
    assert result.ours == (
        PodGroupUse("ml/bert", "worker", "", 1, one_cpu),
        PodGroupUse("ml/bert", "worker", "n1", 2, one_cpu),
        PodGroupUse("ml/nightly", "main", "n2", 1, one_cpu),
        PodGroupUse("web/shop", "", "n2", 1, one_cpu),
    )


def test_pods_that_succeeded_are_ours_and_take_nothing(server):
    worker = {"volcano.sh/job-name": "bert", "volcano.sh/task-spec": "worker"}
    server.members["cluster-1"]["pods"] = [pod("bert-0", on="n1", labels=worker, phase="Succeeded")]

    result = captured(server, TRAINING)

    assert result.ours == (PodGroupUse("ml/bert", "worker", "", 1, {}),)
    assert result.nodes[0].free["cpu"] == 32_000


def test_jobs_that_ended_and_jobs_that_wait_are_named(server):
    server.members["cluster-1"]["jobs"] = [job("bert", phase="Completed"), job("other", phase="Completed")]
    assert captured(server, TRAINING).finished == {"ml/bert"}

    server.members["cluster-1"]["jobs"] = [job("bert", phase="Pending")]
    assert captured(server, TRAINING).waiting == {"ml/bert"}


def test_running_workloads_are_counted_by_kind(server):
    server.members["cluster-1"]["jobs"] = [job("a"), job("b"), job("c", phase="Pending")]
    server.members["cluster-1"]["pods"] = [
        pod("web-1", owner=("apps/v1", "ReplicaSet", "web-5d4f")),
        pod("web-2", owner=("apps/v1", "ReplicaSet", "web-5d4f")),
        pod("log-1", owner=("apps/v1", "DaemonSet", "log")),
        pod("a-0", owner=("batch.volcano.sh/v1alpha1", "Job", "a")),
        pod("alone"),
    ]

    assert captured(server).running == {
        "DaemonSet.apps": 1,
        "Deployment.apps": 1,
        "Job.batch.volcano.sh": 2,
        "Pod": 1,
    }


def test_lists_are_read_page_by_page(server):
    server.page = 2
    server.members["cluster-1"]["pods"] = [pod(f"p{number}", on="n1") for number in range(5)]

    assert captured(server).nodes[0].free["pods"] == 105


def test_a_list_that_breaks_off_half_way_is_no_small_cluster(server):
    server.page = 2
    server.members["cluster-1"]["pods"] = [pod(f"p{number}", on="n1") for number in range(5)]
    server.failures["pods?limit=500&continue=4"] = Unavailable("gone", status=500, reason="InternalError")

    result = captured(server)

    assert result.node_source == "summary"
    assert "could not be read (InternalError)" in result.warnings[0]


def test_a_list_that_became_too_old_is_read_anew(server):
    server.page = 2
    server.members["cluster-1"]["pods"] = [pod(f"p{number}", on="n1") for number in range(3)]
    real, failed = server.get_path, []

    def once_expired(path, *, query):
        if query.get("continue") == "2" and not failed:
            failed.append(path)
            raise Expired("too old", status=410)
        return real(path, query=query)

    server.get_path = once_expired

    assert captured(server).nodes[0].free["pods"] == 107


@pytest.mark.parametrize(
    "answer",
    [{"message": "hello"}, "hello", {"kind": "NodeList", "items": {"a": 1}}, {"kind": "NodeList", "items": [{}]}],
)
def test_an_answer_that_is_not_a_list_is_a_failed_read(server, answer):
    server.get_path = lambda _path, **_query: answer

    assert captured(server).node_source == "summary"


# ---------------------------------------------------------------- problems


@pytest.mark.parametrize(
    ("ready", "problem"),
    [
        ("False", "not ready since 2026-12-01T10:00:00Z (ClusterX)"),
        ("Unknown", "state unknown to Karmada since 2026-12-01T10:00:00Z (ClusterX)"),
    ],
)
def test_a_cluster_that_is_not_ready_is_a_problem_with_its_time(server, ready, problem):
    server.clusters = [cluster("cluster-1", ready=ready)]

    assert captured(server).problem == problem


def test_a_cluster_that_is_not_ready_is_not_asked_itself(server):
    server.clusters = [cluster("cluster-1", ready="False")]

    assert captured(server).node_source == "summary"
    assert server.requests == []


def test_a_cluster_without_conditions_is_a_problem(server):
    server.clusters = [cluster("cluster-1", status={"conditions": []})]

    assert "has not looked at it yet" in captured(server).problem


def test_a_declared_cluster_that_karmada_does_not_know_is_listed_with_that_problem(server):
    snapshot = collect(server, intents_of(clusters=("cluster-1", "cluster-9")), now=NOW)

    assert snapshot.cluster["cluster-9"].problem == "not registered in Karmada"


def test_a_cluster_that_nobody_declared_is_listed_with_that_problem(server):
    result = collect(server, intents_of(clusters=()), now=NOW).cluster["cluster-1"]

    assert result.problem == "has no Cluster intent"
    assert result.nodes


def test_a_member_without_nodes_is_a_problem(server):
    server.members["cluster-1"]["nodes"] = []

    assert captured(server).problem == "no node takes pods"


def test_figures_that_contradict_themselves_count_as_nothing_free_with_a_warning(server):
    server.members["cluster-1"]["pods"] = [pod("huge", on="n1", requests={"cpu": "40"})]

    result = captured(server)

    assert result.nodes[0].free["cpu"] == 0
    assert "node n1 has more cpu requested than allocatable" in result.warnings[0]


def test_a_failed_list_of_clusters_is_an_error_and_never_an_empty_fleet(server):
    server.failures["Cluster.cluster.karmada.io"] = Unavailable("no answer", status=503)

    with pytest.raises(ClusterError, match="no answer"):
        collect(server, intents_of(), now=NOW)


# ---------------------------------------------------------------- without the proxy

SUMMARY = {
    "allocatable": {"cpu": "64", "memory": "256Gi", "pods": "220", "nvidia.com/gpu": "8"},
    "allocated": {"cpu": "20", "pods": "10"},
    "allocating": {"cpu": "4"},
}
GRADES = [
    {"grade": 0, "ranges": [{"name": "cpu", "min": "0", "max": "16"}, {"name": "memory", "min": "0", "max": "64Gi"}]},
    {"grade": 1, "ranges": [{"name": "cpu", "min": "16", "max": "64"},
                            {"name": "memory", "min": "64Gi", "max": "1Ti"}]},
]  # fmt: skip


def test_without_the_proxy_graded_models_stand_in_for_the_nodes(server):
    del server.members["cluster-1"]
    models = [{"grade": 0, "count": 0}, {"grade": 1, "count": 2}]
    server.clusters = [
        cluster(
            "cluster-1",
            spec={"resourceModels": GRADES},
            status={"resourceSummary": {**SUMMARY, "allocatableModelings": models}},
        )
    ]

    result = captured(server)

    assert result.node_source == "models"
    assert [one.free for one in result.nodes] == [
        {"cpu": 16_000, "memory": 64 * GIB, "pods": 105, "nvidia.com/gpu": 4}
    ] * 2
    assert result.allocatable["cpu"] == 40_000
    assert result.problem == ""


def test_without_models_the_free_total_is_divided_over_the_ready_nodes(server):
    del server.members["cluster-1"]
    server.clusters = [cluster("cluster-1", status={"resourceSummary": SUMMARY})]

    result = captured(server)

    assert result.node_source == "summary"
    assert [one.free["cpu"] for one in result.nodes] == [20_000, 20_000]


def test_a_cluster_of_which_nothing_is_known_has_nothing_free_and_says_so(server):
    del server.members["cluster-1"]
    server.clusters = [cluster("cluster-1", status={"nodeSummary": {}})]

    result = captured(server)

    assert result.problem == "no node is known"
    assert result.nodes == ()


def test_more_allocated_than_allocatable_counts_as_nothing_free_with_a_warning(server):
    del server.members["cluster-1"]
    server.clusters = [cluster("cluster-1", status={"resourceSummary": {**SUMMARY, "allocated": {"cpu": "100"}}})]

    result = captured(server)

    assert result.allocatable["cpu"] == 0
    assert any("more cpu in use" in warning for warning in result.warnings)


def test_figures_that_are_no_quantities_are_a_problem_and_no_crash(server):
    server.members["cluster-1"]["nodes"] = [node("n1", allocatable={"cpu": "many"})]
    server.clusters = [cluster("cluster-1", status={"resourceSummary": {"allocatable": {"cpu": "many"}}})]

    result = captured(server)

    assert "'many' is not a quantity" in result.problem


# ---------------------------------------------------------------- heartbeats


def lease(name: str, *, age: timedelta) -> dict:
    return {"metadata": {"name": name}, "spec": {"renewTime": (NOW - age).isoformat()}}


def test_a_heartbeat_older_than_stale_after_is_a_problem_when_the_member_does_not_answer(server):
    del server.members["cluster-1"]
    server.clusters = [cluster("cluster-1", status={"resourceSummary": SUMMARY})]
    server.leases = [lease("cluster-1", age=timedelta(minutes=12))]

    assert captured(server).problem == "status not renewed since 2026-12-01T11:48:00+00:00"


def test_nodes_that_were_read_now_are_fresh_whatever_the_heartbeat_says(server):
    server.leases = [lease("cluster-1", age=timedelta(minutes=12))]

    assert captured(server).problem == ""


def test_without_the_right_to_read_heartbeats_the_ready_condition_decides(server):
    server.failures["Lease"] = Forbidden("no", status=403, reason="Forbidden")

    assert captured(server).problem == ""
