"""All manifests of a fleet from its intents and its placements: pure, the same input gives the same bytes."""

from __future__ import annotations

from collections.abc import Iterator

from gitops_vg.compiler.interpreter import interpreter_customizations
from gitops_vg.compiler.job import cron_job, job
from gitops_vg.compiler.labels import is_protected
from gitops_vg.compiler.prerequisites import cluster_labels, namespaces, priority_class, queue
from gitops_vg.compiler.propagation import cluster_propagation_policy, propagation_policy
from gitops_vg.compiler.raw import raw_manifests
from gitops_vg.compiler.service import deployment, service
from gitops_vg.intents.fleet import Intents
from gitops_vg.intents.models import Workload
from gitops_vg.objects import Manifest
from gitops_vg.placement.plan import LockEntry, PlacementLock


def compile_manifests(intents: Intents, lock: PlacementLock) -> tuple[Manifest, ...]:
    """Everything that belongs into the control plane, sorted by identity.

    A workload without a place is not rendered: a policy that names no cluster would mean all of them.
    """
    return tuple(sorted(_manifests(intents, lock), key=lambda manifest: manifest.key))


def _manifests(intents: Intents, lock: PlacementLock) -> Iterator[Manifest]:
    clusters = [cluster.name for cluster in intents.clusters]
    yield from interpreter_customizations()
    yield from (cluster_labels(cluster) for cluster in intents.clusters)
    yield from namespaces(intents)
    everywhere = [priority_class(intent, intents=intents) for intent in intents.priority_classes]
    everywhere += [queue(intent, intents=intents) for intent in intents.queues]
    for manifest in everywhere:
        yield manifest
        if clusters:
            # The policy of a protected object is protected with it: without its policy a queue is an orphan.
            protect = manifest.protected and is_protected("ClusterPropagationPolicy", wish=None, fleet=intents.fleet)
            yield cluster_propagation_policy(manifest, clusters=clusters, protect=protect)
    for workload in intents.workloads:
        entry = lock.get(workload.key)
        if entry is not None and entry.assignments:
            yield from workload_manifests(workload, entry, intents=intents)


def workload_manifests(workload: Workload, entry: LockEntry, *, intents: Intents) -> tuple[Manifest, ...]:
    """The objects of one placed workload and the policy that places them."""
    objects = tuple(_objects(workload, intents=intents))
    tolerate = [
        *workload.spec.placement.tolerate,
        *(toleration for policy in intents.policies_of(workload) for toleration in policy.spec.tolerate),
    ]
    policy = propagation_policy(
        workload.name,
        namespace=workload.namespace,
        objects=objects,
        entry=entry,
        tolerate=tuple(dict.fromkeys(tolerate)),
        protect=is_protected("PropagationPolicy", wish=workload.spec.protect, fleet=intents.fleet),
        origin=f"Workload {workload.key}",
    )
    return (*objects, policy)


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
            yield from raw_manifests(workload, protect=bool(workload.spec.protect))
