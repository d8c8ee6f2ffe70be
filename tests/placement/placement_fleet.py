"""Small fleets for placement: builders with the defaults of a plain, ready cluster."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from gitops_vg.capacity import ClusterCapacity, Node, PodGroupUse, Snapshot, Taint
from gitops_vg.intents.fleet import Intents
from gitops_vg.intents.models import KINDS, Cluster, Fleet, Intent, Workload
from gitops_vg.placement import Plan, lock_of, plan
from gitops_vg.placement.plan import PlacementLock
from gitops_vg.quantities import amounts

NOW = datetime(2026, 12, 1, 12, 0, tzinfo=UTC)
API = "gitops-vg.io/v1alpha1"
GPU = "nvidia.com/gpu"


def intent(kind: str, name: str, *, namespace: str | None = None, labels: Mapping[str, str] | None = None,
           spec: Mapping[str, Any] | None = None) -> Any:  # fmt: skip
    metadata = {"name": name, "namespace": namespace, "labels": labels or {}}
    return KINDS[kind].model_validate({"apiVersion": API, "kind": kind, "metadata": metadata, "spec": spec or {}})


def cluster(name: str, **spec: Any) -> Cluster:
    return intent("Cluster", name, labels=spec.pop("labels", None), spec=spec)


def ready_cluster(name: str, **spec: Any) -> Cluster:
    """Colocation-ready, with oversold CPU on and fully trusted."""
    return cluster(name, colocation={"ready": True, "oversell": {"cpu": True, "safety": "100%"}}, **spec)


def job(name: str, *tasks: Mapping[str, Any], placement: Mapping[str, Any] | None = None, **spec: Any) -> Workload:
    whole = {key: spec.pop(key) for key in ("queue", "priorityClass", "qos", "schedule") if key in spec}
    tasks = tasks or ({"name": "worker", "requests": {"cpu": 1}},)
    return intent("Workload", name, namespace="ml",
                  spec={**whole, "job": {"tasks": list(tasks), **spec}, "placement": placement or {}})  # fmt: skip


def task(name: str = "worker", *, replicas: int = 1, **more: Any) -> dict[str, Any]:
    requests = {key.replace("_", "-"): value for key, value in more.pop("requests", {}).items()}
    return {"name": name, "replicas": replicas, "requests": requests or {"cpu": 1}, **more}


def service(name: str, *, replicas: int = 1, cpu: Any = 1, placement: Mapping[str, Any] | None = None,
            **spec: Any) -> Workload:  # fmt: skip
    body = {"replicas": replicas, "requests": {"cpu": cpu}, **spec.pop("service", {})}
    return intent("Workload", name, namespace="web",
                  spec={"service": body, "placement": placement or {}, **spec})  # fmt: skip


def manifests(name: str, *, kinds: Iterable[tuple[str, str]] = (("v1", "ConfigMap"),),
              placement: Mapping[str, Any] | None = None) -> Workload:  # fmt: skip
    objects = tuple({"apiVersion": version, "kind": kind, "metadata": {"name": name}} for version, kind in kinds)
    workload = intent("Workload", name, namespace="web",
                      spec={"manifests": {"inline": list(objects)}, "placement": placement or {}})  # fmt: skip
    return workload.with_raw(objects)


def intents_of(*parts: Intent) -> Intents:
    def of(kind: str) -> tuple[Any, ...]:
        return tuple(part for part in parts if part.kind_name == kind)

    return Intents(
        fleet=Fleet.model_validate({"apiVersion": API, "kind": "Fleet", "metadata": {"name": "test"}}),
        clusters=of("Cluster"),
        queues=of("Queue"),
        policies=of("PlacementPolicy"),
        priority_classes=of("PriorityClass"),
        workloads=of("Workload"),
    )


def node(name: str, *, cpu: Any = 32, memory: str = "128Gi", pods: int = 110, free: Mapping[str, Any] | None = None,
         labels: Mapping[str, str] | None = None, taints: tuple[Taint, ...] = (), schedulable: bool = True,
         **more: Any) -> Node:  # fmt: skip
    """`gpu=8` and `batch_cpu=16000` stand for the long names."""
    names = {"gpu": GPU, "batch_cpu": "kubernetes.io/batch-cpu"}
    whole = amounts({"cpu": cpu, "memory": memory, "pods": pods, **{names[key]: value for key, value in more.items()}})
    left = {**whole, **amounts({names.get(key, key): value for key, value in (free or {}).items()})}
    return Node(name=name, allocatable=whole, free=left, labels=labels or {}, taints=taints, schedulable=schedulable)


def member(name: str, *nodes: Node, **facts: Any) -> ClusterCapacity:
    return ClusterCapacity(name=name, nodes=nodes, node_source=facts.pop("node_source", "nodes"), **facts)


def snapshot_of(*clusters: ClusterCapacity) -> Snapshot:
    return Snapshot(clusters=tuple(sorted(clusters, key=lambda one: one.name)), taken_at=NOW)


def planned(intents: Intents, snapshot: Snapshot, previous: PlacementLock | None = None) -> Plan:
    return plan(intents, snapshot, previous=previous or {})


def again(intents: Intents, snapshot: Snapshot, before: Plan) -> Plan:
    """Planned once more from the lock of `before`."""
    return plan(intents, snapshot, previous=lock_of(before))


def uses(workload: str, *placed: tuple[str, int], task: str = "worker", **requests: Any) -> tuple[PodGroupUse, ...]:
    """Running pods of a workload: (node, count) each."""
    each = {**amounts(requests or {"cpu": 1}), "pods": 1}
    return tuple(PodGroupUse(workload, task, where, count, each) for where, count in placed)
