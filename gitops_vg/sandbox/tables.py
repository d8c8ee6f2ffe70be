"""Lists as tables, the way kubectl asks for them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

from gitops_vg.apis.catalog import Kind

Object = dict[str, Any]
Column = tuple[str, Callable[[Object], Any]]


def _dig(*path: str) -> Callable[[Object], Any]:
    def find(body: Object) -> Any:
        value: Any = body
        for name in path:
            value = (value or {}).get(name)
        return "" if value is None else value

    return find


def _condition(name: str) -> Callable[[Object], str]:
    def find(body: Object) -> str:
        for condition in (body.get("status") or {}).get("conditions") or ():
            if condition.get("type") == name:
                return str(condition.get("status"))
        return ""

    return find


def _clusters(body: Object) -> str:
    found = (body.get("spec") or {}).get("clusters") or ()
    return ",".join(f"{item['name']}={item['replicas']}" if item.get("replicas") else item["name"] for item in found)


def _ready_pods(body: Object) -> str:
    ready = (body.get("status") or {}).get("readyReplicas") or 0
    return f"{ready}/{(body.get('spec') or {}).get('replicas', 1)}"


def _ready_containers(body: Object) -> str:
    known = (body.get("status") or {}).get("containerStatuses") or ()
    total = len((body.get("spec") or {}).get("containers") or ())
    running = (body.get("status") or {}).get("phase") == "Running"
    return f"{sum(bool(one.get('ready')) for one in known) if known else total * running}/{total}"


def _node_status(body: Object) -> str:
    state = "NotReady" if _condition("Ready")(body) not in ("True", "") else "Ready"
    return f"{state},SchedulingDisabled" if (body.get("spec") or {}).get("unschedulable") else state


def _ports(body: Object) -> str:
    ports = (body.get("spec") or {}).get("ports") or ()
    return ",".join(f"{port.get('port')}/{port.get('protocol', 'TCP')}" for port in ports)


def _data_count(body: Object) -> int:
    return len(body.get("data") or {}) + len(body.get("binaryData") or {})


_COLUMNS: dict[str, tuple[Column, ...]] = {
    "Job.batch.volcano.sh": (
        ("Status", _dig("status", "state", "phase")),
        ("MinAvailable", _dig("spec", "minAvailable")),
        ("Runnings", _dig("status", "running")),
        ("Queue", _dig("spec", "queue")),
    ),
    "Queue.scheduling.volcano.sh": (
        ("Weight", _dig("spec", "weight")),
        ("State", _dig("status", "state")),
        ("Parent", _dig("spec", "parent")),
    ),
    "Cluster.cluster.karmada.io": (
        ("Version", _dig("status", "kubernetesVersion")),
        ("Mode", _dig("spec", "syncMode")),
        ("Ready", _condition("Ready")),
        ("Region", _dig("spec", "region")),
    ),
    "ResourceBinding.work.karmada.io": (
        ("Scheduled", _condition("Scheduled")),
        ("FullyApplied", _condition("FullyApplied")),
        ("Clusters", _clusters),
    ),
    "ClusterResourceBinding.work.karmada.io": (
        ("Scheduled", _condition("Scheduled")),
        ("FullyApplied", _condition("FullyApplied")),
        ("Clusters", _clusters),
    ),
    "Deployment.apps": (
        ("Ready", _ready_pods),
        ("Up-to-date", _dig("status", "updatedReplicas")),
        ("Available", _dig("status", "availableReplicas")),
    ),
    "PodGroup.scheduling.volcano.sh": (
        ("Status", _dig("status", "phase")),
        ("MinMember", _dig("spec", "minMember")),
        ("Runnings", _dig("status", "running")),
        ("Queue", _dig("spec", "queue")),
    ),
    "Work.work.karmada.io": (("Applied", _condition("Applied")),),
    "PropagationPolicy.policy.karmada.io": (
        ("Conflict-Resolution", _dig("spec", "conflictResolution")),
        ("Priority", _dig("spec", "priority")),
    ),
    "ClusterPropagationPolicy.policy.karmada.io": (
        ("Conflict-Resolution", _dig("spec", "conflictResolution")),
        ("Priority", _dig("spec", "priority")),
    ),
    "PriorityClass.scheduling.k8s.io": (("Value", _dig("value")), ("Global-Default", _dig("globalDefault"))),
    "Pod": (("Ready", _ready_containers), ("Status", _dig("status", "phase")), ("Node", _dig("spec", "nodeName"))),
    "Node": (("Status", _node_status), ("Version", _dig("status", "nodeInfo", "kubeletVersion"))),
    "Service": (("Type", _dig("spec", "type")), ("Cluster-IP", _dig("spec", "clusterIP")), ("Port(s)", _ports)),
    "ConfigMap": (("Data", _data_count),),
    "Secret": (("Type", _dig("type")), ("Data", _data_count)),
    "Namespace": (("Status", _dig("status", "phase")),),
}


def as_table(kind: Kind, items: Sequence[Object], *, metadata: Object, now: datetime | None = None) -> Object:
    """A meta.k8s.io/v1 Table with name, the kind's own columns, and age."""
    columns = (("Name", _dig("metadata", "name")), *_COLUMNS.get(str(kind.group_kind), ()))
    moment = now or datetime.now(UTC)
    definitions = [_column(name) for name, _ in columns] + [_column("Age")]
    rows = [
        {"cells": [read(body) for _, read in columns] + [_age(body, moment)],
         "object": {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": body["metadata"]}}
        for body in items
    ]  # fmt: skip
    return {"kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": metadata,
            "columnDefinitions": definitions, "rows": rows}  # fmt: skip


def _column(name: str) -> Object:
    form = "name" if name == "Name" else ""
    return {"name": name, "type": "string", "format": form, "description": "", "priority": 0}


def _age(body: Object, now: datetime) -> str:
    created = datetime.fromisoformat(body["metadata"]["creationTimestamp"])
    seconds = max(0, int((now - created).total_seconds()))
    for unit, length in (("d", 86400), ("h", 3600), ("m", 60)):
        if seconds >= 2 * length:
            return f"{seconds // length}{unit}"
    return f"{seconds}s"
