"""Namespaces of the control plane appear in every member, without any policy."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from gitops_vg.objects import GroupKind, ObjectKey, key_of
from gitops_vg.sandbox.karmada.control import MANAGER, Body, Objects, Queue
from gitops_vg.sandbox.karmada.interpreter import pruned
from gitops_vg.sandbox.karmada.works import (
    CONFLICT_RESOLUTION,
    FINALIZER,
    MANAGED,
    NAMESPACE_PREFIX,
    TEMPLATE_UID,
    work_name,
)
from gitops_vg.sandbox.status import StatusError
from gitops_vg.sandbox.store import Event

SKIP_LABEL = "namespace.karmada.io/skip-auto-propagation"
_RESERVED = frozenset({"default", "karmada-system", "karmada-cluster"})


class Namespaces:
    """Makes a Work a cluster for each namespace; the garbage collector ends them with it."""

    def __init__(self, objects: Objects, *, clusters: Iterable[str]) -> None:
        self._objects = objects
        self._clusters = tuple(clusters)
        self._names: Queue[str] = Queue("namespaces", self._reconcile)
        self.queues = (self._names,)

    def on_event(self, event: Event) -> None:
        key = key_of(event.object)
        if key.group_kind != GroupKind("", "Namespace") or event.type == "DELETED" or not _carried(event.object):
            return
        if event.old is None or event.old["metadata"].get("labels") != event.object["metadata"].get("labels"):
            self._names.add(key.name)

    def _reconcile(self, name: str) -> float | None:
        namespace = self._objects.get(ObjectKey("", "Namespace", "", name))
        if namespace is None or namespace["metadata"].get("deletionTimestamp"):
            return None
        for cluster in self._clusters:
            self._put(_work(namespace, cluster=cluster))
        return None

    def _put(self, wanted: Body) -> None:
        live = self._objects.get(key_of(wanted))
        if live is None:
            self._objects.create(wanted, manager=MANAGER)
        elif live["metadata"].get("deletionTimestamp"):
            raise StatusError(409, "Conflict", f"work {live['metadata']['name']} is being deleted")
        elif live["metadata"]["ownerReferences"] != wanted["metadata"]["ownerReferences"]:
            raise StatusError(409, "Conflict", f"work {live['metadata']['name']} belongs to an older namespace")


def _carried(body: Mapping[str, Any]) -> bool:
    name, labels = body["metadata"]["name"], body["metadata"].get("labels") or {}
    if name in _RESERVED or name.startswith(("kube-", NAMESPACE_PREFIX)):
        return False
    return labels.get(SKIP_LABEL) != "true"


def _work(namespace: Mapping[str, Any], *, cluster: str) -> Body:
    metadata = namespace["metadata"]
    name = work_name(kind="Namespace", name=metadata["name"], namespace="")
    workload = pruned(namespace)
    workload.pop("spec", None)
    workload["metadata"].setdefault("labels", {})[MANAGED] = "true"
    workload["metadata"].setdefault("annotations", {}).update(
        {
            TEMPLATE_UID: metadata["uid"],
            "work.karmada.io/name": name,
            "work.karmada.io/namespace": NAMESPACE_PREFIX + cluster,
            # Members may have the namespace already; Karmada takes it over.
            CONFLICT_RESOLUTION: "overwrite",
        }
    )
    owner = {
        "apiVersion": "v1",
        "kind": "Namespace",
        "name": metadata["name"],
        "uid": metadata["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }
    return {
        "apiVersion": "work.karmada.io/v1alpha1",
        "kind": "Work",
        "metadata": {
            "name": name,
            "namespace": NAMESPACE_PREFIX + cluster,
            "finalizers": [FINALIZER],
            "ownerReferences": [owner],
        },
        "spec": {"workload": {"manifests": [workload]}},
    }
