"""Karmada's scheduler: which clusters a binding gets, and with how many replicas."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gitops_vg.objects import GroupKind, ObjectKey, key_of
from gitops_vg.sandbox.karmada import spread
from gitops_vg.sandbox.karmada.control import SCHEDULER, Body, Objects, Queue, set_condition
from gitops_vg.sandbox.karmada.detector import BINDING_FINALIZERS, WORK_GROUP
from gitops_vg.sandbox.karmada.division import Target, Unschedulable, divide_by_room, divide_by_weight
from gitops_vg.sandbox.karmada.estimator import room
from gitops_vg.sandbox.karmada.filters import NoClusterFit, affinity_terms, fitting, is_workload
from gitops_vg.sandbox.karmada.selectors import matches_cluster
from gitops_vg.sandbox.karmada.wire import go_json
from gitops_vg.sandbox.status import StatusError
from gitops_vg.sandbox.store import Event

APPLIED_PLACEMENT = "policy.karmada.io/applied-placement"
UNSCHEDULABLE_PAUSE = 300.0
"""Seconds until a binding without room is tried again (Karmada ≥ 1.18)."""

_SUCCESS = {
    "type": "Scheduled",
    "status": "True",
    "reason": "Success",
    "message": "Binding has been scheduled successfully.",
}


class Scheduler:
    """Schedules every binding whose placement, replicas or clusters changed."""

    def __init__(self, objects: Objects, *, now: Callable[[], str]) -> None:
        self._objects = objects
        self._now = now
        self._bindings: Queue[ObjectKey] = Queue("scheduler", self._reconcile)
        self.queues = (self._bindings,)

    def on_event(self, event: Event) -> None:
        body = event.object
        key = key_of(body)
        if key.group == WORK_GROUP and key.kind in BINDING_FINALIZERS and event.type != "DELETED":
            if event.old is None or event.old["metadata"]["generation"] != body["metadata"]["generation"]:
                self._bindings.add(key)
        elif key.group == "cluster.karmada.io" and key.kind == "Cluster" and _cluster_changed(event):
            for kind in BINDING_FINALIZERS:
                for binding in self._objects.list(GroupKind(WORK_GROUP, kind)):
                    self._bindings.add(key_of(binding))

    def _reconcile(self, key: ObjectKey) -> float | None:
        binding = self._objects.get(key)
        if binding is None or binding["metadata"].get("deletionTimestamp"):
            return None
        spec = binding["spec"]
        if spec.get("placement") is None or spec.get("schedulerName", "default-scheduler") != "default-scheduler":
            return None
        if (spec.get("suspension") or {}).get("scheduling"):
            return None
        clusters = self._objects.list(GroupKind("cluster.karmada.io", "Cluster"))
        if not _needed(binding, clusters=clusters):
            self._observe(binding)
            return None
        return self._schedule(binding, clusters=clusters)

    def _schedule(self, binding: Body, *, clusters: Sequence[Body]) -> float | None:
        pause = None
        name = (binding.get("status") or {}).get("schedulerObservingAffinityName", "")
        try:
            targets, name = schedule(binding, clusters)
            condition: Mapping[str, Any] = _SUCCESS
        except NoClusterFit as error:
            targets = []
            condition = _failure("NoClusterFit", str(error))
        except Unschedulable as error:
            self._report(binding, condition=_failure("Unschedulable", str(error)), affinity=name)
            return UNSCHEDULABLE_PAUSE
        except spread.SpreadError as error:
            self._report(binding, condition=_failure("SchedulerError", str(error)), affinity=name)
            raise StatusError(0, "SchedulerError", str(error)) from error
        binding = self._record(binding, targets=targets)
        self._report(binding, condition=condition, affinity=name)
        return pause

    def _record(self, binding: Body, *, targets: Sequence[Target]) -> Body:
        changed = json.loads(json.dumps(binding))
        changed["metadata"].setdefault("annotations", {})[APPLIED_PLACEMENT] = go_json(binding["spec"]["placement"])
        if targets:
            changed["spec"]["clusters"] = [
                {"name": target.name, "replicas": target.replicas} if target.replicas else {"name": target.name}
                for target in targets
            ]
        else:
            changed["spec"].pop("clusters", None)
        return binding if changed == binding else self._objects.update(changed, manager=SCHEDULER)

    def _report(self, binding: Body, *, condition: Mapping[str, Any], affinity: str) -> None:
        status = json.loads(json.dumps(binding.get("status") or {}))
        before = json.loads(json.dumps(status))
        set_condition(status, condition, now=self._now())
        if affinity:
            status["schedulerObservingAffinityName"] = affinity
        if condition["status"] == "True":
            status["schedulerObservedGeneration"] = binding["metadata"]["generation"]
            if status != before or "lastScheduledTime" not in status:
                status["lastScheduledTime"] = self._now()
        if status != before:
            self._objects.update({**binding, "status": status}, manager=SCHEDULER, status=True)

    def _observe(self, binding: Body) -> None:
        status = dict(binding.get("status") or {})
        if status.get("schedulerObservedGeneration") != binding["metadata"]["generation"]:
            status["schedulerObservedGeneration"] = binding["metadata"]["generation"]
            self._objects.update({**binding, "status": status}, manager=SCHEDULER, status=True)


def _failure(reason: str, message: str) -> Mapping[str, Any]:
    return {"type": "Scheduled", "status": "False", "reason": reason, "message": message}


def _cluster_changed(event: Event) -> bool:
    """Labels, spec and existence count; the status of a cluster wakes no binding, however much room it gained."""
    if event.old is None:
        return True
    old, new = event.old["metadata"], event.object["metadata"]
    same = old.get("labels") == new.get("labels") and old.get("generation") == new.get("generation")
    served = (event.old.get("status") or {}).get("apiEnablements") == (event.object.get("status") or {}).get(
        "apiEnablements"
    )
    return not (same and served and old.get("deletionTimestamp") == new.get("deletionTimestamp"))


def _needed(binding: Mapping[str, Any], *, clusters: Sequence[Mapping[str, Any]]) -> bool:
    spec = binding["spec"]
    placement = spec["placement"]
    applied = (binding["metadata"].get("annotations") or {}).get(APPLIED_PLACEMENT, "")
    if applied != go_json(placement):
        return True
    scheduling = placement.get("replicaScheduling")
    duplicated = (scheduling or {}).get("replicaSchedulingType", "Duplicated") == "Duplicated"
    targets = spec.get("clusters") or []
    placed = sum(target.get("replicas", 0) for target in targets)
    if scheduling is not None and not duplicated and placed != spec.get("replicas", 0):
        return True
    if _triggered(binding) or not is_workload(binding) or duplicated:
        return True
    leaving = {cluster["metadata"]["name"] for cluster in clusters if cluster["metadata"].get("deletionTimestamp")}
    return any(target["name"] in leaving for target in targets)


def _triggered(binding: Mapping[str, Any]) -> bool:
    """Whether a WorkloadRebalancer asked for a fresh start after the last scheduling."""
    wanted = binding["spec"].get("rescheduleTriggeredAt")
    last = (binding.get("status") or {}).get("lastScheduledTime")
    return bool(wanted and last and wanted > last)


def schedule(binding: Mapping[str, Any], clusters: Sequence[Mapping[str, Any]]) -> tuple[list[Target], str]:
    """The clusters of a binding with replicas, and the affinity group they come from ("" for none).

    Raises NoClusterFit, Unschedulable or SpreadError of the first group when every group fails.
    """
    groups = binding["spec"]["placement"].get("clusterAffinities") or []
    if not groups:
        return _schedule_group(binding, clusters, affinity=""), ""
    names = [group["affinityName"] for group in groups]
    observed = (binding.get("status") or {}).get("schedulerObservingAffinityName", "")
    start = names.index(observed) if observed in names and not _triggered(binding) else 0
    first: Exception | None = None
    for name in names[start:]:
        try:
            return _schedule_group(binding, clusters, affinity=name), name
        except (NoClusterFit, Unschedulable, spread.SpreadError) as error:
            first = first or error
    assert first is not None
    raise first


def _schedule_group(
    binding: Mapping[str, Any], clusters: Sequence[Mapping[str, Any]], *, affinity: str
) -> list[Target]:
    spec = binding["spec"]
    fit = fitting(binding, clusters, affinity_name=affinity)
    candidates = _candidates(binding, fit, affinity=affinity)
    try:
        chosen = spread.select(candidates, placement=spec["placement"], replicas=spec.get("replicas", 0))
    except spread.SpreadError as error:
        raise spread.SpreadError(f"failed to select clusters: {error}") from error
    if not chosen:
        raise spread.SpreadError("failed to assign replicas: no clusters available to schedule")
    if not is_workload(binding):
        return [Target(item.name, 0) for item in chosen]
    tiers = {item.overflow for item in chosen}
    if len(tiers) > 1:
        return _by_tiers(binding, chosen)
    return _assign(binding, chosen, replicas=spec.get("replicas", 0))


def _candidates(
    binding: Mapping[str, Any], fit: Sequence[Mapping[str, Any]], *, affinity: str
) -> list[spread.Candidate]:
    spec = binding["spec"]
    terms = affinity_terms(binding, affinity_name=affinity)
    held = {target["name"]: target.get("replicas", 0) for target in spec.get("clusters") or []}
    candidates = []
    for cluster in fit:
        name = cluster["metadata"]["name"]
        free = room(cluster, spec.get("replicaRequirements")) if spec.get("replicas") else 2**31 - 1
        candidates.append(
            spread.Candidate(
                name=name,
                cluster=cluster,
                score=spread.LOCALITY if name in held else 0,
                overflow=spread.overflow_order(cluster, terms),
                room=free,
                available=free + held.get(name, 0),
            )
        )
    return candidates


def _by_tiers(binding: Mapping[str, Any], chosen: Sequence[spread.Candidate]) -> list[Target]:
    """Overflow groups one after the other, each as far as its room goes."""
    remaining = binding["spec"].get("replicas", 0)
    result: list[Target] = []
    for tier in sorted({item.overflow for item in chosen}):
        members = [item for item in chosen if item.overflow == tier]
        share = min(remaining, sum(item.available for item in members))
        result += _assign(binding, members, replicas=share)
        remaining -= share
        if remaining <= 0:
            return result
    raise Unschedulable("Clusters available replicas are not enough to schedule.")


def _assign(binding: Mapping[str, Any], chosen: Sequence[spread.Candidate], *, replicas: int) -> list[Target]:
    spec = binding["spec"]
    scheduling = spec["placement"].get("replicaScheduling") or {}
    uid = spec["resource"].get("uid", "")
    if scheduling.get("replicaSchedulingType", "Duplicated") == "Duplicated":
        return [Target(item.name, replicas) for item in chosen if replicas]
    preference = scheduling.get("weightPreference") or {}
    aggregated = scheduling.get("replicaDivisionPreference") == "Aggregated"
    if not aggregated and not preference.get("dynamicWeight"):
        rules = preference.get("staticWeightList")
        weights = {item.name: 1 if rules is None else _weight(item.cluster, rules) for item in chosen}
        return divide_by_weight(replicas, weights=weights, uid=uid)
    previous = [Target(target["name"], target.get("replicas", 0)) for target in spec.get("clusters") or []]
    fresh = _triggered(binding)
    try:
        return divide_by_room(
            replicas,
            room={item.name: item.room for item in chosen},
            previous=previous,
            uid=uid,
            aggregated=aggregated,
            fresh=fresh,
        )
    except Unschedulable as error:
        held = sum(target.replicas for target in previous if target.name in {item.name for item in chosen})
        step = "do fresh scale" if fresh else "scale down" if held > replicas else "scale up"
        raise Unschedulable(f"failed to assign replicas: failed to {step}: {error}") from error


def _weight(cluster: Mapping[str, Any], rules: Sequence[Mapping[str, Any]]) -> int:
    return max((rule["weight"] for rule in rules if matches_cluster(rule.get("targetCluster"), cluster)), default=0)
