"""How long a plan of a small fleet takes: 200 workloads, 3 clusters of 60 nodes, half of them with GPUs."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from datetime import UTC, datetime
from statistics import median
from typing import Any

from gitops_vg.capacity import ClusterCapacity, Node, Snapshot
from gitops_vg.intents.fleet import Intents
from gitops_vg.intents.models import KINDS
from gitops_vg.placement import PlacementLock, lock_of, plan

GPU = "nvidia.com/gpu"
GIB = 1 << 30
CLUSTERS, NODES, WORKLOADS = 3, 60, 200
SEED = 7


def intent(kind: str, name: str, spec: dict[str, Any]) -> Any:
    body = {"apiVersion": "gitops-vg.io/v1alpha1", "kind": kind, "metadata": {"name": name}, "spec": spec}
    return KINDS[kind].model_validate(body)


def fleet(*, workloads: int = WORKLOADS) -> Intents:
    """Three quarters jobs of one or two tasks, one quarter services; more than the clusters hold."""
    dice = random.Random(SEED)
    found = [_service(index, dice) if index % 4 == 0 else _job(index, dice) for index in range(workloads)]
    return Intents(
        fleet=intent("Fleet", "bench", {}),
        clusters=tuple(intent("Cluster", f"cluster-{index}", {}) for index in range(CLUSTERS)),
        queues=tuple(intent("Queue", f"queue-{index}", {"weight": index + 1}) for index in range(4)),
        workloads=tuple(sorted(found, key=lambda workload: workload.key)),
    )


def _job(index: int, dice: random.Random) -> Any:
    requests: dict[str, Any] = {"cpu": dice.choice([1, 4, 8, 16]), "memory": f"{dice.choice([2, 8, 32])}Gi"}
    if index % 3 == 0:
        requests[GPU] = dice.choice([1, 2, 8])
    tasks = [{"name": "worker", "replicas": dice.randint(1, 6), "requests": requests}]
    if index % 2:
        tasks.append({"name": "master", "replicas": 1, "requests": {"cpu": 2}})
    return intent("Workload", f"job-{index}", {"queue": f"queue-{index % 4}", "job": {"tasks": tasks}})


def _service(index: int, dice: random.Random) -> Any:
    body = {"replicas": dice.randint(2, 12), "requests": {"cpu": "500m", "memory": "1Gi"}}
    return intent("Workload", f"service-{index}", {"service": body})


def snapshot() -> Snapshot:
    dice = random.Random(SEED)
    return Snapshot(
        clusters=tuple(_cluster(f"cluster-{index}", dice) for index in range(CLUSTERS)),
        taken_at=datetime(2026, 12, 1, tzinfo=UTC),
    )


def _cluster(name: str, dice: random.Random) -> ClusterCapacity:
    nodes = []
    for index in range(NODES):
        whole = {"cpu": dice.choice([32_000, 64_000, 96_000]), "memory": 256 * GIB, "pods": 110}
        if index % 2:
            whole[GPU] = dice.choice([2, 8])
        free = {resource: value - dice.randint(0, value // 2) for resource, value in whole.items()}
        nodes.append(Node(name=f"{name}-node-{index:03}", allocatable=whole, free=free))
    return ClusterCapacity(name=name, nodes=tuple(nodes), node_source="nodes")


def timed(work: Callable[[], object], *, runs: int = 7) -> float:
    times = []
    for _ in range(runs):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return median(times)


def main() -> None:
    intents, capacity = fleet(), snapshot()
    empty: PlacementLock = {}
    first = plan(intents, capacity, previous=empty)
    lock = lock_of(first)
    placed = sum(bool(decision.assignments) for decision in first.decisions)
    size = f"{WORKLOADS} workloads × {CLUSTERS} clusters × {NODES} nodes"
    print(f"{size}, {placed} placed, seed {SEED}")
    print(f"full plan: {timed(lambda: plan(intents, capacity, previous=empty)):.3f} s (target ≤ 0.3 s)")
    print(f"plan again, all kept: {timed(lambda: plan(intents, capacity, previous=lock)):.3f} s (target ≤ 0.3 s)")
    one_less = {key: entry for key, entry in lock.items() if key != "default/job-1"}
    print(f"one new job: {timed(lambda: plan(intents, capacity, previous=one_less)):.3f} s (target ≤ 0.3 s)")


if __name__ == "__main__":
    main()
