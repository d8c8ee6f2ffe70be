"""Volcano Jobs and CronJobs of batch workloads, with every default written out."""

from __future__ import annotations

from typing import Any

from gitops_vg.compiler.labels import QOS_ANNOTATION, QOS_LEVELS, intent_metadata
from gitops_vg.compiler.volcano import with_defaults
from gitops_vg.intents.models import JobSpec, Task, Workload
from gitops_vg.intents.pods import gang_minimum, pod_template, task_minimum
from gitops_vg.objects import Manifest

_API = "batch.volcano.sh/v1alpha1"
_EVICTION_ACTIONS = {"restart": "RestartJob", "abort": "AbortJob"}


def job(workload: Workload, *, protect: bool) -> Manifest:
    """The Volcano Job of a workload."""
    return _manifest(workload, kind="Job", spec=_job_spec(workload), protect=protect)


def cron_job(workload: Workload, *, protect: bool) -> Manifest:
    """The Volcano CronJob of a periodic workload."""
    spec: dict[str, Any] = {"schedule": workload.spec.schedule, "jobTemplate": {"spec": _job_spec(workload)}}
    if workload.spec.time_zone is not None:
        spec["timeZone"] = workload.spec.time_zone
    return _manifest(workload, kind="CronJob", spec=spec, protect=protect)


def _manifest(workload: Workload, *, kind: str, spec: dict[str, Any], protect: bool) -> Manifest:
    metadata = intent_metadata(workload.metadata, namespace=workload.namespace, protect=protect)
    body = {"apiVersion": _API, "kind": kind, "metadata": metadata, "spec": spec}
    return Manifest(with_defaults(body), origin=f"Workload {workload.key}")


def _job_spec(workload: Workload) -> dict[str, Any]:
    job = workload.spec.job
    assert job is not None
    spec: dict[str, Any] = {
        "queue": workload.spec.queue,
        "minAvailable": gang_minimum(job),
        "maxRetry": job.max_retry,
        "tasks": [_task(workload, job, task) for task in job.tasks],
    }
    if workload.spec.priority_class is not None:
        spec["priorityClassName"] = workload.spec.priority_class
    if job.plugins:
        given = job.plugins
        spec["plugins"] = given if isinstance(given, dict) else dict.fromkeys(given, ())
    if job.on_evict != "ignore":
        spec["policies"] = [{"event": "PodEvicted", "action": _EVICTION_ACTIONS[job.on_evict]}]
    return spec


def _task(workload: Workload, job: JobSpec, task: Task) -> dict[str, Any]:
    template = pod_template(task, container=task.name)
    spec = template["spec"]
    # Kubernetes' own default is Always: a batch container that ends would run again for ever.
    spec.setdefault("restartPolicy", "OnFailure")
    if workload.spec.priority_class is not None:
        spec.setdefault("priorityClassName", workload.spec.priority_class)
    pod_metadata = template["metadata"] = template.get("metadata") or {}
    given = pod_metadata.get("annotations") or {}
    pod_metadata["annotations"] = {QOS_ANNOTATION: QOS_LEVELS[workload.qos], **given}
    return {
        "name": task.name,
        "replicas": task.replicas,
        "minAvailable": task_minimum(job, task),
        "template": template,
    }
