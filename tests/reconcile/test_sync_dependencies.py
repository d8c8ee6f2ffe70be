"""What needs what: nothing is applied without, or loses, what it depends on."""

from __future__ import annotations

import time
from typing import Any

from reconcile_world import TODAY, World, config_map, job, metadata, namespace, policy, queue

from gitops_vg.objects import Manifest
from gitops_vg.reconcile import ActionKind, execute, load, make_plan

POLICIES = "/apis/policy.karmada.io/v1alpha1/propagationpolicies"
JOBS = "/apis/batch.volcano.sh/v1alpha1/namespaces/ml/jobs"


def actions(result: Any) -> set[str]:
    return {str(action) for action in result.done}


def test_a_job_is_not_created_while_its_policy_is_unknown(world: World) -> None:
    """It would be claimed by a broader policy, for good."""
    world.manifests = [namespace(), policy("train"), job("train"), config_map("a")]
    world.sandbox.server.faults.fail("GET", POLICIES, status=403, times=50)

    plan, result = world.sync()

    assert [manifest.key.kind for manifest in plan.unknown] == ["PropagationPolicy"]
    assert actions(result) == {"create Namespace ml", "create ConfigMap ml/a"}
    (left,) = result.failures
    assert left.skipped
    assert "PropagationPolicy.policy.karmada.io ml/train is not there as it should be" in left.message
    world.sandbox.server.faults.clear()
    assert "create Job.batch.volcano.sh ml/train" in actions(world.sync()[1])


def test_a_policy_of_another_group_or_namespace_holds_nothing_back(world: World) -> None:
    world.manifests = [namespace(), namespace("other"), policy("train", kind="ConfigMap"), job("train")]
    world.sandbox.server.faults.fail("PATCH", "/apis/policy.karmada.io/v1alpha1/namespaces/ml/propagationpolicies/train",
                                     status=403, times=50)  # fmt: skip

    _, result = world.sync()

    assert "create Job.batch.volcano.sh ml/train" in actions(result)


def test_a_namespace_outlives_what_could_not_be_deleted_in_it(world: World) -> None:
    world.manifests = [namespace(), config_map("a"), queue("q")]
    world.sync()
    world.manifests = [queue("q")]
    world.sandbox.server.faults.fail("DELETE", "/api/v1/namespaces/ml/configmaps/a", status=403, times=1)

    _, result = world.sync()

    assert world.live(namespace()) is not None
    told = {str(failure.action): failure.message for failure in result.failures}
    assert "ConfigMap ml/a is still there and needs it" in told["delete Namespace ml"]
    world.sync()
    assert world.live(namespace()) is None


def test_a_policy_outlives_a_job_that_could_not_be_deleted(world: World) -> None:
    world.manifests = [namespace(), policy("train"), job("train")]
    world.sync()
    world.write(job("train"), {"status": {"state": {"phase": "Completed"}}}, subresource="status")
    world.manifests = [namespace()]
    world.sandbox.server.faults.fail("DELETE", f"{JOBS}/train", status=403, times=1)

    world.sync()

    assert world.live(policy("train")) is not None
    assert world.live(job("train")) is not None


def test_queues_are_made_from_the_root_and_deleted_from_the_leaves(world: World) -> None:
    seen: list[str] = []
    tree = [queue("a", parent="b"), queue("b", parent="c"), queue("c"), queue("z", parent="a")]
    world.manifests = [namespace(), *tree]

    _, result = world.sync()
    seen = [action.key.name for action in result.done if action.key.kind == "Queue"]
    assert seen == ["c", "b", "a", "z"]

    world.manifests = [namespace()]
    world.approve(world.plan().digest)
    _, result = world.sync()
    assert [action.key.name for action in result.done] == ["z", "a", "b", "c"]


def test_queues_that_are_each_others_parents_end_no_sync(world: World) -> None:
    world.manifests = [namespace(), queue("a", parent="b"), queue("b", parent="a")]

    _, result = world.sync()

    assert len(result.done) == 3


def test_a_namespace_with_kinds_that_we_never_apply_stays(world: World) -> None:
    world.manifests = [namespace(), config_map("a"), queue("q")]
    world.sync()
    theirs = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "theirs", "namespace": "ml"},
              "spec": {"selector": {"matchLabels": {"a": "b"}},
                       "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}}}  # fmt: skip
    world.server.create(theirs)
    world.manifests = [queue("q")]

    plan, result = world.sync()

    assert "Namespace ml holds Deployment.apps ml/theirs, which is not ours" in plan.reasons
    assert result.done == ()


def test_a_namespace_whose_content_cannot_be_seen_stays(world: World) -> None:
    world.manifests = [namespace(), config_map("a"), queue("q")]
    world.sync()
    world.manifests = [queue("q")]
    world.sandbox.server.faults.fail("GET", "/apis/apps/v1/namespaces/ml/deployments", status=403, times=50)

    plan, _ = world.sync()

    assert any("whether Namespace ml holds any Deployment.apps cannot be seen" in reason for reason in plan.reasons)


def test_a_job_is_made_again_only_when_the_old_one_is_gone(world: World) -> None:
    world.manifests = [namespace(), job("train")]
    world.sync()
    world.write(job("train"), {"metadata": {"finalizers": ["example.com/hold"]}})
    old = world.live(job("train"))
    world.manifests[-1] = job("train", image="a:2")

    plan, result = world.sync()

    assert [action.kind for action in plan.actions] == [ActionKind.RECREATE]
    (failure,) = result.failures
    assert "still there (held by example.com/hold)" in failure.message
    plan = world.plan()
    assert "is being deleted since" in plan.problems[0].message
    world.write(job("train"), {"metadata": {"finalizers": None}})
    _, result = world.sync()
    assert actions(result) == {"create Job.batch.volcano.sh ml/train"}
    new = world.live(job("train"))
    assert old is not None
    assert new is not None
    assert new["metadata"]["uid"] != old["metadata"]["uid"]


def test_a_recreation_that_stops_half_way_is_finished_by_the_next_sync(world: World) -> None:
    world.manifests = [namespace(), job("train")]
    world.sync()
    world.write(job("train"), {"status": {"state": {"phase": "Completed"}}}, subresource="status")
    world.sync()
    world.manifests[-1] = job("train", image="a:2")
    plan = world.plan()
    assert any("has ended (Completed) and would run again" in reason for reason in plan.reasons)
    world.approve(plan.digest)
    inventory = load(world.server, fleet="test")
    plan = world.plan()
    world.sandbox.server.faults.fail("PATCH", f"{JOBS}/train", status=403, times=1)
    result = execute(world.server, plan, inventory, sleep=lambda _: None)
    assert len(result.failures) == 1
    assert world.live(job("train")) is None

    _, result = world.sync()
    assert actions(result) == {"create Job.batch.volcano.sh ml/train"}


def test_a_job_whose_status_was_emptied_is_taken_for_running(world: World) -> None:
    """A refused update empties the status in the control plane while the job runs on in its member."""
    world.manifests = [namespace(), policy("train"), job("train")]
    world.sync()
    binding = Manifest({"apiVersion": "work.karmada.io/v1alpha2", "kind": "ResourceBinding",
                        "metadata": {"name": "train-job", "namespace": "ml"}})  # fmt: skip
    for _ in range(100):
        live = world.live(binding)
        if live and live["spec"].get("clusters"):
            break
        time.sleep(0.05)
    world.write(job("train"), {"status": None}, subresource="status")
    world.manifests = [namespace()]

    plan = world.plan()

    assert any("is running" in reason for reason in plan.reasons)


def test_a_deployment_with_replicas_is_running(world: World) -> None:
    body = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata("web", namespace="ml"),
            "spec": {"replicas": 2, "selector": {"matchLabels": {"a": "b"}},
                     "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}}}  # fmt: skip
    world.manifests = [namespace(), Manifest(body)]
    world.sync()
    world.write(Manifest(body), {"status": {"replicas": 2}}, subresource="status")
    world.manifests.pop()

    plan = world.plan()

    assert any("is running (2 replicas, none ready)" in reason for reason in plan.reasons)


def test_a_namespace_that_we_may_not_read_or_change_holds_nothing_back(world: World) -> None:
    """The account of a tenant has rights inside its namespace only."""
    world.manifests = [namespace()]
    world.sync()
    world.manifests.append(config_map("a"))
    inventory = load(world.server, fleet="test")
    world.sandbox.server.faults.fail("GET", "/api/v1/namespaces", status=403, times=1)

    plan = make_plan(world.server, world.tree, inventory, today=TODAY)
    result = execute(world.server, plan, inventory)

    assert plan.frozen == "the list of Namespace is incomplete"
    assert actions(result) == {"create ConfigMap ml/a"}


def test_a_cluster_that_is_not_joined_is_told_as_that(world: World) -> None:
    body = {"apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster", "metadata": metadata("membre1")}
    world.manifests = [namespace(), Manifest(body)]

    plan, result = world.sync()

    (problem,) = plan.problems
    assert "Cluster membre1 is not joined" in problem.message
    assert result.failures == ()
    assert actions(result) == {"create Namespace ml"}
