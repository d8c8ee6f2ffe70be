"""Objects that workloads stand on: Namespace, PriorityClass, Queue, labels of clusters."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from gitops_vg.compiler.labels import intent_metadata, is_protected, metadata
from gitops_vg.intents.fleet import Intents
from gitops_vg.intents.models import Cluster, PriorityClass, Queue
from gitops_vg.intents.pods import resource_list
from gitops_vg.objects import Manifest

COLOCATION_LABEL = "volcano.sh/colocation-ready"
PACKING_LABEL = "gitops-vg.io/packing"
PROVIDER_LABEL = "gitops-vg.io/provider"
REGION_LABEL = "topology.kubernetes.io/region"
ZONE_LABEL = "topology.kubernetes.io/zone"

_PREEMPTION = {"lower": "PreemptLowerPriority", "never": "Never"}


def namespaces(intents: Intents, *, holding: Iterable[Manifest]) -> tuple[Manifest, ...]:
    """A Namespace for each namespace of workloads; Karmada itself brings it to every cluster.

    A protected object in an unprotected namespace would leave the namespace terminating for ever, so it
    covers its namespace; `holding` are the objects that will be in them.
    """
    everywhere = is_protected("Namespace", wish=None, fleet=intents.fleet)
    covered = {manifest.key.namespace for manifest in holding if manifest.protected}
    covered |= {workload.namespace for workload in intents.workloads if workload.spec.protect}
    names = {workload.namespace for workload in intents.workloads} - {"default"}
    return tuple(
        Manifest(
            {
                "apiVersion": "v1",
                "kind": "Namespace",
                "metadata": metadata(name, protect=everywhere or name in covered),
            },
            origin=f"Namespace {name}",
        )
        for name in sorted(names)
    )


def priority_class(intent: PriorityClass, *, intents: Intents) -> Manifest:
    """A PriorityClass: karmada-apiserver and every member need it, or nothing that names it is admitted."""
    spec = intent.spec
    protect = is_protected("PriorityClass", wish=None, fleet=intents.fleet)
    body: dict[str, Any] = {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": intent_metadata(intent.metadata, protect=protect),
        "value": spec.value,
        "globalDefault": spec.global_default,
        "preemptionPolicy": _PREEMPTION[spec.preemption],
    }
    if spec.description:
        body["description"] = spec.description
    return Manifest(body, origin=f"PriorityClass {intent.name}")


def queue(intent: Queue, *, intents: Intents) -> Manifest:
    """A Volcano Queue with everything that a member's webhook and controller would write.

    A queue without `parent` is fought over by Volcano's controller and Karmada without end; a guarantee
    needs a deserved of at least as much (validate_queue.go).
    """
    spec = intent.spec
    protect = is_protected("Queue", wish=spec.protect, fleet=intents.fleet)
    body: dict[str, Any] = {
        "weight": spec.weight,
        "reclaimable": spec.reclaimable,
        "parent": spec.parent,
        "dequeueStrategy": spec.dequeue_strategy,
    }
    if spec.priority:
        body["priority"] = spec.priority
    if spec.guarantee:
        body["guarantee"] = {"resource": resource_list(spec.guarantee)}
    if deserved := {**resource_list(spec.guarantee), **resource_list(spec.deserved)}:
        body["deserved"] = deserved
    if spec.capability:
        body["capability"] = resource_list(spec.capability)
    return Manifest(
        {
            "apiVersion": "scheduling.volcano.sh/v1beta1",
            "kind": "Queue",
            "metadata": intent_metadata(intent.metadata, protect=protect),
            "spec": body,
        },
        origin=f"Queue {intent.name}",
    )


def cluster_labels(intent: Cluster) -> Manifest:
    """What the intent says of a cluster, as labels of the Karmada Cluster; nothing else of it is ours."""
    spec = intent.spec
    labels = {
        **intent.metadata.labels,
        COLOCATION_LABEL: "true" if spec.colocation.ready else "false",
        PACKING_LABEL: spec.packing,
    }
    for label, value in ((REGION_LABEL, spec.region), (ZONE_LABEL, spec.zone), (PROVIDER_LABEL, spec.provider)):
        if value:
            labels[label] = value
    return Manifest(
        {
            "apiVersion": "cluster.karmada.io/v1alpha1",
            "kind": "Cluster",
            "metadata": metadata(intent.name, labels=labels),
        },
        origin=f"Cluster {intent.name}",
    )
