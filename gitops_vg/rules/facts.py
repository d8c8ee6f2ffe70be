"""What rules look at: the intents, and what follows from them, worked out once for all rules."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from gitops_vg.findings import Location
from gitops_vg.intents.fleet import Intents
from gitops_vg.intents.models import Cluster, ClusterChoice, Intent, PodShort, Queue, Where, Workload
from gitops_vg.intents.pods import pod_template, task_minimum, template_requests
from gitops_vg.intents.source import Path
from gitops_vg.objects import ObjectKey, key_of
from gitops_vg.quantities import OVERSOLD_CPU, OVERSOLD_MEMORY
from gitops_vg.rules.podschema import TemplateFault, template_faults

VOLCANO_BATCH = "batch.volcano.sh"
DEFAULT_QUEUE = "default"
"""The queue every Volcano has; a job that names none goes there."""
ROOT_QUEUE = "root"


@dataclass(frozen=True, eq=False)
class Pod:
    """The pods of a service, or of one task: where they stand, and their merged template.

    `template` is None when the written one has faults, or a quantity is none.
    """

    workload: Workload
    path: Path
    short: PodShort
    replicas: int
    faults: tuple[TemplateFault, ...]
    template: Mapping[str, Any] | None

    @cached_property
    def requests(self) -> Mapping[str, int] | None:
        """What one pod takes; None when it cannot be counted."""
        if self.template is None:
            return None
        try:
            return template_requests(self.template)
        except ValueError:
            return None

    @property
    def containers(self) -> Iterator[tuple[Path, Mapping[str, Any]]]:
        """Each container with its path in the intent; the short form is merged into the first."""
        if self.template is None:
            return
        for field in ("initContainers", "containers"):
            for index, container in enumerate(self.template.get("spec", {}).get(field) or ()):
                yield (*self.path, "template", "spec", field, index), container

    @property
    def oversold(self) -> tuple[str, ...]:
        asked = self.requests or {}
        return tuple(name for name in (OVERSOLD_CPU, OVERSOLD_MEMORY) if asked.get(name))


class Owned(NamedTuple):
    """An object of the control plane or of members that follows from an intent."""

    key: ObjectKey
    intent: Intent
    at: Location
    what: str
    """How the object came about: "Workload ml/train", "the svc plugin of Workload ml/train"."""


class Choice(NamedTuple):
    """One `clusters` block that a workload has to obey, and where it stands."""

    intent: Intent
    path: Path
    choice: ClusterChoice


@dataclass(frozen=True, eq=False)
class Facts:
    """The intents of a fleet with everything that more than one rule derives from them."""

    intents: Intents

    @cached_property
    def pods(self) -> tuple[Pod, ...]:
        """The pods of all workloads that have some of their own (raw manifests do not)."""
        return tuple(pod for workload in self.intents.workloads for pod in _pods(workload))

    @cached_property
    def pods_of(self) -> Mapping[str, tuple[Pod, ...]]:
        """Pods by the key of their workload."""
        result: dict[str, tuple[Pod, ...]] = {}
        for pod in self.pods:
            result[pod.workload.key] = (*result.get(pod.workload.key, ()), pod)
        return result

    def gang_requests(self, workload: Workload) -> Mapping[str, int] | None:
        """What the pods that must start together take; None when it cannot be counted."""
        job = workload.spec.job
        assert job is not None
        total: dict[str, int] = {}
        for task, pod in zip(job.tasks, self.pods_of[workload.key], strict=True):
            if pod.requests is None:
                return None
            for name, value in pod.requests.items():
                total[name] = total.get(name, 0) + value * task_minimum(job, task)
        return total

    @cached_property
    def objects(self) -> tuple[Owned, ...]:
        """Objects that follow from workloads: rendered ones, raw ones, and what Volcano's plugins make beside."""
        return tuple(owned for workload in self.intents.workloads for owned in _objects(workload))

    @cached_property
    def children(self) -> Mapping[str, tuple[Queue, ...]]:
        """Queues by the name of their parent, `root` included."""
        result: dict[str, tuple[Queue, ...]] = {}
        for queue in self.intents.queues:
            result[queue.spec.parent] = (*result.get(queue.spec.parent, ()), queue)
        return result

    def ancestors(self, queue: Queue) -> Iterator[Queue]:
        """Parents upwards, `root` and what is not declared left out; ends at a cycle."""
        seen = {queue.name}
        parent = self.intents.queue.get(queue.spec.parent)
        while parent is not None and parent.name not in seen:
            yield parent
            seen.add(parent.name)
            parent = self.intents.queue.get(parent.spec.parent)

    @cached_property
    def _choices(self) -> dict[str, tuple[Choice, ...]]:
        return {}

    def choices(self, workload: Workload) -> tuple[Choice, ...]:
        """The cluster choices of a workload and of all policies that apply to it."""
        known = self._choices.get(workload.key)
        if known is None:
            own = Choice(workload, ("spec", "placement", "clusters"), workload.spec.placement.clusters)
            policies = self.intents.policies_of(workload)
            known = (own, *(Choice(policy, ("spec", "clusters"), policy.spec.clusters) for policy in policies))
            self._choices[workload.key] = known
        return known

    @cached_property
    def _admitted(self) -> dict[tuple[str, str], frozenset[str]]:
        return {}

    def admitted(self, choice: Choice) -> frozenset[str]:
        """The names of the clusters that a choice lets in."""
        key = (choice.intent.kind_name, getattr(choice.intent, "key", choice.intent.name))
        known = self._admitted.get(key)
        if known is None:
            known = frozenset(one.name for one in self.intents.clusters if may_be(one, choice.choice))
            self._admitted[key] = known
        return known

    def candidates(self, workload: Workload) -> tuple[Cluster, ...]:
        """Declared clusters that nothing written rules out; live capacity may still do so."""
        choices = [self.admitted(choice) for choice in self.choices(workload) if choice.choice.model_fields_set]
        return tuple(
            cluster
            for cluster in self.intents.clusters
            if all(cluster.name in admitted for admitted in choices)
            and not (workload.qos == "online" and cluster.spec.packing == "binpack")
        )


def may_be(cluster: Cluster, choice: ClusterChoice) -> bool:
    """Whether a choice lets a cluster in, as far as intents can tell."""
    named = not choice.names or cluster.name in choice.names
    return named and cluster.name not in choice.exclude and not any(contradictions(cluster, choice.where))


def contradictions(cluster: Cluster, where: Where) -> Iterator[str]:
    """The fields of `where` that the cluster is declared not to meet.

    Region, zone, provider and labels may also come from the live cluster: left out in the intent,
    they contradict nothing.
    """
    spec = cluster.spec
    if where.colocation is not None and (where.colocation == "ready") != spec.colocation.ready:
        yield "colocation"
    if where.packing is not None and where.packing != spec.packing:
        yield "packing"
    if where.accelerator is not None and where.accelerator not in spec.accelerators:
        yield "accelerator"
    for field in ("region", "zone", "provider"):
        wanted, declared = getattr(where, field), getattr(spec, field)
        if wanted is not None and declared is not None and wanted != declared:
            yield field
    labels = cluster.metadata.labels
    if any(key in labels and labels[key] != value for key, value in where.labels.items()):
        yield "labels"


def _pods(workload: Workload) -> Iterator[Pod]:
    if workload.spec.service is not None:
        service = workload.spec.service
        yield _pod(workload, ("spec", "service"), service, service.replicas, container=workload.name)
    if workload.spec.job is not None:
        for index, task in enumerate(workload.spec.job.tasks):
            yield _pod(workload, ("spec", "job", "tasks", index), task, task.replicas, container=task.name)


def _pod(workload: Workload, path: Path, short: PodShort, replicas: int, *, container: str) -> Pod:
    faults = template_faults(short.template)
    template = None
    if not faults:
        try:
            template = pod_template(short, container=container)
        except ValueError:
            template = None
    return Pod(workload, path, short, replicas, faults, template)


def _objects(workload: Workload) -> Iterator[Owned]:
    spec, namespace, name = workload.spec, workload.namespace, workload.name
    what, at = f"Workload {workload.key}", workload.source_at(("metadata", "name"))
    if spec.job is not None:
        kind = "Job" if spec.schedule is None else "CronJob"
        yield Owned(ObjectKey(VOLCANO_BATCH, kind, namespace, name), workload, at, what)
        if spec.schedule is None and brings_service(workload):
            yield Owned(ObjectKey("", "Service", namespace, name), workload, at, f"the svc plugin of {what}")
    if spec.service is not None:
        yield Owned(ObjectKey("apps", "Deployment", namespace, name), workload, at, what)
        if spec.service.ports:
            yield Owned(ObjectKey("", "Service", namespace, name), workload, at, what)
    for index, body in enumerate(workload.raw):
        group, kind, space, raw_name = key_of(body)
        place = workload.raw_at(index, ("metadata", "name"))
        yield Owned(ObjectKey(group, kind, space or namespace, raw_name), workload, place, what)


def brings_service(workload: Workload) -> bool:
    """Whether a Volcano plugin makes a headless Service of the job's name (the four frameworks add svc)."""
    job = workload.spec.job
    return job is not None and bool({"svc", "tensorflow", "pytorch", "mpi", "ray"} & set(job.plugins))
