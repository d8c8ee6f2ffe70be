"""What Volcano's webhook and CRDs would write into Jobs and CronJobs, written before they do.

The webhook mutates on CREATE only, and compares on UPDATE: a Job that was not rendered with its defaults
is refused by the member at the first touch (any label), and its status is emptied. `spec.tasks` is owned
as one list, so nothing may be left out of it. Inside a CronJob nobody defaults the job at all.
"""

from __future__ import annotations

from typing import Any

from gitops_vg.compiler.defaults import schema_defaults
from gitops_vg.objects import GroupKind

_GROUP = "batch.volcano.sh"
JOB = GroupKind(_GROUP, "Job")
CRON_JOB = GroupKind(_GROUP, "CronJob")

_SCHEDULER = "volcano"
_MAX_RETRY = 3
_NEEDS_SERVICE = frozenset({"tensorflow", "mpi", "pytorch", "ray"})

Body = dict[str, Any]


def with_defaults(body: Body) -> Body:
    """A Job or CronJob with every default of its CRD and of Volcano's webhook (mutate_job.go), in that order."""
    completed = schema_defaults(body)
    spec = completed.get("spec") or {}
    if body["kind"] == CRON_JOB.kind:
        template = spec.get("jobTemplate") or {}
        spec = {**spec, "jobTemplate": {**template, "spec": _job_spec(template.get("spec") or {})}}
    else:
        spec = _job_spec(spec)
    return {**completed, "spec": spec}


def _job_spec(given: Body) -> Body:
    spec = dict(given)
    spec["queue"] = spec.get("queue") or "default"
    spec["schedulerName"] = spec.get("schedulerName") or _SCHEDULER
    spec["maxRetry"] = spec.get("maxRetry") or _MAX_RETRY
    spec["tasks"] = [_task(task, index=index) for index, task in enumerate(spec.get("tasks") or ())]
    spec["minAvailable"] = spec.get("minAvailable") or sum(task["minAvailable"] for task in spec["tasks"])
    if spec.get("plugins"):
        spec["plugins"] = _plugins(spec["plugins"])
    return spec


def _task(given: Body, *, index: int) -> Body:
    task = dict(given)
    task["name"] = task.get("name") or f"default{index}"
    if task.get("minAvailable") is None:
        task["minAvailable"] = _together(task)
    task["maxRetry"] = task.get("maxRetry") or _MAX_RETRY
    template = task.get("template") or {}
    pod = template.get("spec") or {}
    if pod.get("hostNetwork") and not pod.get("dnsPolicy"):
        task["template"] = {**template, "spec": {**pod, "dnsPolicy": "ClusterFirstWithHostNet"}}
    return task


def _together(task: Body) -> int:
    """How many pods of a task must start together when it does not say: whole partitions, else all."""
    partitions = task.get("partitionPolicy") or {}
    if partitions.get("minPartitions"):
        return int(partitions["minPartitions"]) * int(partitions["partitionSize"])
    return int(task.get("replicas") or 0)


def _plugins(given: Body) -> Body:
    plugins = {name: list(arguments or ()) for name, arguments in given.items()}
    if _NEEDS_SERVICE & plugins.keys():
        plugins.setdefault("svc", [])
    if "mpi" in plugins:
        plugins.setdefault("ssh", [])
    return plugins
