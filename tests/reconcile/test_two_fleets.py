"""Two fleets in one control plane: neither takes, changes or deletes what the other has."""

from __future__ import annotations

from dataclasses import replace

import pytest
from reconcile_world import TODAY, World, config_map, namespace, queue

from gitops_vg.errors import ClusterError
from gitops_vg.gitstore import TreeSettings
from gitops_vg.objects import Manifest
from gitops_vg.reconcile import SyncPlan, SyncResult, execute, load, make_plan


def sync(world: World, fleet: str, *manifests: Manifest) -> tuple[SyncPlan, SyncResult]:
    ordered = tuple(sorted(manifests, key=lambda manifest: manifest.key))
    tree = replace(world.tree, manifests=ordered, settings=TreeSettings(fleet))
    inventory = load(world.server, fleet=fleet)
    plan = make_plan(world.server, tree, inventory, today=TODAY)
    return plan, execute(world.server, plan, inventory, sleep=lambda _: None)


def test_what_another_fleet_owns_is_not_taken_over(world: World) -> None:
    sync(world, "first", namespace(), config_map("a", k="1"))

    plan, result = sync(world, "second", config_map("a", k="2"), config_map("b"))

    (problem,) = plan.problems
    assert problem.message == "ConfigMap ml/a belongs to fleet first"
    assert [str(action) for action in result.done] == ["create ConfigMap ml/b"]
    live = world.live(config_map("a"))
    assert live is not None
    assert live["data"] == {"k": "1"}


def test_what_all_fleets_render_alike_is_no_problem_and_stays_with_its_fleet(world: World) -> None:
    sync(world, "first", namespace(), config_map("a", k="1"))

    plan, _ = sync(world, "second", namespace(), config_map("b"))
    assert plan.problems == ()

    sync(world, "second", queue("q"))
    assert world.live(namespace()) is not None
    assert world.live(config_map("b")) is None


def test_an_object_that_moves_to_another_fleet_is_handed_over_and_never_deleted(world: World) -> None:
    sync(world, "first", namespace(), config_map("a", k="1"), queue("q"))
    before = world.live(config_map("a"))
    sync(world, "second", config_map("a", k="2"))

    plan, result = sync(world, "first", namespace(), queue("q"))
    assert config_map("a").key in plan.gone
    assert plan.notices == ("ConfigMap ml/a is left to fleet second, which has it or wishes it: not deleted",)
    assert result.done == ()
    _, result = sync(world, "second", config_map("a", k="2"))

    assert [str(action) for action in result.done] == ["update ConfigMap ml/a"]
    after = world.live(config_map("a"))
    assert before is not None
    assert after is not None
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
    assert after["data"] == {"k": "2"}


def test_a_wish_that_is_given_up_leaves_the_object_to_its_fleet(world: World) -> None:
    sync(world, "first", namespace(), config_map("a", k="1"))
    sync(world, "second", config_map("a", k="2"), config_map("b"))

    sync(world, "second", config_map("b"))

    assert world.live(config_map("a")) is not None
    assert config_map("a").key not in load(world.server, fleet="second").records
    plan, _ = sync(world, "first", namespace(), config_map("a", k="1"))
    assert plan.is_empty


def test_a_wish_of_another_fleet_does_not_stop_ours(world: World) -> None:
    sync(world, "first", namespace(), config_map("a", k="1"))
    sync(world, "second", config_map("a", k="2"))

    plan, result = sync(world, "first", namespace(), config_map("a", k="3"))

    assert plan.problems == ()
    assert [str(action) for action in result.done] == ["update ConfigMap ml/a"]


def test_a_namespace_with_objects_of_another_fleet_stays(world: World) -> None:
    sync(world, "first", namespace(), config_map("a"), queue("q"))
    sync(world, "second", config_map("b"))

    plan, _ = sync(world, "first", queue("q"))

    assert "Namespace ml holds ConfigMap ml/b, which is not ours" in plan.reasons


def test_an_inventory_of_another_fleet_that_cannot_be_read_stops_us(world: World) -> None:
    sync(world, "first", namespace(), config_map("a"))
    broken = {"apiVersion": "v1", "kind": "ConfigMap",
              "metadata": {"name": "inventory-first", "namespace": "gitops-vg-system"}, "binaryData": {"records": "AAAA"}}  # fmt: skip
    world.server.apply(Manifest(broken))

    with pytest.raises(ClusterError, match="inventory-first cannot be read"):
        sync(world, "second", config_map("b"))
