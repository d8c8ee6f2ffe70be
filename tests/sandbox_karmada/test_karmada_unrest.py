"""Whatever happens and in whatever order: in the end members hold what the bindings say, and nothing else."""

from __future__ import annotations

import random
from typing import Any

import pytest
from karmada_objects import configmap, deployment, job, policy

from gitops_vg.sandbox.status import StatusError

KINDS = {
    "Job": ("batch.volcano.sh", "batch.volcano.sh/v1alpha1"),
    "ConfigMap": ("", "v1"),
    "Deployment": ("apps", "apps/v1"),
}
MEMBERS = ("north", "south")


def _placement(chance: random.Random) -> dict[str, Any]:
    divided = {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Aggregated"}
    return chance.choice(
        [
            {"clusterAffinity": {"clusterNames": chance.sample(["north", "south", "typo"], 2)}},
            {"spreadConstraints": [{"spreadByField": "cluster", "minGroups": 1, "maxGroups": 1}]},
            {"replicaScheduling": divided},
            {"clusterAffinities": [{"affinityName": "a", "clusterNames": ["typo"]}, {"affinityName": "b"}]},
        ]
    )


def _template(chance: random.Random, kind: str, name: str) -> dict[str, Any]:
    if kind == "Job":
        return job(name, replicas=chance.randint(1, 3))
    if kind == "ConfigMap":
        return configmap(name, value=str(chance.random()))
    return deployment(name, replicas=chance.randint(0, 5))


def _something_happens(world: Any, chance: random.Random) -> None:
    name, kind = chance.choice(["a", "b", "c"]), chance.choice(list(KINDS))
    group, api_version = KINDS[kind]
    owner = {"name": f"{name}-{kind.lower()}", "namespace": "ml"}
    match chance.randrange(10):
        case 0 | 1 | 2 | 3:
            world.apply(_template(chance, kind, name))
        case 4 | 5 | 6:
            world.apply({**policy(name, kind, api_version, _placement(chance)), "metadata": owner})
        case 7:
            world.delete(group, kind, "ml", name)
        case 8:
            world.delete("policy.karmada.io", "PropagationPolicy", "ml", owner["name"])
        case _:
            member = world.sandbox.member(chance.choice(MEMBERS))
            chance.choice([member.down, member.up])()


def _settled(world: Any) -> bool:
    bound: dict[tuple[str, str], set[str]] = {}
    for binding in world.list("work.karmada.io", "ResourceBinding", namespace="ml"):
        resource = binding["spec"]["resource"]
        names = {target["name"] for target in binding["spec"].get("clusters") or []}
        applied = {
            item["clusterName"] for item in binding["status"].get("aggregatedStatus") or [] if item.get("applied")
        }
        if applied != names or binding["metadata"].get("deletionTimestamp"):
            return False
        bound[resource["kind"], resource["name"]] = names
    held: dict[tuple[str, str], set[str]] = {key: set() for key in bound}
    for kind, (group, _) in KINDS.items():
        for member in MEMBERS:
            for body in world.list(group, kind, namespace="ml", server=member):
                held.setdefault((kind, body["metadata"]["name"]), set()).add(member)
    return held == bound


@pytest.mark.parametrize("seed", [7, 11])
def test_members_end_up_as_the_bindings_say(world, seed, caplog):
    chance = random.Random(seed)

    refusals = []
    for _ in range(120):
        try:
            _something_happens(world, chance)
        except StatusError as error:
            refusals.append(error.code)
    for member in MEMBERS:
        world.sandbox.member(member).up()

    assert world.eventually(lambda: _settled(world))
    assert set(refusals) <= {404, 409}
    assert [record.message for record in caplog.records if "failed on" in record.message] == []
