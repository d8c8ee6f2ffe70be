"""Interrupted, repeated, concurrent and fought syncs: what is ours stays known, and the end is the same."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from reconcile_world import TODAY, World, config_map, job, namespace, policy, queue

from gitops_vg.errors import GitopsVgError, Unavailable
from gitops_vg.objects import GroupKind, Manifest, ObjectKey
from gitops_vg.reconcile import Inventory, Record, execute, load, make_plan, save
from gitops_vg.reconcile.judging import read_world


class Killed(BaseException):
    """The process ends here."""


class Mortal:
    """An API server whose client dies at the k-th write."""

    def __init__(self, server: Any, *, writes: int) -> None:
        self._server = server
        self._left = writes
        self._lock = threading.Lock()

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._server, name)
        if name not in ("apply", "create", "replace", "delete", "json_patch"):
            return method

        def write(*arguments: Any, **options: Any) -> Any:
            if not options.get("dry_run"):
                with self._lock:
                    self._left -= 1
                if self._left < 0:
                    raise Killed
            return method(*arguments, **options)

        return write


@pytest.mark.parametrize("writes", range(9))
def test_a_sync_killed_at_any_write_converges_afterwards_and_loses_nothing(world: World, writes: int) -> None:
    world.manifests = [namespace(), queue("q"), config_map("old"), config_map("stays", k="1")]
    world.sync()
    world.manifests = [namespace(), queue("q", weight=2), config_map("stays", k="2"), config_map("new"), policy("train"),
                       job("train")]  # fmt: skip
    mortal = Mortal(world.server, writes=writes)

    try:
        inventory = load(mortal, fleet="test")
        execute(mortal, make_plan(mortal, world.tree, inventory, today=TODAY), inventory, sleep=lambda _: None)
    except Killed:
        pass
    ours = {body["metadata"]["name"] for body in world.server.list(GroupKind("", "ConfigMap"), namespace="ml")}
    known = {key.name for key in load(world.server, fleet="test").records}
    assert ours - {"kube-root-ca.crt"} <= known

    world.sync()
    plan = world.plan()
    assert plan.actions == plan.problems == plan.held == ()
    assert world.live(config_map("old")) is None
    assert set(load(world.server, fleet="test").records) == {manifest.key for manifest in world.manifests}


def test_of_two_syncs_that_start_together_one_goes_on(world: World) -> None:
    """Also when they touch nothing but objects that both know already."""
    world.manifests = [namespace(), config_map("a", k="1")]
    world.sync()
    world.manifests[-1] = config_map("a", k="2")
    inventory = load(world.server, fleet="test")
    plan = make_plan(world.server, world.tree, inventory, today=TODAY)
    execute(world.server, plan, inventory)

    with pytest.raises(GitopsVgError, match="another sync of this fleet is running"):
        execute(world.server, plan, inventory)


def test_an_object_that_we_failed_to_create_and_somebody_else_made_is_not_ours(world: World) -> None:
    world.manifests = [namespace(), config_map("a")]
    world.sandbox.server.faults.fail("PATCH", "/api/v1/namespaces/ml/configmaps/a", status=403, times=1)
    world.sync()
    # A copy with all of our labels, as `kubectl get -o yaml | kubectl create` makes them.
    body = dict(config_map("a").body)
    world.sandbox.call(
        lambda: world.sandbox.karmada.create(world.sandbox.karmada.kind("", "ConfigMap"), body, namespace="ml")
    )
    world.manifests.pop()

    world.sync()

    assert world.live(config_map("a")) is not None
    assert config_map("a").key not in load(world.server, fleet="test").records


def test_a_copy_of_our_object_with_our_labels_is_not_deleted(world: World) -> None:
    world.manifests = [namespace(), config_map("a")]
    world.sync()
    world.remove(config_map("a"))
    body = dict(config_map("a").body)
    world.sandbox.call(
        lambda: world.sandbox.karmada.create(world.sandbox.karmada.kind("", "ConfigMap"), body, namespace="ml")
    )
    world.manifests.pop()

    world.sync()

    assert world.live(config_map("a")) is not None


def test_two_writers_on_one_field_are_told_within_five_rounds(world: World) -> None:
    world.manifests = [namespace(), config_map("a", k="1"), config_map("b", k="1")]
    world.sync()
    notices: list[tuple[str, ...]] = []
    for number in range(5):
        world.write(config_map("a"), {"data": {"k": f"theirs-{number}"}}, manager="other-operator")
        plan, result = world.sync()
        notices.append(plan.notices)
        assert result.failures == ()

    assert notices[0] == ()
    (notice,) = notices[-1]
    assert "ConfigMap ml/a was repaired 4 times" in notice
    assert "other-operator has written .data.k again" in notice

    world.manifests[1] = config_map("a", k="2")
    world.sync()
    world.write(config_map("a"), {"data": {"k": "theirs"}}, manager="other-operator")
    assert world.sync()[0].notices == ()


def test_a_finished_job_that_git_changed_later_is_told_and_not_run(world: World) -> None:
    world.manifests = [namespace(), job("train")]
    world.sync()
    world.write(job("train"), {"status": {"state": {"phase": "Failed"}}}, subresource="status")
    world.sync()
    world.remove(job("train"))
    world.manifests[-1] = job("train", image="a:2")

    plan, result = world.sync()

    assert result.done == ()
    assert "give it a new name" in plan.notices[0]


def test_a_server_that_goes_away_while_planning_ends_the_plan_soon(world: World) -> None:
    world.manifests = [namespace(), *(config_map(f"c{number}", k="1") for number in range(60))]
    world.sync()
    world.manifests = [namespace(), *(config_map(f"c{number}", k="2") for number in range(60))]
    world.sandbox.server.faults.drop("PATCH", "/", times=100_000)
    before = world.sandbox.server.requests

    with pytest.raises(Unavailable):
        world.plan()

    # 61 objects with 4 tries each would be 244.
    assert world.sandbox.server.requests - before < 130


def test_a_server_that_goes_away_while_applying_leaves_a_full_inventory(world: World) -> None:
    world.manifests = [namespace(), *(config_map(f"c{number}", k="1") for number in range(60))]
    plan, inventory = world.plan(), load(world.server, fleet="test")
    world.sandbox.server.faults.drop("PATCH", "/api/v1/namespaces/ml/", times=100_000)

    result = execute(world.server, plan, inventory, sleep=lambda _: None)

    assert len(result.failures) == 60
    assert len(load(world.server, fleet="test").records) == 61
    world.sandbox.server.faults.clear()
    assert len(world.sync()[1].done) == 60


def test_a_field_that_git_dropped_and_another_manager_keeps_is_drift(world: World) -> None:
    world.manifests = [namespace(), config_map("a", k="1", old="x")]
    world.sync()
    both = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "ml"}, "data": {"old": "x"}}
    kind = world.sandbox.karmada.kind("", "ConfigMap")
    world.sandbox.call(lambda: world.sandbox.karmada.apply(kind, "ml", "a", both, manager="helm"))
    world.manifests[-1] = config_map("a", k="1")

    for _ in range(2):
        (found,) = world.drift().drifted
        assert found.what == "left fields"
        (change,) = found.changes
        assert (change.path, change.live, change.wanted, change.manager) == (".data.old", "x", None, "helm")


def test_ten_thousand_objects_fit_the_inventory(world: World) -> None:
    import os
    import uuid

    records = {
        ObjectKey("batch.volcano.sh", "Job", f"team-{number % 50}", f"train-model-{number}"): Record(
            str(uuid.uuid4()), os.urandom(16).hex(), os.urandom(16).hex()
        )
        for number in range(10_000)
    }

    save(world.server, Inventory("big"), records)

    assert load(world.server, fleet="big").records == records


def test_a_kind_is_listed_in_the_version_that_git_has() -> None:
    body = {"apiVersion": "autoscaling/v1", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "h"}}
    asked: list[str] = []

    class Server:
        def list(self, kind: GroupKind, *, api_version: str = "", **_: Any) -> list[dict[str, Any]]:
            asked.append(f"{kind.kind} {api_version}")
            return []

    manifest = Manifest(body)
    read_world(Server(), {manifest.key: manifest}, [ObjectKey("", "ConfigMap", "ml", "left")])  # type: ignore[arg-type]

    assert sorted(asked) == ["ConfigMap ", "HorizontalPodAutoscaler autoscaling/v1"]
