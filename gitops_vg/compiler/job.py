"""Volcano Jobs and CronJobs, written out with every default that Volcano's webhook would add.

The webhook mutates on CREATE only, and compares on UPDATE: a Job that was not rendered with its defaults
is refused by the member at the first touch (any label), and its status is emptied. `spec.tasks` is owned
as one list, so nothing may be left out of it.
"""

from __future__ import annotations

from typing import Any

from gitops_vg.apis import catalog
from gitops_vg.apis.structural import default
from gitops_vg.compiler.labels import QOS_ANNOTATION, QOS_LEVELS, intent_metadata
from gitops_vg.intents.models import JobSpec, Task, Workload
from gitops_vg.intents.pods import gang_minimum, pod_template, task_minimum
from gitops_vg.objects import GroupKind, Manifest

SCHEDULER = "volcano"
_TASK_MAX_RETRY = 3
_EVICTION_ACTIONS = {"restart": "RestartJob", "abort": "AbortJob"}
_NEEDS_SERVICE = frozenset({"tensorflow", "mpi", "pytorch", "ray"})
_JOB = GroupKind("batch.volcano.sh", "Job")
_CRON_JOB = GroupKind("batch.volcano.sh", "CronJob")


def job(workload: Workload, *, protect: bool) -> Manifest:
    """The Volcano Job of a workload."""
    return _completed(
        {
            "apiVersion": "batch.volcano.sh/v1alpha1",
            "kind": "Job",
            "metadata": intent_metadata(workload.metadata, namespace=workload.namespace, protect=protect),
            "spec": _job_spec(workload),
        },
        kind=_JOB,
        workload=workload,
    )


def cron_job(workload: Workload, *, protect: bool) -> Manifest:
    """The Volcano CronJob of a periodic workload. Its webhook neither checks nor defaults the job inside."""
    spec: dict[str, Any] = {
        "schedule": workload.spec.schedule,
        "concurrencyPolicy": "Allow",
        "suspend": False,
        "successfulJobsHistoryLimit": 3,
        "failedJobsHistoryLimit": 1,
        "jobTemplate": {"spec": _job_spec(workload)},
    }
    if workload.spec.time_zone is not None:
        spec["timeZone"] = workload.spec.time_zone
    return _completed(
        {
            "apiVersion": "batch.volcano.sh/v1alpha1",
            "kind": "CronJob",
            "metadata": intent_metadata(workload.metadata, namespace=workload.namespace, protect=protect),
            "spec": spec,
        },
        kind=_CRON_JOB,
        workload=workload,
    )


def _completed(body: dict[str, Any], *, kind: GroupKind, workload: Workload) -> Manifest:
    """With the defaults of the CRD inside pod templates (protocols, names of references)."""
    known = catalog().of(kind)
    assert known is not None
    assert known.written_schema is not None
    return Manifest(default(known.written_schema, body), origin=f"Workload {workload.key}")


def _job_spec(workload: Workload) -> dict[str, Any]:
    job = workload.spec.job
    assert job is not None
    spec: dict[str, Any] = {
        "schedulerName": SCHEDULER,
        "queue": workload.spec.queue or "default",
        "minAvailable": gang_minimum(job),
        "maxRetry": job.max_retry,
        "tasks": [_task(workload, job, task) for task in job.tasks],
    }
    if workload.spec.priority_class is not None:
        spec["priorityClassName"] = workload.spec.priority_class
    if plugins := _plugins(job):
        spec["plugins"] = plugins
    if job.on_evict != "ignore":
        spec["policies"] = [{"event": "PodEvicted", "action": _EVICTION_ACTIONS[job.on_evict]}]
    return spec


def _plugins(job: JobSpec) -> dict[str, list[str]]:
    given = job.plugins
    plugins = (
        {name: list(arguments) for name, arguments in given.items()}
        if isinstance(given, dict)
        else {name: [] for name in given}
    )
    if _NEEDS_SERVICE & plugins.keys():
        plugins.setdefault("svc", [])
    if "mpi" in plugins:
        plugins.setdefault("ssh", [])
    return plugins


def _task(workload: Workload, job: JobSpec, task: Task) -> dict[str, Any]:
    template = pod_template(task, container=task.name)
    spec = template["spec"]
    # Kubernetes' own default is Always: a batch container that ends would run again for ever.
    spec.setdefault("restartPolicy", "OnFailure")
    if spec.get("hostNetwork") and not spec.get("dnsPolicy"):
        spec["dnsPolicy"] = "ClusterFirstWithHostNet"
    if workload.spec.priority_class is not None:
        spec.setdefault("priorityClassName", workload.spec.priority_class)
    pod_metadata = template.setdefault("metadata", {})
    pod_metadata["annotations"] = {QOS_ANNOTATION: QOS_LEVELS[workload.qos], **pod_metadata.get("annotations", {})}
    return {
        "name": task.name,
        "replicas": task.replicas,
        "minAvailable": task_minimum(job, task),
        "maxRetry": _TASK_MAX_RETRY,
        "template": template,
    }
