"""Cluster objects: created for every member, kept true to its nodes, pods and reachability."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any

from gitops_vg.objects import GroupKind, ObjectKey, key_of
from gitops_vg.sandbox.karmada.control import MANAGER, Body, Objects, Queue, condition_of, set_condition
from gitops_vg.sandbox.karmada.members import Member
from gitops_vg.sandbox.karmada.resources import summary
from gitops_vg.sandbox.karmada.works import NAMESPACE_PREFIX
from gitops_vg.sandbox.store import Event

FINALIZER = "karmada.io/cluster-controller"
NOT_READY_TAINT = {"key": "cluster.karmada.io/not-ready", "effect": "NoSchedule"}

_READY = {
    "type": "Ready",
    "status": "True",
    "reason": "ClusterReady",
    "message": "cluster is healthy and ready to accept workloads",
}
_UNREACHABLE = {
    "type": "Ready",
    "status": "False",
    "reason": "ClusterNotReachable",
    "message": "cluster is not reachable",
}
_COMPLETE = {
    "type": "CompleteAPIEnablements",
    "status": "True",
    "reason": "Complete",
    "message": "collected complete APIEnablements from the cluster",
}


def cluster_key(name: str) -> ObjectKey:
    return ObjectKey("cluster.karmada.io", "Cluster", "", name)


class Clusters:
    """Reports each member in its Cluster object, within `refresh` seconds of a change."""

    def __init__(
        self,
        objects: Objects,
        members: Mapping[str, Member],
        *,
        now: Callable[[], str],
        refresh: float,
        version: str,
    ) -> None:
        self._objects = objects
        self._members = members
        self._now = now
        self._refresh = refresh
        self._version = version
        self._names: Queue[str] = Queue("clusters", self._reconcile)
        self.queues = (self._names,)

    def on_member_event(self, member: str, event: Event) -> None:
        """Nodes and pods change the sums; a burst of them is counted once."""
        if event.kind.group == "" and event.kind.kind in ("Node", "Pod"):
            self._names.add(member, after=self._refresh)

    def on_event(self, event: Event) -> None:
        key = key_of(event.object)
        if key.group_kind == cluster_key("").group_kind and event.type != "DELETED":
            old = event.old
            if old is None or old["metadata"].get("generation") != event.object["metadata"].get("generation"):
                self._names.add(key.name)

    def refresh(self, member: str) -> None:
        """Look at the member at once."""
        self._names.add(member)

    def _reconcile(self, name: str) -> float | None:
        cluster, member = self._objects.get(cluster_key(name)), self._members.get(name)
        if cluster is None:
            return None
        if cluster["metadata"].get("deletionTimestamp"):
            self._unjoin(cluster)
            return None
        if member is None:
            return None
        if FINALIZER not in (cluster["metadata"].get("finalizers") or []):
            metadata = {**cluster["metadata"], "finalizers": [FINALIZER]}
            cluster = self._objects.update({**cluster, "metadata": metadata}, manager=MANAGER)
        self._ensure_namespace(NAMESPACE_PREFIX + name)
        if not condition_of(cluster, "Ready"):
            # A new cluster takes nothing until it was seen once.
            cluster = self._taint(cluster, reachable=False)
        cluster = self._report(cluster, member)
        self._taint(cluster, reachable=member.reachable)
        return None

    def _ensure_namespace(self, name: str) -> None:
        if self._objects.get(ObjectKey("", "Namespace", "", name)) is None:
            body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
            self._objects.create(body, manager=MANAGER)

    def _unjoin(self, cluster: Body) -> None:
        """A Cluster that is deleted goes when its namespace of Works is gone."""
        namespace = ObjectKey("", "Namespace", "", NAMESPACE_PREFIX + cluster["metadata"]["name"])
        if self._objects.get(namespace) is not None:
            self._objects.delete(namespace)
        left = [item for item in cluster["metadata"].get("finalizers") or [] if item != FINALIZER]
        self._objects.update({**cluster, "metadata": {**cluster["metadata"], "finalizers": left}}, manager=MANAGER)

    def _report(self, cluster: Body, member: Member) -> Body:
        status = copy.deepcopy(cluster.get("status") or {})
        before = copy.deepcopy(status)
        if member.reachable:
            nodes = member.objects.list(GroupKind("", "Node"))
            pods = member.objects.list(GroupKind("", "Pod"))
            status["kubernetesVersion"] = self._version
            status["apiEnablements"] = _enablements(member)
            ready = sum(1 for node in nodes if _node_ready(node))
            status["nodeSummary"] = {"totalNum": len(nodes), "readyNum": ready}
            models = cluster["spec"].get("resourceModels") or []
            status["resourceSummary"] = summary(nodes, pods, models=models)
            set_condition(status, _COMPLETE, now=self._now())
        set_condition(status, _READY if member.reachable else _UNREACHABLE, now=self._now())
        if status == before:
            return cluster
        return self._objects.update({**cluster, "status": status}, manager=MANAGER, status=True)

    def _taint(self, cluster: Body, *, reachable: bool) -> Body:
        taints = cluster["spec"].get("taints") or []
        others = [taint for taint in taints if taint["key"] != NOT_READY_TAINT["key"]]
        wanted = others if reachable else [*others, {**NOT_READY_TAINT, "timeAdded": self._now()}]
        if len(wanted) == len(taints):
            return cluster
        spec = {name: value for name, value in cluster["spec"].items() if name != "taints"}
        if wanted:
            spec["taints"] = wanted
        return self._objects.update({**cluster, "spec": spec}, manager=MANAGER)


def _node_ready(node: Mapping[str, Any]) -> bool:
    conditions = (node.get("status") or {}).get("conditions") or []
    return any(item["type"] == "Ready" and item["status"] == "True" for item in conditions)


def _enablements(member: Member) -> list[Body]:
    """The APIs that a member serves, as its discovery says."""
    served: dict[str, list[dict[str, str]]] = {}
    for kind in member.objects.api.catalog.kinds():
        served.setdefault(kind.api_version, []).append({"name": kind.plural, "kind": kind.kind})
    return [
        {"groupVersion": version, "resources": sorted(served[version], key=lambda item: item["name"])}
        for version in sorted(served)
    ]
