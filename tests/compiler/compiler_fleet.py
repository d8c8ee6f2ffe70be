"""Intents by hand for the compiler's tests, and what it makes of them."""

from __future__ import annotations

from typing import Any

import yaml

from gitops_vg.compiler import compile_manifests
from gitops_vg.intents import Intents
from gitops_vg.intents.models import KINDS, Cluster, Fleet, PlacementPolicy, PriorityClass, Queue, Workload
from gitops_vg.objects import Manifest
from gitops_vg.placement.plan import LockEntry

API = "gitops-vg.io/v1alpha1"
CLUSTERS = "\n---\n".join(f"kind: Cluster\nmetadata: {{name: {name}}}" for name in ("east", "north", "south"))
HEADER = "kind: Fleet\nmetadata: {name: test}"


def workload(spec: str, *, name: str = "train", namespace: str = "ml", more: str = "") -> str:
    """The document of a workload; `spec` is YAML, `more` belongs into its metadata."""
    lines = "".join(f"  {line}\n" for line in spec.strip().splitlines())
    return f"kind: Workload\nmetadata: {{name: {name}, namespace: {namespace}{more}}}\nspec:\n{lines}"


def intents(*documents: str, fleet: str = HEADER, clusters: str = CLUSTERS) -> Intents:
    """The intents of some YAML documents, without apiVersion, beside a Fleet and three clusters."""
    found: list[Any] = []
    for data in yaml.safe_load_all("\n---\n".join([fleet, clusters, *documents])):
        if data is None:
            continue
        intent = KINDS[data["kind"]].model_validate({"apiVersion": API, **data})
        if isinstance(intent, Workload) and intent.spec.manifests is not None:
            intent = intent.with_raw(intent.spec.manifests.inline)
        found.append(intent)
    found.sort(key=lambda one: one.key if isinstance(one, Workload) else one.name)

    def of(kind: type[Any]) -> tuple[Any, ...]:
        return tuple(one for one in found if isinstance(one, kind))

    return Intents(
        fleet=of(Fleet)[0], clusters=of(Cluster), queues=of(Queue), policies=of(PlacementPolicy),
        priority_classes=of(PriorityClass), workloads=of(Workload),
    )  # fmt: skip


def lock_of(found: Intents, **counts: int) -> dict[str, LockEntry]:
    """Every workload placed with the same counts, one cluster for those that run in one."""
    assignments = counts or {"east": 1}
    return {one.key: LockEntry(one.mode, assignments, "fits") for one in found.workloads}


def compiled(found: Intents, **counts: int) -> dict[str, Manifest]:
    """The manifests by their key as people read it."""
    return {str(manifest.key): manifest for manifest in compile_manifests(found, lock_of(found, **counts))}


def spec_of(found: Intents, key: str, **counts: int) -> dict[str, Any]:
    return dict(compiled(found, **counts)[key].body["spec"])
