"""All intents of one fleet repository as one immutable value."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from gitops_vg.intents.models import (
    Approval,
    Cluster,
    Fleet,
    Intent,
    PlacementPolicy,
    PriorityClass,
    Queue,
    Workload,
)


@dataclass(frozen=True)
class Intents:
    """What people wrote, read and typed; each tuple is sorted by name (workloads by namespace/name)."""

    fleet: Fleet
    clusters: tuple[Cluster, ...] = ()
    queues: tuple[Queue, ...] = ()
    policies: tuple[PlacementPolicy, ...] = ()
    priority_classes: tuple[PriorityClass, ...] = ()
    workloads: tuple[Workload, ...] = ()
    approvals: tuple[Approval, ...] = ()

    def __iter__(self) -> Iterator[Intent]:
        yield self.fleet
        yield from self.clusters
        yield from self.queues
        yield from self.policies
        yield from self.priority_classes
        yield from self.workloads
        yield from self.approvals

    @cached_property
    def cluster(self) -> dict[str, Cluster]:
        return {cluster.name: cluster for cluster in self.clusters}

    @cached_property
    def queue(self) -> dict[str, Queue]:
        return {queue.name: queue for queue in self.queues}

    @cached_property
    def policy(self) -> dict[str, PlacementPolicy]:
        return {policy.name: policy for policy in self.policies}

    @cached_property
    def workload(self) -> dict[str, Workload]:
        return {workload.key: workload for workload in self.workloads}

    def policies_of(self, workload: Workload) -> tuple[PlacementPolicy, ...]:
        """The policies that apply to a workload: those that select it, and the one it names."""
        return tuple(
            policy
            for policy in self.policies
            if policy.name == workload.spec.placement.policy or _selects(policy, workload)
        )


def _selects(policy: PlacementPolicy, workload: Workload) -> bool:
    selects = policy.spec.selects
    tests = [
        selects.qos is None or selects.qos == workload.qos,
        selects.queue is None or selects.queue == workload.spec.queue,
        selects.namespace is None or selects.namespace == workload.namespace,
        selects.labels.items() <= workload.metadata.labels.items(),
    ]
    given = (selects.qos, selects.queue, selects.namespace, selects.labels)
    return any(given) and all(tests)
