"""Volcano's job controller in a member: PodGroup, pods, phases and counters of each Job.

Pods end well after their time; nothing fails by itself here, so the policies of a Job never act.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from gitops_vg.objects import GroupKind, ObjectKey, key_of
from gitops_vg.sandbox.karmada.control import Body, Objects, Queue
from gitops_vg.sandbox.karmada.resources import canonical, pod_requests
from gitops_vg.sandbox.store import Event

MANAGER = "vc-controller-manager"
JOB = GroupKind("batch.volcano.sh", "Job")
POD = GroupKind("", "Pod")
POD_GROUP = GroupKind("scheduling.volcano.sh", "PodGroup")
GROUP_ANNOTATION = "scheduling.k8s.io/group-name"
JOB_LABEL = "volcano.sh/job-name"
FINISHED = ("Completed", "Failed", "Terminated", "Aborted")


class VolcanoJobs:
    """Brings every Job from Pending over Running to Completed, as its pods allow."""

    def __init__(self, objects: Objects, *, now: Callable[[], str]) -> None:
        self._objects = objects
        self._now = now
        self._jobs: Queue[ObjectKey] = Queue("volcano-jobs", self._reconcile)
        self.queues = (self._jobs,)

    def on_event(self, event: Event) -> None:
        body = event.object
        if event.kind.group_kind == JOB and event.type != "DELETED":
            self._jobs.add(key_of(body))
        elif event.kind.group_kind in (POD, POD_GROUP):
            owner = _owner(body)
            if owner is not None:
                self._jobs.add(owner)

    def _reconcile(self, key: ObjectKey) -> float | None:
        job = self._objects.get(key)
        if job is None or job["metadata"].get("deletionTimestamp"):
            return None
        phase = ((job.get("status") or {}).get("state") or {}).get("phase", "")
        if phase in FINISHED:
            return None
        if not phase:
            job = self._report(job, phase="Pending", pods=[])
        group = self._ensure_group(job)
        pods = self._objects.owned(job, kind="Pod")
        if (group.get("status") or {}).get("phase") in ("Inqueue", "Running"):
            pods = self._ensure_pods(job, group, pods)
        self._advance(job, pods)
        return None

    def _ensure_group(self, job: Mapping[str, Any]) -> Body:
        wanted = pod_group(job)
        live = self._objects.get(key_of(wanted))
        if live is None:
            return self._objects.create(wanted, manager=MANAGER)
        if live["spec"]["minMember"] == wanted["spec"]["minMember"]:
            return live
        return self._objects.update({**live, "spec": {**live["spec"], **wanted["spec"]}}, manager=MANAGER)

    def _ensure_pods(self, job: Mapping[str, Any], group: Mapping[str, Any], pods: Sequence[Body]) -> list[Body]:
        wanted = {pod["metadata"]["name"]: pod for pod in pods_of(job, group=group["metadata"]["name"])}
        there = {pod["metadata"]["name"]: pod for pod in pods}
        for name, pod in there.items():
            if name not in wanted and not pod["metadata"].get("deletionTimestamp"):
                self._objects.delete(key_of(pod))
        for name, pod in wanted.items():
            if name not in there:
                there[name] = self._objects.create(pod, manager=MANAGER)
        return [pod for name, pod in there.items() if name in wanted]

    def _advance(self, job: Body, pods: Sequence[Body]) -> None:
        counts = Counter((pod.get("status") or {}).get("phase", "Pending") for pod in pods)
        least = job["spec"].get("minAvailable", 0)
        total = sum(task.get("replicas", 0) for task in job["spec"]["tasks"])
        phase = job["status"]["state"]["phase"]
        done = counts["Succeeded"]
        if pods and done == total:
            self._complete(job)
        elif counts["Running"] + done >= max(least, 1) and pods:
            self._report(job, phase="Running", pods=pods)
        else:
            self._report(job, phase=phase, pods=pods)

    def _report(self, job: Body, *, phase: str, pods: Sequence[Body]) -> Body:
        status = copy.deepcopy(job.get("status") or {})
        before = copy.deepcopy(status)
        self._enter(status, phase)
        status["minAvailable"] = job["spec"].get("minAvailable", 0)
        for name in ("pending", "running", "succeeded", "failed", "taskStatusCount"):
            status.pop(name, None)
        tasks: dict[str, Counter[str]] = {}
        for pod in pods:
            state = (pod.get("status") or {}).get("phase", "Pending")
            status[state.lower()] = status.get(state.lower(), 0) + 1
            task = pod["metadata"]["annotations"]["volcano.sh/task-spec"]
            tasks.setdefault(task, Counter())[state] += 1
        if tasks:
            status["taskStatusCount"] = {task: {"phase": dict(counts)} for task, counts in tasks.items()}
        return job if status == before else self._store(job, status)

    def _complete(self, job: Body) -> None:
        status: Body = {
            "conditions": copy.deepcopy(job["status"].get("conditions") or []),
            "state": copy.deepcopy(job["status"]["state"]),
            "minAvailable": job["spec"].get("minAvailable", 0),
            # The controller counts how often it set out to bring a job to its end.
            "version": 2,
        }
        began = next((item["lastTransitionTime"] for item in status["conditions"] if item["status"] == "Pending"), "")
        self._enter(status, "Completed")
        status["runningDuration"] = f"{_seconds(began, self._now())}s"
        self._store(job, status)
        # A job that is over has no gang any more; its pods stay, ended.
        self._objects.delete(key_of(pod_group(job)), manager=MANAGER)

    def _enter(self, status: Body, phase: str) -> None:
        if (status.get("state") or {}).get("phase") != phase:
            status["state"] = {"phase": phase, "lastTransitionTime": self._now()}
            status.setdefault("conditions", []).append({"status": phase, "lastTransitionTime": self._now()})

    def _store(self, job: Body, status: Body) -> Body:
        return self._objects.update({**job, "status": status}, manager=MANAGER, status=True)


def _owner(body: Mapping[str, Any]) -> ObjectKey | None:
    for owner in body["metadata"].get("ownerReferences") or []:
        if (owner["apiVersion"], owner["kind"]) == ("batch.volcano.sh/v1alpha1", "Job"):
            return ObjectKey(JOB.group, JOB.kind, body["metadata"]["namespace"], owner["name"])
    return None


def _seconds(start: str, end: str) -> int:
    form = "%Y-%m-%dT%H:%M:%SZ"
    return int((datetime.strptime(end, form) - datetime.strptime(start, form)).total_seconds()) if start else 0


def _reference(job: Mapping[str, Any]) -> Body:
    metadata = job["metadata"]
    return {
        "apiVersion": job["apiVersion"],
        "kind": job["kind"],
        "name": metadata["name"],
        "uid": metadata["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }


def pod_group(job: Mapping[str, Any]) -> Body:
    """The PodGroup of a Job: its gang, its queue, and what the gang needs at least."""
    metadata, spec = job["metadata"], job["spec"]
    need = _minimum(spec)
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "metadata": {
            "name": f"{metadata['name']}-{metadata['uid']}",
            "namespace": metadata["namespace"],
            "ownerReferences": [_reference(job)],
        },
        "spec": {
            "minMember": spec.get("minAvailable", 0),
            "minTaskMember": {task["name"]: task.get("minAvailable", 0) for task in spec["tasks"]},
            "queue": spec.get("queue", "default"),
            "minResources": need,
            **({"priorityClassName": spec["priorityClassName"]} if spec.get("priorityClassName") else {}),
        },
    }


def _minimum(spec: Mapping[str, Any]) -> dict[str, str]:
    """Requests of the gang's pods, tasks in order until the gang is full."""
    left = spec.get("minAvailable", 0)
    total: dict[str, Any] = {}
    for task in spec["tasks"]:
        count = min(left, task.get("replicas", 0))
        left -= count
        for name, value in pod_requests(task["template"].get("spec") or {}).items():
            total[name] = total.get(name, 0) + value * count
    return {name: canonical(value, binary=name in ("memory", "ephemeral-storage")) for name, value in total.items()}


def pods_of(job: Mapping[str, Any], *, group: str) -> list[Body]:
    """Every pod that a Job wants, named `<job>-<task>-<index>`."""
    metadata, spec = job["metadata"], job["spec"]
    pods = []
    for task in spec["tasks"]:
        template = task["template"]
        for index in range(task.get("replicas", 0)):
            inner = copy.deepcopy(template.get("metadata") or {})
            pod = copy.deepcopy(template.get("spec") or {})
            pod["schedulerName"] = spec.get("schedulerName", "volcano")
            if spec.get("priorityClassName"):
                pod.setdefault("priorityClassName", spec["priorityClassName"])
            keys = {JOB_LABEL: metadata["name"], "volcano.sh/job-namespace": metadata["namespace"]}
            pods.append(
                {
                    "apiVersion": "v1",
                    "kind": "Pod",
                    "metadata": {
                        "name": f"{metadata['name']}-{task['name']}-{index}",
                        "namespace": metadata["namespace"],
                        "labels": {
                            **(inner.get("labels") or {}),
                            **keys,
                            "volcano.sh/queue-name": spec.get("queue", "default"),
                            "volcano.sh/task-spec": task["name"],
                            "volcano.sh/task-index": str(index),
                        },
                        "annotations": {
                            **(inner.get("annotations") or {}),
                            **keys,
                            GROUP_ANNOTATION: group,
                            "volcano.sh/task-spec": task["name"],
                        },
                        "ownerReferences": [_reference(job)],
                    },
                    "spec": pod,
                }
            )
    return pods
