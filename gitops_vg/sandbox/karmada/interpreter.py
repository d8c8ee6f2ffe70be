"""What Karmada knows of each kind: replicas, status, health, what a member keeps. Pure.

Lua customizations are not run. A ResourceInterpreterCustomization with a statusAggregation
switches on the aggregation of its kind that is built in here (`customized_status`), which for
a Queue is the usual one: Open when every member says Open, Unknown otherwise.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping, Sequence
from typing import Any

from gitops_vg.quantities import amount, format_amount

Body = dict[str, Any]

VOLCANO_JOB = ("batch.volcano.sh/v1alpha1", "Job")
DEPLOYMENT = ("apps/v1", "Deployment")
_REPLICAS = {
    DEPLOYMENT: "replicas",
    ("apps/v1", "StatefulSet"): "replicas",
    ("apps/v1", "ReplicaSet"): "replicas",
    ("batch/v1", "Job"): "parallelism",
}
_WORKLOADS = frozenset({*_REPLICAS, ("apps/v1", "DaemonSet")})
_COUNTS = ("replicas", "readyReplicas", "updatedReplicas", "availableReplicas", "unavailableReplicas")
_HEALTHY_PHASES = frozenset(
    {
        *("Running", "Completed", "Pending", "Aborting", "Aborted", "Restarting", "Completing"),
        *("Terminating", "Terminated"),
    }
)
_JOB_COUNTS = ("minAvailable", "pending", "running", "succeeded", "failed", "terminating", "unknown", "retryCount")


def kind_of(body: Mapping[str, Any]) -> tuple[str, str]:
    return body["apiVersion"], body["kind"]


def replicas_of(body: Mapping[str, Any]) -> tuple[int, Body | None]:
    """Replicas and replicaRequirements of a template; (0, None) when Karmada sees no workload in it.

    A Volcano Job is none with default gates: it is copied whole to every chosen cluster.
    """
    field = _REPLICAS.get(kind_of(body))
    if kind_of(body) == ("v1", "Pod"):
        return 1, _requirements(body["spec"])
    if field is None:
        return 0, None
    spec = body["spec"]
    count = spec.get(field)
    return (1 if count is None else count), _requirements(spec["template"]["spec"])


def _requirements(pod: Mapping[str, Any]) -> Body | None:
    request: dict[str, str] = {}
    for container in pod.get("containers") or []:
        for name, text in _requests(container).items():
            request[name] = text if name not in request else _added(name, request[name], text)
    claim = {key: pod[key] for key in ("nodeSelector", "tolerations") if pod.get(key)}
    affinity = ((pod.get("affinity") or {}).get("nodeAffinity") or {}).get(
        "requiredDuringSchedulingIgnoredDuringExecution"
    )
    if affinity:
        claim["hardNodeAffinity"] = affinity
    found: Body = {}
    if claim:
        found["nodeClaim"] = claim
    if request:
        found["resourceRequest"] = request
    if pod.get("priorityClassName"):
        found["priorityClassName"] = pod["priorityClassName"]
    return found or None


def _requests(container: Mapping[str, Any]) -> dict[str, str]:
    resources = container.get("resources") or {}
    return {**(resources.get("limits") or {}), **(resources.get("requests") or {})}


def _added(name: str, first: str, second: str) -> str:
    return format_amount(name, amount(name, first) + amount(name, second))


def with_replicas(body: Mapping[str, Any], replicas: int) -> Body:
    """The template with its share of replicas for one cluster."""
    share: Body = copy.deepcopy(dict(body))
    field = _REPLICAS.get(kind_of(body))
    if field is not None:
        share["spec"][field] = replicas
    return share


def pruned(body: Mapping[str, Any]) -> Body:
    """A template without what belongs to the control plane's copy: status, identity, owners, a Job's TTL."""
    clean: Body = copy.deepcopy(dict(body))
    metadata = clean["metadata"]
    for key in (
        *("creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "generation", "managedFields"),
        *("resourceVersion", "selfLink", "uid", "ownerReferences", "finalizers"),
    ):
        metadata.pop(key, None)
    clean.pop("status", None)
    if clean["kind"] == "Job":
        clean["spec"].pop("ttlSecondsAfterFinished", None)
    if kind_of(clean) == ("batch/v1", "Job") and not clean["spec"].get("manualSelector"):
        clean["spec"].pop("selector", None)
        labels = (clean["spec"]["template"].get("metadata") or {}).get("labels") or {}
        for key in ("controller-uid", "job-name"):
            labels.pop(key, None)
            labels.pop(f"batch.kubernetes.io/{key}", None)
    if kind_of(clean) == ("v1", "Service"):
        for key in ("clusterIP", "clusterIPs"):
            if clean["spec"].get(key) not in ("None", ["None"]):
                clean["spec"].pop(key, None)
    return clean


def retained(desired: Body, observed: Mapping[str, Any]) -> Body:
    """`desired` with what a member's own controllers wrote on the object it has."""
    spec, seen = desired.get("spec"), observed.get("spec") or {}
    match kind_of(desired):
        case ("v1", "Service") if spec is not None:
            for key in ("clusterIP", "clusterIPs", "healthCheckNodePort"):
                if key in seen and key not in spec:
                    spec[key] = seen[key]
        case ("batch/v1", "Job") if spec is not None:
            for key in ("selector",):
                if key in seen and key not in spec:
                    spec[key] = seen[key]
            labels = (seen.get("template", {}).get("metadata") or {}).get("labels")
            if labels:
                spec["template"].setdefault("metadata", {}).setdefault("labels", {}).update(labels)
        case ("v1", "PersistentVolumeClaim") if spec is not None:
            if "volumeName" in seen:
                spec["volumeName"] = seen["volumeName"]
        case ("v1", "ServiceAccount"):
            for key in ("secrets", "imagePullSecrets"):
                if key in observed:
                    desired.setdefault(key, observed[key])
    return desired


def reflected_status(body: Mapping[str, Any]) -> Body | None:
    """The part of a member object's status that travels up; None when it has none to give."""
    status = body.get("status")
    if kind_of(body) == VOLCANO_JOB:
        keys = (*_JOB_COUNTS, "version", "runningDuration", "taskStatusCount", "controlledResources")
        return {key: status[key] for key in (*keys, "state", "conditions") if status and status.get(key)}
    if kind_of(body) == DEPLOYMENT:
        annotations = body["metadata"].get("annotations") or {}
        found = {
            "generation": body["metadata"].get("generation"),
            "resourceTemplateGeneration": int(annotations.get("resourcetemplate.karmada.io/generation", 0)),
            "observedGeneration": (status or {}).get("observedGeneration"),
            **{key: (status or {}).get(key) for key in _COUNTS},
        }
        return {key: value for key, value in found.items() if value}
    return copy.deepcopy(status) if status is not None else None


def healthy(body: Mapping[str, Any]) -> str:
    """Healthy or Unhealthy. A kind that Karmada knows nothing of is Healthy, whatever it says."""
    status = body.get("status") or {}
    if kind_of(body) == VOLCANO_JOB:
        good = (status.get("state") or {}).get("phase") in _HEALTHY_PHASES
    elif kind_of(body) in (DEPLOYMENT, ("apps/v1", "StatefulSet"), ("apps/v1", "ReplicaSet")):
        good = _rolled_out(body, status)
    elif kind_of(body) == ("v1", "Pod"):
        good = status.get("phase") in ("Running", "Succeeded")
    elif kind_of(body) == ("v1", "PersistentVolumeClaim"):
        good = status.get("phase") == "Bound"
    else:
        good = True
    return "Healthy" if good else "Unhealthy"


def _rolled_out(body: Mapping[str, Any], status: Mapping[str, Any]) -> bool:
    updated = status.get("updatedReplicas", 0)
    return bool(
        status.get("observedGeneration", 0) == body["metadata"].get("generation", 0)
        and updated >= body["spec"].get("replicas", 1)
        and status.get("availableReplicas", 0) >= updated
    )


def aggregates(body: Mapping[str, Any], *, customized: bool) -> bool:
    """Whether the status of members reaches the template of this kind at all."""
    return customized or kind_of(body) in (VOLCANO_JOB, *_WORKLOADS)


def aggregated_status(template: Mapping[str, Any], items: Sequence[Mapping[str, Any]], *, now: str) -> Body | None:
    """The template's status from `aggregatedStatus` of its binding; None leaves it without one."""
    if kind_of(template) == VOLCANO_JOB:
        return _job_status(items, now=now)
    if kind_of(template) in _WORKLOADS:
        return _workload_status(template, items)
    return customized_status(template, items)


def _workload_status(template: Mapping[str, Any], items: Sequence[Mapping[str, Any]]) -> Body:
    status: Body = copy.deepcopy(dict(template.get("status") or {}))
    totals = {key: sum((item.get("status") or {}).get(key, 0) for item in items) for key in _COUNTS}
    for key, total in totals.items():
        if total:
            status[key] = total
        else:
            status.pop(key, None)
    generation = template["metadata"].get("generation", 0)
    seen = [
        item["status"]
        for item in items
        if item.get("status")
        and item["status"].get("observedGeneration", 0) >= item["status"].get("generation", 0)
        and item["status"].get("resourceTemplateGeneration", 0) >= generation
    ]
    if len(seen) == len(items):
        status["observedGeneration"] = generation
    return status


def _job_status(items: Sequence[Mapping[str, Any]], *, now: str) -> Body | None:
    if len(items) == 1:
        only = items[0].get("status")
        return copy.deepcopy(only) if only else None
    statuses = [(item["clusterName"], item.get("status") or {}) for item in items]
    total: Body = {key: sum(status.get(key, 0) for _, status in statuses) for key in _JOB_COUNTS}
    total["version"] = max((status.get("version", 0) for _, status in statuses), default=0)
    total["runningDuration"] = max(
        (status.get("runningDuration", "0s") for _, status in statuses), key=_seconds, default="0s"
    )
    failed = [name for name, status in statuses if (status.get("state") or {}).get("phase") in ("Failed", "Aborted")]
    done = [name for name, status in statuses if (status.get("state") or {}).get("phase") == "Completed"]
    if failed:
        words = f"Job failed in clusters: {','.join(failed)}"
        total["state"] = {"phase": "Failed", "reason": "VolcanoJobFailed", "message": words, "lastTransitionTime": now}
    elif done and len(done) == len(items):
        words = "Job completed successfully"
        total["state"] = {"phase": "Completed", "reason": "Completed", "message": words, "lastTransitionTime": now}
    tasks: dict[str, dict[str, int]] = {}
    for _, status in statuses:
        for task, counts in (status.get("taskStatusCount") or {}).items():
            for phase, count in (counts.get("phase") or {}).items():
                phases = tasks.setdefault(task, {})
                phases[phase] = phases.get(phase, 0) + count
    total["taskStatusCount"] = {task: {"phase": phases} for task, phases in tasks.items()}
    latest: dict[str, Body] = {}
    for _, status in statuses:
        for condition in status.get("conditions") or []:
            known = latest.get(condition["status"])
            if known is None or condition["lastTransitionTime"] > known["lastTransitionTime"]:
                latest[condition["status"]] = condition
    total["conditions"] = sorted(latest.values(), key=lambda item: str(item["lastTransitionTime"]))
    return {key: value for key, value in total.items() if value not in (0, "0s", {}, [])}


def _seconds(duration: str) -> float:
    units = {"h": 3600.0, "m": 60.0, "s": 1.0}
    return sum(float(number) * units[unit] for number, unit in re.findall(r"([0-9.]+)([hms])", duration))


def customized_status(template: Mapping[str, Any], items: Sequence[Mapping[str, Any]]) -> Body | None:
    """What a customization's statusAggregation gives: one member's status whole, several by their state."""
    statuses = [item.get("status") or {} for item in items]
    if template["kind"] == "Queue":
        status: Body = copy.deepcopy(dict(template.get("status") or {}))
        status["state"] = "Open" if all(item.get("state") == "Open" for item in statuses) else "Unknown"
        return status
    return copy.deepcopy(dict(statuses[0])) if len(statuses) == 1 else None
