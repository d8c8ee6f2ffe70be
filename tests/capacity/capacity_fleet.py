"""A control plane in memory: Clusters, heartbeats, and members behind the proxy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode

from gitops_vg.errors import ClusterError, NotFound, Unavailable
from gitops_vg.intents.fleet import Intents
from gitops_vg.intents.models import Cluster, Fleet, Workload
from gitops_vg.objects import GroupKind

NOW = datetime(2026, 12, 1, 12, 0, tzinfo=UTC)
API = "gitops-vg.io/v1alpha1"
Body = dict[str, Any]


@dataclass
class FakeControlPlane:
    """Answers as karmada-apiserver does; `failures` maps a part of a path to the error it gives."""

    clusters: list[Body] = field(default_factory=list)
    leases: list[Body] = field(default_factory=list)
    members: dict[str, dict[str, list[Body]]] = field(default_factory=dict)
    failures: dict[str, ClusterError] = field(default_factory=dict)
    page: int = 500
    requests: list[str] = field(default_factory=list)

    def list(self, group_kind: GroupKind, *, namespace: str = "", label_selector: str = "") -> list[Body]:
        self._fail(str(group_kind))
        return self.clusters if group_kind.kind == "Cluster" else self.leases

    def get_path(self, path: str, *, query: Mapping[str, str] | None = None) -> Body:
        query = query or {}
        self.requests.append(path)
        self._fail(f"{path}?{urlencode(query)}")
        cluster, _, rest = path.removeprefix("/apis/cluster.karmada.io/v1alpha1/clusters/").partition("/proxy")
        if cluster not in self.members:
            raise Unavailable(f"{cluster} does not answer", status=503, reason="ServiceUnavailable")
        resource = rest.rpartition("/")[2]
        if resource not in self.members[cluster]:
            raise NotFound(f"no {resource}", status=404, reason="NotFound")
        items = self.members[cluster][resource]
        start = int(query.get("continue", "0"))
        end = start + self.page
        metadata = {"continue": str(end)} if end < len(items) else {}
        return {"kind": f"{resource.title()}List", "metadata": metadata, "items": items[start:end]}

    def _fail(self, text: str) -> None:
        for part, error in self.failures.items():
            if part in text:
                raise error


def cluster(name: str, *, ready: str = "True", spec: Body | None = None, status: Body | None = None) -> Body:
    return {
        "apiVersion": "cluster.karmada.io/v1alpha1",
        "kind": "Cluster",
        "metadata": {"name": name, "labels": {"tier": "gold"}},
        "spec": {"region": "north", "zones": ["b", "a"], "provider": "own", **(spec or {})},
        "status": {
            "conditions": [
                {"type": "Ready", "status": ready, "reason": "ClusterX", "lastTransitionTime": "2026-12-01T10:00:00Z"}
            ],
            "apiEnablements": [
                {"groupVersion": "batch.volcano.sh/v1alpha1", "resources": [{"name": "jobs", "kind": "Job"}]},
                {"groupVersion": "v1", "resources": [{"name": "configmaps", "kind": "ConfigMap"}]},
            ],
            "nodeSummary": {"totalNum": 2, "readyNum": 2},
            **(status or {}),
        },
    }


def node(name: str, *, allocatable: Body | None = None, ready: str = "True", **spec: Any) -> Body:
    return {
        "metadata": {"name": name, "labels": {"disk": "ssd"}},
        "spec": spec,
        "status": {
            "allocatable": allocatable or {"cpu": "32", "memory": "128Gi", "pods": "110"},
            "conditions": [{"type": "Ready", "status": ready}],
        },
    }


def pod(
    name: str,
    *,
    on: str = "",
    requests: Body | None = None,
    labels: Body | None = None,
    phase: str = "Running",
    namespace: str = "ml",
    owner: tuple[str, str, str] | None = None,
) -> Body:
    metadata: Body = {"name": name, "namespace": namespace, "labels": labels or {}}
    if owner is not None:
        version, kind, owner_name = owner
        metadata["ownerReferences"] = [{"apiVersion": version, "kind": kind, "name": owner_name, "controller": True}]
    return {
        "metadata": metadata,
        "spec": {
            **({"nodeName": on} if on else {}),
            "containers": [{"name": "main", "resources": {"requests": requests or {"cpu": "1"}}}],
        },
        "status": {"phase": phase},
    }


def job(name: str, *, phase: str = "Running", namespace: str = "ml") -> Body:
    return {"metadata": {"name": name, "namespace": namespace}, "status": {"state": {"phase": phase}}}


def workload(name: str, *, namespace: str = "ml", **spec: Any) -> Workload:
    return Workload.model_validate(
        {"apiVersion": API, "kind": "Workload", "metadata": {"name": name, "namespace": namespace}, "spec": spec}
    )


def intents_of(*workloads: Workload, clusters: tuple[str, ...] = ("cluster-1",)) -> Intents:
    return Intents(
        fleet=Fleet.model_validate({"apiVersion": API, "kind": "Fleet", "metadata": {"name": "test"}}),
        clusters=tuple(
            Cluster.model_validate({"apiVersion": API, "kind": "Cluster", "metadata": {"name": name}})
            for name in clusters
        ),
        workloads=workloads,
    )


TRAINING = workload("bert", job={"tasks": [{"name": "worker", "replicas": 3, "requests": {"cpu": 8}}]})
NIGHTLY = workload("nightly", schedule="0 2 * * *", job={"tasks": [{"name": "main"}]})
SHOP = workload("shop", namespace="web", service={"replicas": 4, "requests": {"cpu": 2}})
