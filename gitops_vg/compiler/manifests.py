"""All manifests of a fleet from its intents and its placements: pure, the same input gives the same bytes."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gitops_vg.compiler.interpreter import interpreter_customizations
from gitops_vg.compiler.job import cron_job, job
from gitops_vg.compiler.labels import is_protected
from gitops_vg.compiler.prerequisites import cluster_labels, namespaces, priority_class, queue
from gitops_vg.compiler.propagation import cluster_propagation_policy, propagation_policy
from gitops_vg.compiler.raw import raw_manifests
from gitops_vg.compiler.service import deployment, service
from gitops_vg.errors import InputError
from gitops_vg.intents.fleet import Intents
from gitops_vg.intents.models import Fleet, Toleration, Workload
from gitops_vg.objects import Manifest
from gitops_vg.placement.plan import LockEntry, PlacementLock

_POLICY_KIND = "ClusterPropagationPolicy"
_NAME = re.compile(r"(?!\.{1,2}$)[A-Za-z0-9_.:@~-]*")
"""One folder or file in the rendered tree, whatever the kind allows (RBAC has colons): never a way out of it."""


def compile_manifests(intents: Intents, lock: PlacementLock) -> tuple[Manifest, ...]:
    """Everything that belongs into the control plane, sorted by identity.

    A workload without a place is not rendered: a policy that names no cluster would mean all of them.
    Raises InputError for two sources of one object, and for a name that is none (rules have said so before).
    """
    found = tuple(sorted(_manifests(intents, lock), key=lambda manifest: manifest.key))
    for before, manifest in zip((None, *found), found, strict=False):
        key = manifest.key
        if before is not None and before.key == key:
            raise InputError(
                f"{key} comes from {before.origin} and from {manifest.origin}", findings=(), hint="keep one"
            )
        if not all(_NAME.fullmatch(part) for part in (f"{key.group}.{key.kind}", key.namespace, key.name)):
            raise InputError(
                f"{key} of {manifest.origin} has a name that no server takes", findings=(), hint="rename it"
            )
    return found


def _manifests(intents: Intents, lock: PlacementLock) -> Iterator[Manifest]:
    yield from interpreter_customizations()
    yield from (cluster_labels(cluster) for cluster in intents.clusters)
    yield from _everywhere(intents)
    placed = [
        manifest
        for workload in intents.workloads
        if (entry := lock.get(workload.key)) is not None and entry.assignments
        for manifest in workload_manifests(workload, entry, intents=intents)
    ]
    yield from namespaces(intents, holding=placed)
    yield from placed


def _everywhere(intents: Intents) -> Iterator[Manifest]:
    """Priority classes and queues, each with the policy that brings it to every declared cluster.

    One policy an object: a new queue then changes no other queue's policy, and a retired one takes its own
    along. The policy of a protected object is protected with it: without it the object is an orphan.
    """
    clusters = [cluster.name for cluster in intents.clusters]
    objects = [priority_class(intent, intents=intents) for intent in intents.priority_classes]
    objects += [queue(intent, intents=intents) for intent in intents.queues]
    for manifest in objects:
        yield manifest
        if clusters:
            yield cluster_propagation_policy(
                f"{manifest.key.kind.lower()}-{manifest.key.name}",
                objects=[manifest],
                clusters=clusters,
                protect=manifest.protected and is_protected(_POLICY_KIND, wish=None, fleet=intents.fleet),
                origin=manifest.origin,
            )


def workload_manifests(workload: Workload, entry: LockEntry, *, intents: Intents) -> tuple[Manifest, ...]:
    """The objects of one placed workload and the policies that place them."""
    objects = tuple(_objects(workload, intents=intents))
    tolerate = [
        *workload.spec.placement.tolerate,
        *(toleration for policy in intents.policies_of(workload) for toleration in policy.spec.tolerate),
    ]
    return (
        *objects,
        *_policies(workload, objects, entry, tolerate=tuple(dict.fromkeys(tolerate)), fleet=intents.fleet),
    )


def _policies(
    workload: Workload,
    objects: tuple[Manifest, ...],
    entry: LockEntry,
    *,
    tolerate: tuple[Toleration, ...],
    fleet: Fleet,
) -> Iterator[Manifest]:
    """One policy for the objects of the namespace, and one for those of the cluster when there are any."""
    origin = f"Workload {workload.key}"
    inside = [manifest for manifest in objects if manifest.key.namespace]
    outside = [manifest for manifest in objects if not manifest.key.namespace]
    if inside:
        yield propagation_policy(
            workload.name,
            namespace=workload.namespace,
            objects=inside,
            entry=entry,
            tolerate=tolerate,
            protect=is_protected("PropagationPolicy", wish=workload.spec.protect, fleet=fleet),
            origin=origin,
        )
    if outside:
        protected = any(manifest.protected for manifest in outside)
        yield cluster_propagation_policy(
            f"workload-{workload.namespace}.{workload.name}",
            objects=outside,
            clusters=entry.assignments,
            tolerate=tolerate,
            protect=protected and is_protected(_POLICY_KIND, wish=workload.spec.protect, fleet=fleet),
            origin=origin,
        )


def _objects(workload: Workload, *, intents: Intents) -> Iterator[Manifest]:
    def protect(kind: str) -> bool:
        return is_protected(kind, wish=workload.spec.protect, fleet=intents.fleet)

    match workload.form:
        case "job":
            yield job(workload, protect=protect("Job"))
        case "periodic":
            yield cron_job(workload, protect=protect("CronJob"))
        case "service":
            yield deployment(workload, protect=protect("Deployment"))
            front = service(workload, protect=protect("Service"))
            if front is not None:
                yield front
        case "manifests":
            yield from raw_manifests(workload, fleet=intents.fleet)
