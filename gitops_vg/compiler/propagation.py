"""Policies with which Karmada reproduces a placement exactly, with all its defaults written out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from gitops_vg.compiler.labels import metadata
from gitops_vg.intents.models import Toleration
from gitops_vg.objects import Manifest
from gitops_vg.placement.plan import LockEntry

_API = "policy.karmada.io/v1alpha1"
# What Karmada's webhook and CRD would write: written here, a dry run of the same policy shows no difference.
_DEFAULTS = {"conflictResolution": "Abort", "preemption": "Never", "priority": 0, "schedulerName": "default-scheduler"}


def propagation_policy(
    name: str,
    *,
    namespace: str,
    objects: Iterable[Manifest],
    entry: LockEntry,
    tolerate: Sequence[Toleration],
    protect: bool,
    origin: str,
) -> Manifest:
    """The policy of one workload.

    A gang gets one cluster name and no replicaScheduling: Karmada copies a Volcano Job whole to every
    cluster it selects, whatever the division says. A divided service gets one static weight a cluster,
    equal to its replicas: then every seat of Karmada's division is decided without a tie, for any UID
    and on every release (the smallest weight is 1, also for a service scaled to nothing). An empty list of names would mean every cluster, so there is always one.
    """
    assert entry.assignments, f"{name} has no cluster"
    return Manifest(
        {
            "apiVersion": _API,
            "kind": "PropagationPolicy",
            "metadata": metadata(name, namespace=namespace, protect=protect),
            "spec": {
                **_DEFAULTS,
                "resourceSelectors": [_selector(body, namespace=namespace) for body in objects],
                "placement": _placement(entry, tolerate=tolerate),
            },
        },
        origin=origin,
    )


def cluster_propagation_policy(
    name: str,
    *,
    objects: Iterable[Manifest],
    clusters: Iterable[str],
    protect: bool,
    origin: str,
    tolerate: Sequence[Toleration] = (),
) -> Manifest:
    """The policy that brings objects without a namespace to clusters, each of them whole."""
    names = sorted(clusters)
    assert names, f"{name} has no cluster"
    return Manifest(
        {
            "apiVersion": _API,
            "kind": "ClusterPropagationPolicy",
            "metadata": metadata(name, protect=protect),
            "spec": {
                **_DEFAULTS,
                "resourceSelectors": [_selector(body) for body in objects],
                "placement": {"clusterAffinity": {"clusterNames": names}, **_tolerations(tolerate)},
            },
        },
        origin=origin,
    )


def _selector(target: Manifest, *, namespace: str = "") -> dict[str, Any]:
    key = target.key
    selector = {"apiVersion": target.api_version, "kind": key.kind, "name": key.name}
    return {**selector, "namespace": namespace} if namespace else selector


def _placement(entry: LockEntry, *, tolerate: Sequence[Toleration]) -> dict[str, Any]:
    counts = {name: count for name, count in sorted(entry.assignments.items()) if count or entry.mode != "divide"}
    if not counts:
        # Scaled to nothing: it stays where it is, and the least weight that Karmada takes is 1.
        counts = dict.fromkeys(sorted(entry.assignments), 1)
    placement: dict[str, Any] = {"clusterAffinity": {"clusterNames": list(counts)}}
    if entry.mode == "divide":
        weights = [{"targetCluster": {"clusterNames": [name]}, "weight": count} for name, count in counts.items()]
        placement["replicaScheduling"] = {
            "replicaSchedulingType": "Divided",
            "replicaDivisionPreference": "Weighted",
            "weightPreference": {"staticWeightList": weights},
        }
    return {**placement, **_tolerations(tolerate)}


def _tolerations(tolerate: Sequence[Toleration]) -> dict[str, Any]:
    found = [_toleration(toleration) for toleration in tolerate]
    return {"clusterTolerations": found} if found else {}


def _toleration(toleration: Toleration) -> dict[str, str]:
    result = {"key": toleration.key, "operator": "Exists" if toleration.value is None else "Equal"}
    if toleration.value is not None:
        result["value"] = toleration.value
    if toleration.effect is not None:
        result["effect"] = toleration.effect
    return result
