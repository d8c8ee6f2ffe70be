"""What runs in a member: Volcano with its webhooks, schedulers, kubelets, controllers of workloads."""

from __future__ import annotations

from collections.abc import Callable

from gitops_vg.apis.catalog import Kind
from gitops_vg.objects import GroupKind
from gitops_vg.sandbox.api import AdmissionRequest
from gitops_vg.sandbox.karmada.admission import denied, well_formed
from gitops_vg.sandbox.karmada.control import Objects
from gitops_vg.sandbox.karmada.placing import QUEUE, Placing
from gitops_vg.sandbox.karmada.services import Services
from gitops_vg.sandbox.karmada.volcano_admission import (
    changed_job_complaint,
    deleted_queue_complaint,
    mutated_job,
    mutated_queue,
    new_job_complaint,
    queue_complaint,
)
from gitops_vg.sandbox.karmada.volcano_jobs import JOB, VolcanoJobs
from gitops_vg.sandbox.karmada.volcano_queues import VolcanoQueues
from gitops_vg.sandbox.store import Object

JOBS_HOOK, QUEUES_HOOK = "jobs-validate.volcano.sh", "queues-validate.volcano.sh"


class Dataplane:
    """The running part of one member."""

    def __init__(self, objects: Objects, *, now: Callable[[], str], job_seconds: float) -> None:
        self._objects = objects
        self._volcano_queues = VolcanoQueues(objects, now=now)
        self.parts = (
            self._volcano_queues,
            VolcanoJobs(objects, now=now),
            Placing(objects, now=now, job_seconds=job_seconds),
            Services(objects, now=now),
        )
        self.queues = tuple(queue for part in self.parts for queue in part.queues)

    def start(self) -> None:
        """Register the webhooks and create Volcano's own queues."""
        self._objects.api.mutating.append(self._mutate)
        self._objects.api.validating.append(self._validate)
        self._volcano_queues.start()

    def _mutate(self, request: AdmissionRequest) -> Object | None:
        if request.operation != "CREATE" or request.object is None or not well_formed(request):
            return None
        if request.kind.group_kind == JOB:
            return mutated_job(request.object)
        return mutated_queue(request.object) if request.kind.group_kind == QUEUE else None

    def _validate(self, request: AdmissionRequest) -> None:
        if request.subresource or request.kind.group_kind not in (JOB, QUEUE):
            return
        hook = JOBS_HOOK if request.kind.group_kind == JOB else QUEUES_HOOK
        complaint = self._job(request) if request.kind.group_kind == JOB else self._queue(request)
        if complaint:
            raise denied(hook, complaint)

    def _job(self, request: AdmissionRequest) -> str:
        if request.object is None:
            return ""
        if request.old is None:
            return new_job_complaint(request.object, find_queue=self._find, children=self._children)
        return changed_job_complaint(request.object, old=request.old)

    def _queue(self, request: AdmissionRequest) -> str:
        if request.object is None:
            return deleted_queue_complaint(request.name, children=self._children(request.name))
        return queue_complaint(request.object, old=request.old, queues=self._objects.list(QUEUE))

    def _find(self, name: str) -> Object | None:
        return self._objects.api.find(self._kind(QUEUE), "", name)

    def _children(self, name: str) -> int:
        return sum(1 for queue in self._objects.list(QUEUE) if (queue.get("spec") or {}).get("parent") == name)

    def _kind(self, group_kind: GroupKind) -> Kind:
        return self._objects.api.kind(*group_kind)
