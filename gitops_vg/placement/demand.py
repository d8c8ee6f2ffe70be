"""What a workload asks for: its pods by task, their sizes and constraints, its queue and rank."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from gitops_vg.errors import InputError
from gitops_vg.intents.fleet import Intents
from gitops_vg.intents.models import Mode, PodShort, Workload
from gitops_vg.intents.pods import gang_minimum, pod_template, task_minimum, template_requests
from gitops_vg.objects import GroupKind
from gitops_vg.quantities import OVERSOLD_CPU, OVERSOLD_MEMORY, Amounts

DEFAULT_QUEUE = "default"
"""The queue that Volcano gives a job that names none."""

_SYSTEM_PRIORITIES = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}
"""Classes that every Kubernetes cluster has."""

_KINDS = {
    "job": GroupKind("batch.volcano.sh", "Job"),
    "periodic": GroupKind("batch.volcano.sh", "CronJob"),
    "service": GroupKind("apps", "Deployment"),
}


@dataclass(frozen=True, eq=False)
class PodShape:
    """One pod: what it takes, and which nodes it accepts. Amounts of 0 are left out."""

    requests: Amounts
    selector: Mapping[str, str]
    terms: tuple[Mapping[str, Any], ...]
    """Required node affinity: any term may hold, all expressions of a term must."""
    tolerations: tuple[Mapping[str, Any], ...]

    @property
    def constrained(self) -> bool:
        """Whether the labels of a node matter."""
        return bool(self.selector or self.terms)


@dataclass(frozen=True)
class TaskDemand:
    """Pods of one shape. `minimum` of them must start together; a service's task is named ""."""

    name: str
    replicas: int
    minimum: int
    shape: PodShape


@dataclass(frozen=True)
class Demand:
    """A workload as placement sees it. `mode` is what it really does: a job is never divided."""

    workload: Workload
    mode: Mode
    tasks: tuple[TaskDemand, ...]
    kinds: tuple[str, ...]
    queue: str
    priority: int

    @property
    def key(self) -> str:
        return self.workload.key

    @property
    def form(self) -> str:
        return self.workload.form

    @cached_property
    def replicas(self) -> int:
        """All its pods; 1 for raw manifests, whose pods are not counted."""
        return sum(task.replicas for task in self.tasks) if self.form != "manifests" else 1

    @cached_property
    def total(self) -> Amounts:
        """What all its pods together take: what its queue is charged, for one cluster."""
        result: dict[str, int] = {}
        for task in self.tasks:
            for name, value in task.shape.requests.items():
                if task.replicas:
                    result[name] = result.get(name, 0) + value * task.replicas
        return result

    @cached_property
    def oversold(self) -> tuple[str, ...]:
        """The oversold resources it asks for."""
        asked = {name for task in self.tasks for name in task.shape.requests}
        return tuple(sorted(asked & {OVERSOLD_CPU, OVERSOLD_MEMORY}))


def demands_of(intents: Intents) -> list[Demand]:
    """All workloads as demands, in order of their key.

    Raises InputError for a quantity that is none; rules report those with their place before.
    """
    priorities = {one.name: one.spec.value for one in intents.priority_classes}
    default = max((one.spec.value for one in intents.priority_classes if one.spec.global_default), default=0)
    result = []
    for workload in sorted(intents.workloads, key=lambda one: one.key):
        name = workload.spec.priority_class
        priority = {**_SYSTEM_PRIORITIES, **priorities}.get(name, default) if name else default
        result.append(_demand(workload, priority=priority))
    return result


def _demand(workload: Workload, *, priority: int) -> Demand:
    mode = workload.mode
    try:
        tasks = tuple(_tasks(workload))
    except ValueError as error:
        raise InputError(
            f"{workload.source()}: workload {workload.key} cannot be planned: {error}",
            findings=(),
            hint="run `gitops-vg validate`, which names the field",
        ) from error
    return Demand(
        workload=workload,
        mode="one" if mode == "divide" and workload.form != "service" else mode,
        tasks=tasks,
        kinds=tuple(_kinds(workload)),
        queue=workload.spec.queue or (DEFAULT_QUEUE if workload.spec.job is not None else ""),
        priority=priority,
    )


def _kinds(workload: Workload) -> Iterable[str]:
    if workload.form in _KINDS:
        return [str(_KINDS[workload.form])]
    kinds = {
        str(GroupKind(str(body.get("apiVersion", "")).rpartition("/")[0], str(body.get("kind", ""))))
        for body in workload.raw
    }
    return sorted(kinds)


def _tasks(workload: Workload) -> Iterable[TaskDemand]:
    """Tasks with the minimums that must fit together: those of the tasks, filled up to the gang's."""
    if workload.spec.service is not None:
        service = workload.spec.service
        yield TaskDemand("", service.replicas, service.replicas, _shape(service))
    if workload.spec.job is None:
        return
    job = workload.spec.job
    minimums = [min(task.replicas, task_minimum(job, task)) for task in job.tasks]
    lacking = gang_minimum(job) - sum(minimums)
    for task, minimum in zip(job.tasks, minimums, strict=True):
        more = max(0, min(lacking, task.replicas - minimum))
        lacking -= more
        yield TaskDemand(task.name, task.replicas, minimum + more, _shape(task))


def _shape(pod: PodShort) -> PodShape:
    template = pod_template(pod, container="main")
    spec = template["spec"]
    affinity = ((spec.get("affinity") or {}).get("nodeAffinity") or {}).get(
        "requiredDuringSchedulingIgnoredDuringExecution"
    ) or {}
    return PodShape(
        requests={name: value for name, value in template_requests(template).items() if value > 0},
        selector=spec.get("nodeSelector") or {},
        terms=tuple(affinity.get("nodeSelectorTerms") or ()),
        tolerations=tuple(spec.get("tolerations") or ()),
    )
