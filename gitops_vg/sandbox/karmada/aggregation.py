"""From Works to bindings to templates: what arrived, and how it fares."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from gitops_vg.objects import GroupKind, ObjectKey, key_of
from gitops_vg.sandbox.karmada.control import MANAGER, Body, Objects, Queue, condition_of, set_condition
from gitops_vg.sandbox.karmada.detector import WORK_GROUP
from gitops_vg.sandbox.karmada.dispatch import binding_of, template_key, works_of
from gitops_vg.sandbox.karmada.interpreter import aggregated_status, aggregates
from gitops_vg.sandbox.store import Event

_SUCCESS = {
    "type": "FullyApplied",
    "status": "True",
    "reason": "FullyAppliedSuccess",
    "message": "All works have been successfully applied",
}
_FAILED = {
    "type": "FullyApplied",
    "status": "False",
    "reason": "FullyAppliedFailed",
    "message": "Failed to apply all works, see status.aggregatedStatus for details",
}
_CUSTOMIZATIONS = GroupKind("config.karmada.io", "ResourceInterpreterCustomization")


class Aggregation:
    """Gathers the Works of a binding into its status, and that into the template's."""

    def __init__(self, objects: Objects, *, clusters: Iterable[str], now: Callable[[], str]) -> None:
        self._objects = objects
        self._clusters = tuple(clusters)
        self._now = now
        self._bindings: Queue[ObjectKey] = Queue("binding-status", self._reconcile)
        self.queues = (self._bindings,)

    def on_event(self, event: Event) -> None:
        """Only Works wake a binding's status: one that never had a Work has no FullyApplied condition."""
        key = key_of(event.object)
        if key.group == WORK_GROUP and key.kind == "Work":
            binding = binding_of(event.object)
            if binding is not None:
                self._bindings.add(binding)

    def _reconcile(self, key: ObjectKey) -> float | None:
        binding = self._objects.get(key)
        if binding is None or binding["metadata"].get("deletionTimestamp"):
            return None
        works = works_of(self._objects, binding, clusters=self._clusters)
        items = [
            _item(cluster, work)
            for cluster, work in sorted(works.items())
            if not work["metadata"].get("deletionTimestamp")
        ]
        status = copy.deepcopy(binding.get("status") or {})
        before = copy.deepcopy(status)
        status.pop("aggregatedStatus", None)
        if items:
            status["aggregatedStatus"] = items
        wanted = {target["name"] for target in binding["spec"].get("clusters") or []}
        arrived = {item["clusterName"] for item in items if item.get("applied")}
        complete = bool(wanted) and len(items) == len(wanted) and arrived == wanted
        set_condition(status, _SUCCESS if complete else _FAILED, now=self._now())
        if status != before:
            self._objects.update({**binding, "status": status}, manager=MANAGER, status=True)
        self._report(binding, items)
        return None

    def _report(self, binding: Mapping[str, Any], items: list[Body]) -> None:
        template = self._objects.get(template_key(binding))
        if template is None or template["metadata"]["uid"] != binding["spec"]["resource"].get("uid"):
            return
        if not aggregates(template, customized=self._customized(template)):
            return
        status = aggregated_status(template, items, now=self._now())
        if status == template.get("status") or (not status and not template.get("status")):
            return
        changed = {name: value for name, value in template.items() if name != "status"}
        if status is not None:
            changed["status"] = status
        self._objects.update(changed, manager=MANAGER, status=True)

    def _customized(self, template: Mapping[str, Any]) -> bool:
        kind = {"apiVersion": template["apiVersion"], "kind": template["kind"]}
        return any(
            item["spec"]["target"] == kind and "statusAggregation" in item["spec"].get("customizations", {})
            for item in self._objects.list(_CUSTOMIZATIONS)
        )


def _item(cluster: str, work: Mapping[str, Any]) -> Body:
    condition = condition_of(work, "Applied")
    item: Body = {"clusterName": cluster, "health": "Unknown"}
    if condition.get("status") != "True":
        if condition.get("message"):
            item["appliedMessage"] = condition["message"]
        return item
    item["applied"] = True
    for manifest in (work.get("status") or {}).get("manifestStatuses") or []:
        item["health"] = manifest.get("health", "Unknown")
        if "status" in manifest:
            item["status"] = copy.deepcopy(manifest["status"])
    return item
