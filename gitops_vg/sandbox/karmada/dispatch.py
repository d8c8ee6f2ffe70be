"""From binding to Works: one a cluster, with the cluster's overrides; and their end."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from typing import Any

from gitops_vg.objects import GroupKind, ObjectKey, key_of
from gitops_vg.sandbox.karmada.control import MANAGER, Body, Objects, Queue
from gitops_vg.sandbox.karmada.detector import BINDING_FINALIZERS, POLICY_GROUP, WORK_GROUP
from gitops_vg.sandbox.karmada.filters import is_workload
from gitops_vg.sandbox.karmada.interpreter import with_replicas
from gitops_vg.sandbox.karmada.overrides import OverrideFailed, overridden
from gitops_vg.sandbox.karmada.works import NAMESPACE_PREFIX, WORK_ID, stamped, work_for, work_name
from gitops_vg.sandbox.status import StatusError
from gitops_vg.sandbox.store import Event

_OVERRIDES = (
    ("ClusterOverridePolicy", "policy.karmada.io/applied-cluster-overrides"),
    ("OverridePolicy", "policy.karmada.io/applied-overrides"),
)


def template_key(binding: Mapping[str, Any]) -> ObjectKey:
    """The template that a binding carries."""
    resource = binding["spec"]["resource"]
    group = resource["apiVersion"].rpartition("/")[0]
    return ObjectKey(group, resource["kind"], resource.get("namespace") or "", resource["name"])


def binding_of(work: Mapping[str, Any]) -> ObjectKey | None:
    """The binding that a Work belongs to; None for one without (a namespace's)."""
    annotations = work["metadata"].get("annotations") or {}
    if "resourcebinding.karmada.io/name" in annotations:
        namespace = annotations["resourcebinding.karmada.io/namespace"]
        return ObjectKey(WORK_GROUP, "ResourceBinding", namespace, annotations["resourcebinding.karmada.io/name"])
    if "clusterresourcebinding.karmada.io/name" in annotations:
        return ObjectKey(
            WORK_GROUP, "ClusterResourceBinding", "", annotations["clusterresourcebinding.karmada.io/name"]
        )
    return None


def works_of(objects: Objects, binding: Mapping[str, Any], *, clusters: Iterable[str]) -> dict[str, Body]:
    """The Works of a binding by cluster. Their name is known, so nothing is searched."""
    template = template_key(binding)
    name = work_name(kind=template.kind, name=template.name, namespace=template.namespace)
    found = {}
    for cluster in clusters:
        work = objects.get(ObjectKey(WORK_GROUP, "Work", NAMESPACE_PREFIX + cluster, name))
        if work is not None and binding_of(work) == key_of(binding):
            found[cluster] = work
    return found


class Dispatcher:
    """Keeps the Works of every binding equal to its clusters, template and overrides."""

    def __init__(self, objects: Objects, *, clusters: Iterable[str]) -> None:
        self._objects = objects
        self._clusters = tuple(clusters)
        self._bindings: Queue[ObjectKey] = Queue("binding", self._reconcile)
        self.queues = (self._bindings,)

    def on_event(self, event: Event) -> None:
        key = key_of(event.object)
        if key.group == WORK_GROUP and key.kind in BINDING_FINALIZERS:
            old = event.old
            if old is None or old["metadata"]["generation"] != event.object["metadata"]["generation"]:
                self._bindings.add(key)
        elif key.group == WORK_GROUP and key.kind == "Work" and event.type == "DELETED":
            binding = binding_of(event.object)
            if binding is not None:
                self._bindings.add(binding)
        elif key.group == POLICY_GROUP and key.kind in ("OverridePolicy", "ClusterOverridePolicy"):
            kinds = ("ResourceBinding",) if key.namespace else tuple(BINDING_FINALIZERS)
            for kind in kinds:
                for body in self._objects.list(GroupKind(WORK_GROUP, kind), namespace=key.namespace):
                    self._bindings.add(key_of(body))

    def _reconcile(self, key: ObjectKey) -> float | None:
        binding = self._objects.get(key)
        if binding is None:
            return None
        leaving = bool(binding["metadata"].get("deletionTimestamp"))
        targets = {} if leaving else {target["name"]: target for target in binding["spec"].get("clusters") or []}
        works = works_of(self._objects, binding, clusters=self._clusters)
        for cluster, work in works.items():
            if cluster not in targets and not work["metadata"].get("deletionTimestamp"):
                self._objects.delete(key_of(work))
        if leaving:
            self._let_go(key)
            return None
        template = self._objects.get(template_key(binding))
        if template is None or template["metadata"]["uid"] != binding["spec"]["resource"].get("uid"):
            return None
        for cluster, target in targets.items():
            self._ensure(binding, template, cluster=cluster, replicas=target.get("replicas", 0))
        return None

    def _let_go(self, key: ObjectKey) -> None:
        """A binding that ends goes when its last Work is gone."""
        binding = self._objects.get(key)
        if binding is None or works_of(self._objects, binding, clusters=self._clusters):
            return
        finalizers = [
            item for item in binding["metadata"].get("finalizers") or [] if item != BINDING_FINALIZERS[key.kind]
        ]
        metadata = {**binding["metadata"], "finalizers": finalizers}
        self._objects.update({**binding, "metadata": metadata}, manager=MANAGER)

    def _ensure(self, binding: Body, template: Body, *, cluster: str, replicas: int) -> None:
        where = self._objects.get(ObjectKey("cluster.karmada.io", "Cluster", "", cluster))
        if where is None:
            return
        body = with_replicas(template, replicas) if is_workload(binding) else copy.deepcopy(template)
        applied = []
        for kind, annotation in _OVERRIDES:
            namespace = body["metadata"].get("namespace") or ""
            if kind == "OverridePolicy" and not namespace:
                continue
            scope = namespace if kind == "OverridePolicy" else ""
            policies = self._objects.list(GroupKind(POLICY_GROUP, kind), namespace=scope)
            try:
                body, rules = overridden(body, policies=policies, cluster=where)
            except OverrideFailed as error:
                # Karmada only logs it and tries again: the binding shows nothing.
                raise StatusError(0, "OverrideFailed", str(error)) from error
            applied.append((annotation, rules))
        self._put(work_for(body, binding=binding, cluster=cluster, applied=applied))

    def _put(self, wanted: Body) -> None:
        live = self._objects.get(key_of(wanted))
        if live is None:
            self._objects.create(wanted, manager=MANAGER)
            return
        if live["metadata"].get("deletionTimestamp"):
            name = live["metadata"]["name"]
            raise StatusError(409, "Conflict", f"work {live['metadata']['namespace']}/{name} is being deleted")
        manifests = wanted["spec"]["workload"]["manifests"]
        identity = live["metadata"]["labels"][WORK_ID]
        workload = {"manifests": [stamped(manifest, work_id=identity) for manifest in manifests]}
        metadata = dict(live["metadata"])
        for part in ("labels", "annotations"):
            metadata[part] = {**metadata[part], **wanted["metadata"][part]}
        spec = {**wanted["spec"], "workload": workload}
        if metadata != live["metadata"] or spec != live["spec"]:
            self._objects.update({**live, "metadata": metadata, "spec": spec}, manager=MANAGER)
