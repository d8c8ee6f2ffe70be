"""Figures rounded down, so that the committed snapshot does not change with every pod.

Placement plans from the rounded figures, and rounding only ever takes away: what fits in
them fits in the real ones. A node that nothing runs on stays exact, so that work made for
whole nodes still finds them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from gitops_vg.capacity.snapshot import ClusterCapacity, Node, Snapshot
from gitops_vg.quantities import CPU, OVERSOLD_CPU, OVERSOLD_MEMORY, PODS, Amounts

_FRACTION = 64
"""A step is at most this part of what the node has: no more than 1.6 % is lost on a node."""

_OVERSOLD_FRACTION = 16
"""Oversold amounts follow the load of online work; agents publish changes of 10 % and more."""

_CPU_STEPS = (1000, 500, 100, 50, 10)
_MEBIBYTE = 1 << 20
_OVERSOLD = (OVERSOLD_CPU, OVERSOLD_MEMORY)


def quantised(snapshot: Snapshot) -> Snapshot:
    """The snapshot with free figures rounded down; `ours`, names and states are kept as they are."""
    return replace(snapshot, clusters=tuple(_rounded(cluster) for cluster in snapshot.clusters))


def _rounded(cluster: ClusterCapacity) -> ClusterCapacity:
    nodes = tuple(_rounded_node(node) for node in cluster.nodes)
    if not nodes:
        free = {name: _down(name, value, cluster.capacity.get(name, value))
                for name, value in cluster.allocatable.items()}  # fmt: skip
        return replace(cluster, allocatable=free)
    return replace(
        cluster,
        nodes=nodes,
        capacity=total(node.allocatable for node in nodes) if cluster.node_source == "nodes" else cluster.capacity,
        allocatable=total(node.free for node in nodes if node.schedulable),
    )


def _rounded_node(node: Node) -> Node:
    allocatable = {
        name: _down(name, value, value) if name in _OVERSOLD else value for name, value in node.allocatable.items()
    }
    free = {
        name: _free(name, value, real=node.allocatable.get(name, 0), rounded=allocatable.get(name, 0))
        for name, value in node.free.items()
    }
    return replace(node, allocatable=allocatable, free=free)


def _free(name: str, value: int, *, real: int, rounded: int) -> int:
    return rounded if value >= real else min(_down(name, value, real), rounded)


def _down(name: str, value: int, whole: int) -> int:
    return value - value % _step(name, whole)


def _step(name: str, whole: int) -> int:
    """The step for `name` on a node that has `whole` of it; 1 for what is counted in pieces."""
    limit = whole // (_OVERSOLD_FRACTION if name in _OVERSOLD else _FRACTION)
    if name in (CPU, OVERSOLD_CPU):
        return next((step for step in _CPU_STEPS if step <= limit), 1)
    if name == PODS:
        return 5 if whole >= _FRACTION else 1
    if limit >= _MEBIBYTE:
        return 1 << (limit.bit_length() - 1)
    return 1


def total(parts: Iterable[Amounts]) -> dict[str, int]:
    """The sum of amounts, each resource on its own."""
    result: dict[str, int] = {}
    for part in parts:
        for name, value in part.items():
            result[name] = result.get(name, 0) + value
    return result
