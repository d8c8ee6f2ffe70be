"""What a sync never does: delete without proof, without budget, without a word; forget; take what is not ours."""

from __future__ import annotations

from datetime import date

import pytest
from reconcile_world import World, config_map, job, namespace, policy, queue

from gitops_vg.errors import ClusterError, Forbidden, GitopsVgError, Unavailable
from gitops_vg.gitstore import TreeSettings
from gitops_vg.objects import GroupKind
from gitops_vg.reconcile import ActionKind, load


def test_the_first_sync_creates_and_the_second_writes_nothing(world: World) -> None:
    world.manifests = [namespace(), config_map("a", k="1"), queue("q")]

    plan, result = world.sync()
    assert {str(action) for action in result.done} == {"create Namespace ml", "create ConfigMap ml/a",
                                                       "create Queue.scheduling.volcano.sh q"}  # fmt: skip
    assert plan.problems == result.failures == ()
    world.sync()
    version = world.sandbox.call(lambda: world.sandbox.karmada.store.version)
    plan, _ = world.sync()

    assert plan.is_empty
    assert world.sandbox.call(lambda: world.sandbox.karmada.store.version) == version


def test_an_object_that_left_git_is_deleted_and_forgotten(world: World) -> None:
    world.manifests = [namespace(), config_map("a"), config_map("b")]
    world.sync()
    world.manifests.pop()

    _, result = world.sync()

    assert [str(action) for action in result.done] == ["delete ConfigMap ml/b"]
    assert world.live(config_map("b")) is None
    assert config_map("b").key not in load(world.server, fleet="test").records


def test_what_we_never_applied_is_never_deleted(world: World) -> None:
    world.manifests = [namespace(), config_map("a")]
    world.sync()
    copy = dict(config_map("copied-labels").body)
    world.sandbox.call(
        lambda: world.sandbox.karmada.create(world.sandbox.karmada.kind("", "ConfigMap"), copy, namespace="ml")
    )
    world.manifests.pop()

    world.sync()

    assert world.live(config_map("copied-labels")) is not None


@pytest.mark.parametrize("status", [403, 500, 503])
@pytest.mark.parametrize("page", [None, 2])
def test_a_failed_or_partial_list_freezes_every_deletion(
    world: World, status: int, page: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gitops_vg.kube.client._PAGE", 1)
    world.manifests = [namespace(), config_map("a"), config_map("b"), queue("q")]
    world.sync()
    world.manifests = [namespace(), config_map("a")]
    world.sandbox.server.faults.fail("GET", "/api/v1/configmaps", status=status, page=page, times=50)

    plan, result = world.sync()

    assert plan.frozen == "the list of ConfigMap is incomplete"
    assert [str(action) for action in result.done] == []
    world.sandbox.server.faults.clear()
    assert world.live(config_map("b")) is not None
    assert world.live(queue("q")) is not None


def test_while_frozen_the_rest_goes_on(world: World) -> None:
    world.manifests = [namespace(), config_map("a")]
    world.sync()
    world.manifests.append(queue("new"))
    world.sandbox.server.faults.fail("GET", "/api/v1/configmaps", status=500, times=50)

    _, result = world.sync()

    assert [str(action) for action in result.done] == ["create Queue.scheduling.volcano.sh new"]


def test_a_server_that_does_not_answer_is_unavailable_and_nothing_happens(world: World) -> None:
    world.manifests = [namespace()]
    world.sandbox.server.faults.fail("GET", "/api", status=503, times=50)

    with pytest.raises(Unavailable):
        world.sync()


def test_an_unreadable_inventory_stops_before_any_write(world: World) -> None:
    world.manifests = [namespace(), config_map("a")]
    world.sync()
    inventory = load(world.server, fleet="test").key
    kind = world.sandbox.karmada.kind("", "ConfigMap")
    world.sandbox.call(lambda: world.sandbox.karmada.patch(
        kind, inventory.namespace, inventory.name, {"binaryData": {"records": "bm90IGd6aXA="}}))  # fmt: skip
    world.manifests.append(config_map("b"))

    with pytest.raises(ClusterError, match="inventory"):
        world.sync()

    assert world.live(config_map("b")) is None


def test_the_budget_stops_a_mass_deletion_and_an_approval_of_it_opens_exactly_it(world: World) -> None:
    world.settings = TreeSettings("test", max_count=10, max_percent=5)
    world.manifests = [namespace(), *(config_map(f"c{number}") for number in range(30))]
    world.sync()
    world.manifests = world.manifests[:-12]

    plan, result = world.sync()
    assert len(plan.held) == 12
    assert "12 deletions are more than one run may do" in plan.reasons[0]
    assert result.done == ()

    world.approve("sha256:" + "0" * 64)
    assert len(world.plan().held) == 12
    world.approve(plan.digest, expires=date(2026, 11, 30))
    assert len(world.plan().held) == 12
    world.approve(plan.digest)
    assert world.plan().approved_by == "meant"
    world.manifests.pop()
    assert len(world.plan().held) == 13

    world.manifests.append(config_map("c17"))
    _, result = world.sync()
    assert len(result.done) == 12


def test_an_empty_tree_is_never_an_empty_world(world: World) -> None:
    world.manifests = [namespace(), queue("q")]
    world.sync()
    world.manifests = []

    plan, result = world.sync()

    assert "the rendered tree is empty: everything would be deleted" in plan.reasons
    assert result.done == ()
    assert world.live(queue("q")) is not None


def test_a_protected_object_is_refused_by_us_even_when_the_server_would_not(world: World) -> None:
    world.manifests = [namespace(), queue("q", protect=True)]
    world.sync()
    world.sandbox.call(world.sandbox.karmada.validating.clear)
    world.manifests.pop()

    plan, _ = world.sync()

    assert plan.reasons[0].endswith("is protected (resourcetemplate.karmada.io/deletion-protected=Always)")
    assert world.live(queue("q")) is not None


def test_an_approved_deletion_of_a_protected_object_lifts_the_label_first(world: World) -> None:
    world.manifests = [namespace(), queue("q", protect=True)]
    world.sync()
    world.manifests.pop()
    world.approve(world.plan().digest)

    _, result = world.sync()

    assert result.failures == ()
    assert world.live(queue("q")) is None


def test_lifting_protection_needs_a_word_of_its_own(world: World) -> None:
    world.manifests = [namespace(), queue("q", protect=True)]
    world.sync()
    world.manifests[-1] = queue("q")

    plan, _ = world.sync()
    assert [action.kind for action in plan.held] == [ActionKind.UNPROTECT]
    world.approve(plan.digest)
    _, result = world.sync()

    assert [action.kind for action in result.done] == [ActionKind.UNPROTECT]
    live = world.live(queue("q"))
    assert live is not None
    assert "resourcetemplate.karmada.io/deletion-protected" not in live["metadata"]["labels"]


# Without a policy nobody reports on the job, so the phase that a test writes stays.
def test_a_running_job_is_not_stopped_by_a_commit(world: World) -> None:
    world.manifests = [namespace(), job("train")]
    world.sync()
    world.write(job("train"), {"status": {"state": {"phase": "Running"}}}, subresource="status")
    world.manifests = [namespace()]

    plan, result = world.sync()

    assert any("is running (phase Running)" in reason for reason in plan.reasons)
    assert result.done == ()


def test_a_change_that_volcano_refuses_is_a_recreation_and_is_held_while_the_job_runs(world: World) -> None:
    world.manifests = [namespace(), job("train")]
    world.sync()
    world.write(job("train"), {"status": {"state": {"phase": "Running"}}}, subresource="status")
    world.manifests[-1] = job("train", image="a:2")

    plan, _ = world.sync()

    assert [action.kind for action in plan.held] == [ActionKind.RECREATE]
    assert any("would be stopped and run again" in reason for reason in plan.reasons)


def test_a_change_that_volcano_allows_is_an_update(world: World) -> None:
    world.manifests = [namespace(), policy("train"), job("train")]
    world.sync()
    world.manifests[-1] = job("train", replicas=2)

    _, result = world.sync()

    assert [action.kind for action in result.done] == [ActionKind.UPDATE]


def test_a_finished_job_is_never_run_again_because_its_object_went(world: World) -> None:
    world.manifests = [namespace(), job("train")]
    world.sync()
    world.write(job("train"), {"status": {"state": {"phase": "Completed"}}}, subresource="status")
    world.sync()
    world.remove(job("train"))

    plan, result = world.sync()

    assert plan.kept == (job("train").key,)
    assert result.done == ()
    assert world.live(job("train")) is None


def test_a_namespace_with_content_of_others_stays(world: World) -> None:
    world.manifests = [namespace(), config_map("a")]
    world.sync()
    other = dict(config_map("theirs").body)
    world.sandbox.call(
        lambda: world.sandbox.karmada.create(world.sandbox.karmada.kind("", "ConfigMap"), other, namespace="ml")
    )
    world.manifests = [queue("q")]

    plan, _ = world.sync()

    assert "Namespace ml holds ConfigMap ml/theirs, which is not ours" in plan.reasons


def test_an_object_of_somebody_else_is_adopted_and_said(world: World) -> None:
    world.manifests = [namespace()]
    world.sync()
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "ml"}, "data": {"k": "0"}}
    world.sandbox.call(
        lambda: world.sandbox.karmada.create(world.sandbox.karmada.kind("", "ConfigMap"), body, namespace="ml")
    )
    world.manifests.append(config_map("a", k="1"))

    _, result = world.sync()

    assert [action.kind for action in result.done] == [ActionKind.ADOPT]


def test_a_namesake_made_by_somebody_else_is_not_deleted_for_ours(world: World) -> None:
    world.manifests = [namespace(), config_map("a")]
    world.sync()
    world.remove(config_map("a"))
    body = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "a", "namespace": "ml"},
        "data": {"k": "theirs"},
    }
    world.sandbox.call(
        lambda: world.sandbox.karmada.create(world.sandbox.karmada.kind("", "ConfigMap"), body, namespace="ml")
    )
    world.manifests.pop()

    plan, _ = world.sync()

    assert plan.gone == (config_map("a").key,)
    assert world.live(config_map("a")) is not None


def test_a_sync_that_dies_in_the_middle_leaves_nothing_untracked(world: World) -> None:
    world.manifests = [namespace(), *(config_map(f"c{number}") for number in range(6))]
    world.sandbox.server.faults.fail("PATCH", "/api/v1/namespaces/ml/configmaps/c3", status=403, times=50)
    world.sync()
    world.sandbox.server.faults.clear()
    assert {manifest.key for manifest in world.manifests} <= load(world.server, fleet="test").records.keys()

    world.manifests = [namespace(), config_map("c0")]
    world.approve(world.plan().digest)
    world.sync()

    left = [body["metadata"]["name"] for body in world.server.list(GroupKind("", "ConfigMap"), namespace="ml")]
    assert left == ["c0"]


def test_one_bad_object_stops_nobody_else_and_what_needs_it_is_left_out(world: World) -> None:
    world.manifests = [namespace(), policy("train"), job("train"), config_map("a"), queue("bad", weight=0)]
    world.sandbox.server.faults.fail("PATCH", "/apis/policy.karmada.io/v1alpha1/namespaces/ml/propagationpolicies/train",
                                     status=403, times=50)  # fmt: skip

    _, result = world.sync()

    assert {str(action) for action in result.done} == {"create Namespace ml", "create ConfigMap ml/a"}
    messages = {str(failure.action): (failure.skipped, failure.message) for failure in result.failures}
    assert messages["create Job.batch.volcano.sh ml/train"][0]
    assert "greater than or equal to 1" in messages["create Queue.scheduling.volcano.sh bad"][1]
    assert len(messages) == 3


def test_two_syncs_at_once_do_not_lose_the_inventory(world: World) -> None:
    world.manifests = [namespace(), config_map("a")]
    world.sync()
    inventory = load(world.server, fleet="test")
    world.manifests.append(config_map("b"))
    world.sync()

    from gitops_vg.reconcile import execute, make_plan

    world.manifests.append(config_map("c"))
    plan = make_plan(world.server, world.tree, inventory, today=date(2026, 12, 1))
    with pytest.raises(GitopsVgError, match="another sync"):
        execute(world.server, plan, inventory)

    assert world.live(config_map("c")) is None


def test_a_lost_answer_to_an_apply_is_looked_up_before_it_is_called_a_failure(world: World) -> None:
    world.manifests = [namespace(), config_map("a", k="1")]
    world.sandbox.server.faults.drop("PATCH", "/api/v1/namespaces/ml/configmaps/a", times=4, after=True)

    _, result = world.sync()

    assert result.failures == ()
    assert [str(action) for action in result.done][-1] == "create ConfigMap ml/a"


def test_a_deletion_that_is_refused_stays_in_the_inventory_and_is_told(world: World) -> None:
    world.manifests = [namespace(), config_map("a"), config_map("b")]
    world.sync()
    world.manifests.pop()
    world.sandbox.server.faults.fail("DELETE", "/api/v1/namespaces/ml/configmaps/b", status=403, times=1)

    _, result = world.sync()
    assert len(result.failures) == 1
    assert config_map("b").key in load(world.server, fleet="test").records

    _, result = world.sync()
    assert [str(action) for action in result.done] == ["delete ConfigMap ml/b"]


def test_forbidden_is_an_error_of_its_own(world: World) -> None:
    world.sandbox.server.faults.fail("GET", "/api/v1/namespaces/gitops-vg-system/configmaps", status=403, times=5)

    with pytest.raises(Forbidden):
        world.sync()
