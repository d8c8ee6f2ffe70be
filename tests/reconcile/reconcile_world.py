"""A small world for the reconciler: an embedded karmada-apiserver with faults on order, and trees of a few objects."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date
from typing import Any

from gitops_vg.gitstore import ApprovalRecord, TreeSettings
from gitops_vg.kube import ApiServer
from gitops_vg.objects import FIELD_MANAGER, MANAGED_BY_LABEL, PROTECTED_LABEL, Manifest
from gitops_vg.placement.plan import LockEntry
from gitops_vg.reconcile import DriftReport, SyncPlan, SyncResult, execute, find_drift, load, make_plan
from gitops_vg.sandbox import Sandbox

TODAY = date(2026, 12, 1)


def metadata(name: str, *, namespace: str = "", protect: bool = False) -> dict[str, Any]:
    labels = {MANAGED_BY_LABEL: FIELD_MANAGER, **({PROTECTED_LABEL: "Always"} if protect else {})}
    return {"name": name, **({"namespace": namespace} if namespace else {}), "labels": labels}


def namespace(name: str = "ml") -> Manifest:
    return Manifest({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata(name)})


def config_map(name: str, **data: str) -> Manifest:
    return Manifest({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata(name, namespace="ml"), "data": data})


def queue(name: str, *, protect: bool = False, weight: int = 1, parent: str = "root") -> Manifest:
    spec = {"weight": weight, "parent": parent, "reclaimable": True, "dequeueStrategy": "traverse"}
    return Manifest({"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue",
                     "metadata": metadata(name, protect=protect), "spec": spec})  # fmt: skip


def job(name: str, *, image: str = "a:1", replicas: int = 1) -> Manifest:
    container = {"name": "main", "image": image}
    task = {"name": "main", "replicas": replicas, "minAvailable": replicas, "maxRetry": 3,
            "template": {"spec": {"containers": [container], "restartPolicy": "OnFailure"}}}  # fmt: skip
    spec = {"schedulerName": "volcano", "queue": "default", "minAvailable": replicas, "maxRetry": 3, "tasks": [task]}
    return Manifest({"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job",
                     "metadata": metadata(name, namespace="ml"), "spec": spec})  # fmt: skip


def policy(name: str, *, kind: str = "Job", clusters: tuple[str, ...] = ("member1",)) -> Manifest:
    versions = {"Job": "batch.volcano.sh/v1alpha1", "ConfigMap": "v1"}
    spec = {
        "conflictResolution": "Abort", "preemption": "Never", "priority": 0, "schedulerName": "default-scheduler",
        "resourceSelectors": [{"apiVersion": versions[kind], "kind": kind, "name": name, "namespace": "ml"}],
        "placement": {"clusterAffinity": {"clusterNames": list(clusters)}},
    }  # fmt: skip
    return Manifest({"apiVersion": "policy.karmada.io/v1alpha1", "kind": "PropagationPolicy",
                     "metadata": metadata(name, namespace="ml"), "spec": spec})  # fmt: skip


@dataclass(frozen=True)
class Tree:
    """A committed tree, as the reconciler needs it."""

    commit: str
    manifests: tuple[Manifest, ...]
    lock: dict[str, LockEntry]
    settings: TreeSettings
    approvals: tuple[ApprovalRecord, ...] = ()


@dataclass
class World:
    """A control plane and the tree that is committed for it."""

    sandbox: Sandbox
    server: ApiServer
    manifests: list[Manifest] = field(default_factory=list)
    lock: dict[str, LockEntry] = field(default_factory=dict)
    approvals: list[ApprovalRecord] = field(default_factory=list)
    settings: TreeSettings = field(default_factory=lambda: TreeSettings("test"))

    @property
    def tree(self) -> Tree:
        manifests = tuple(sorted(self.manifests, key=lambda manifest: manifest.key))
        return Tree("c0ffee", manifests, self.lock, self.settings, tuple(self.approvals))

    def plan(self) -> SyncPlan:
        return make_plan(self.server, self.tree, load(self.server, fleet="test"), today=TODAY)

    def sync(self) -> tuple[SyncPlan, SyncResult]:
        inventory = load(self.server, fleet="test")
        plan = make_plan(self.server, self.tree, inventory, today=TODAY)
        return plan, execute(self.server, plan, inventory, sleep=lambda _: None)

    def drift(self) -> DriftReport:
        return find_drift(self.server, self.tree, load(self.server, fleet="test"), today=TODAY)

    def approve(self, digest: str, *, expires: date = date(2026, 12, 31)) -> None:
        self.approvals.append(ApprovalRecord("meant", digest, "a test", expires))

    def live(self, manifest: Manifest) -> dict[str, Any] | None:
        return self.server.get(manifest.key)

    def write(
        self, manifest: Manifest, patch: dict[str, Any], *, manager: str = "somebody", subresource: str = ""
    ) -> None:
        """What another person or controller does to a live object."""
        key, api = manifest.key, self.sandbox.karmada
        kind = api.kind(key.group, key.kind)
        self.sandbox.call(
            lambda: api.patch(kind, key.namespace, key.name, patch, manager=manager, subresource=subresource)
        )

    def remove(self, manifest: Manifest) -> None:
        """What another person does: delete a live object."""
        key, api = manifest.key, self.sandbox.karmada
        self.sandbox.call(lambda: api.delete(api.kind(key.group, key.kind), key.namespace, key.name))
