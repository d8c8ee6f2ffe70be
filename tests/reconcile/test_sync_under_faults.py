"""Whatever breaks on the way: nothing of others is touched, nothing of ours is forgotten, and calm brings the end."""

from __future__ import annotations

import random
import time
from contextlib import suppress

import pytest
from reconcile_world import World, config_map, job, namespace, policy, queue

from gitops_vg.errors import GitopsVgError
from gitops_vg.gitstore import TreeSettings
from gitops_vg.objects import GroupKind, Manifest
from gitops_vg.reconcile import SyncPlan, load

CONFIG_MAPS = GroupKind("", "ConfigMap")
PLACES = (
    "/api/v1/namespaces/ml/configmaps",
    "/api/v1/configmaps",
    "/api/v1/namespaces",
    "/apis/batch.volcano.sh",
    "/apis/policy.karmada.io",
    "/apis/scheduling.volcano.sh",
    "/",
)


def storm(world: World, chance: random.Random) -> None:
    """A few faults of every sort, each for a while."""
    faults = world.sandbox.server.faults
    for _ in range(chance.randint(1, 5)):
        method = chance.choice(("GET", "PATCH", "DELETE", "PUT", "*"))
        place, times = chance.choice(PLACES), chance.randint(1, 6)
        if chance.random() < 0.4:
            faults.drop(method, place, times=times, after=chance.random() < 0.5)
        else:
            faults.fail(method, place, status=chance.choice((403, 404, 410, 422, 429, 500, 503)), times=times)


def wish(chance: random.Random) -> list[Manifest]:
    """A tree as it might be after a commit."""
    manifests = [namespace()]
    manifests += [config_map(f"c{number}", k=str(chance.randint(0, 2))) for number in range(6) if chance.random() < 0.7]
    manifests += [queue(name, weight=chance.randint(1, 3)) for name in ("q", "r") if chance.random() < 0.7]
    if chance.random() < 0.7:
        manifests += [policy("train"), job("train", replicas=chance.randint(1, 2))]
    return manifests


def calm(world: World) -> SyncPlan:
    """Syncs without faults, until nothing is left to do."""
    for _ in range(50):
        plan, _ = world.sync()
        if plan.held:
            # A job that has just begun is running.
            world.approve(plan.digest)
        elif plan.is_empty:
            break
        # Karmada's finalizer keeps a deleted policy for a moment.
        time.sleep(0.05)
    return world.plan()


@pytest.mark.parametrize("seed", range(6))
def test_storms_end_well(world: World, seed: int) -> None:
    chance = random.Random(seed)
    world.settings = TreeSettings("test", max_count=100, max_percent=100)
    theirs = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "theirs", "namespace": "ml"}}
    world.manifests = [namespace()]
    world.sync()
    world.server.create(dict(theirs))
    made: set[str] = set()

    for _ in range(4):
        world.manifests = wish(chance)
        storm(world, chance)
        with suppress(GitopsVgError):
            world.sync()
        world.sandbox.server.faults.clear()
        made |= {manifest.key.name for manifest in world.manifests if manifest.key.kind == "ConfigMap"}
        here = {body["metadata"]["name"] for body in world.server.list(CONFIG_MAPS, namespace="ml")}
        known = {key.name for key in load(world.server, fleet="test").records}
        assert here & made <= known
        assert "theirs" in here

    plan = calm(world)
    assert plan.actions == plan.held == plan.problems == ()
    here = {body["metadata"]["name"] for body in world.server.list(CONFIG_MAPS, namespace="ml")}
    wished = {manifest.key.name for manifest in world.manifests if manifest.key.kind == "ConfigMap"}
    assert here & made == wished
