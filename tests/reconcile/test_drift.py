"""Drift has a path, both values and an author; what Karmada writes is none."""

from __future__ import annotations

import pytest
from reconcile_world import World, config_map, job, namespace, policy, queue

from gitops_vg.objects import Manifest
from gitops_vg.placement.plan import LockEntry
from gitops_vg.reconcile import diff


@pytest.fixture
def settled(world: World) -> World:
    world.manifests = [namespace(), config_map("a", k="1"), queue("q"), policy("train"), job("train")]
    world.lock = {"ml/train": LockEntry("one", {"member1": 1})}
    world.sync()
    world.sync()
    return world


def test_what_karmada_writes_is_no_drift(settled: World) -> None:
    for _ in range(3):
        report = settled.drift()
        assert report.drifted == ()
        assert report.problems == ()


def test_an_edit_is_shown_with_path_values_and_author(settled: World) -> None:
    settled.write(config_map("a"), {"data": {"k": "2"}}, manager="kubectl-edit")

    (found,) = settled.drift().drifted

    (change,) = found.changes
    assert (change.path, change.live, change.wanted, change.manager) == (".data.k", "2", "1", "kubectl-edit")


def test_a_missing_and_a_left_object_are_drift(settled: World) -> None:
    settled.remove(config_map("a"))
    settled.manifests = [manifest for manifest in settled.manifests if manifest.key.kind != "Queue"]

    found = {str(item.key): item.what for item in settled.drift().drifted}

    assert found == {"ConfigMap ml/a": "missing", "Queue.scheduling.volcano.sh q": "left behind"}


def test_a_field_of_somebody_else_beside_ours_is_none(settled: World) -> None:
    settled.write(config_map("a"), {"data": {"theirs": "x"}, "metadata": {"annotations": {"note": "mine"}}})

    assert settled.drift().drifted == ()


def test_a_binding_that_is_not_as_planned_is_placement_drift(settled: World) -> None:
    settled.lock = {"ml/train": LockEntry("one", {"elsewhere": 1})}

    (state,) = settled.drift().placement

    assert dict(state.wanted) == {"elsewhere": 0}
    assert dict(state.found or {}) == {"member1": 0}


def test_a_secret_is_compared_and_never_shown() -> None:
    live = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {"password": "aHVudGVyMg=="}}
    wanted = {**live, "data": {"password": "b3RoZXI="}}

    (change,) = diff.changes(live, wanted)

    assert change.path == ".data.password"
    assert "aHVudGVyMg" not in str(change)
    assert "b3RoZXI" not in str(change)
    assert change.live != change.wanted


@pytest.mark.parametrize(
    ("live", "wanted", "same"),
    [("1000m", "1", True), ("1Gi", "1024Mi", True), ("1", "2", False), ("100m", "0.1", True)],
)
def test_quantities_are_compared_by_value(live: str, wanted: str, same: bool) -> None:
    def body(value: str) -> dict[str, object]:
        return {"kind": "Queue", "metadata": {"name": "q"}, "spec": {"capability": {"cpu": value}}}

    assert (diff.changes(body(live), body(wanted)) == ()) is same


def test_every_leaf_that_is_flipped_is_found(settled: World) -> None:
    """Drift without a path, or a path that is missed, are the two ways to lose trust."""
    manifest = next(item for item in settled.manifests if item.key.kind == "Job")
    for path in leaves(manifest.body.get("spec"), ()):
        edited = flipped(manifest.body, ("spec", *path))
        assert diff.changes(manifest.body, edited), path


def leaves(value: object, path: tuple[object, ...]) -> list[tuple[object, ...]]:
    if isinstance(value, dict):
        return [leaf for key, child in value.items() for leaf in leaves(child, (*path, key))]
    if isinstance(value, list):
        return [leaf for index, child in enumerate(value) for leaf in leaves(child, (*path, index))]
    return [path]


def flipped(body: object, path: tuple[object, ...]) -> object:
    if not path:
        return "flipped"
    head, *rest = path
    if isinstance(body, dict):
        return {**body, head: flipped(body[head], tuple(rest))}
    assert isinstance(body, list)
    return [flipped(item, tuple(rest)) if index == head else item for index, item in enumerate(body)]


def test_the_manifest_of_a_secret_is_not_in_its_representation() -> None:
    secret = Manifest({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {"p": "aHVudGVyMg=="}})

    assert str(secret.key) == "Secret s"
