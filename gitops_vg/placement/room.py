"""Room in one cluster while a plan is made: free amounts a node, taken and given back.

This is the one mutable thing of a plan, and it never leaves the planner. Pods are put where
they harm least (`_harm`): accelerator pods on the node with the fewest free accelerators
that still suffice, all others away from accelerators. The member's own scheduler decides in
the end; how many pods of one shape fit does not depend on the order, only what is left is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from operator import itemgetter

from gitops_vg.capacity.snapshot import ClusterCapacity, Node, PodGroupUse
from gitops_vg.intents.models import Cluster, ClusterSpec
from gitops_vg.intents.pods import SHORT_NAMES
from gitops_vg.placement.demand import PodShape
from gitops_vg.placement.nodematch import node_refuses
from gitops_vg.placement.plan import Reason
from gitops_vg.placement.reasons import Code, amounts_spoken, because, number, spoken
from gitops_vg.quantities import CPU, MEMORY, OVERSOLD_CPU, OVERSOLD_MEMORY, PODS, Amounts

_PLAIN = frozenset({CPU, MEMORY, PODS, OVERSOLD_CPU, OVERSOLD_MEMORY, "ephemeral-storage"})


_MANY = 1 << 40
"""More pods than any node takes."""


def is_accelerator(resource: str) -> bool:
    """Whether a resource is counted in devices that are worth keeping together."""
    return resource not in _PLAIN and not resource.startswith("hugepages-")


class NodeRoom:
    """One node: what is still free of it, by the plan so far. Below 0 where more runs than may."""

    __slots__ = ("accelerators", "free", "index", "node", "whole")

    def __init__(self, node: Node, *, index: int, kept_back: Mapping[str, int]) -> None:
        self.node = node
        self.index = index
        self.free = {
            name: value - _part(node.allocatable.get(name, 0), kept_back.get(name, 0))
            for name, value in node.free.items()
        }
        self.whole = node.allocatable
        self.accelerators = tuple(
            name for name, value in node.allocatable.items() if value > 0 and is_accelerator(name)
        )

    def fits(self, requests: Amounts) -> int:
        """How many pods of this size fit. The hottest line of planning: it leaves at the first lack."""
        free, least = self.free, _MANY
        for name, value in requests.items():
            here = free.get(name, 0) // value
            if here < least:
                if here <= 0:
                    return 0
                least = here
        return least

    def take(self, requests: Amounts, count: int) -> None:
        for name, value in requests.items():
            self.free[name] = self.free.get(name, 0) - value * count

    @property
    def untouched(self) -> bool:
        """All its accelerators are free: worth keeping for work that needs them together."""
        return all(self.free.get(name, 0) >= self.whole[name] for name in self.accelerators)


def _part(value: int, percent: int) -> int:
    """Percent of value, rounded up."""
    return -(-value * percent // 100)


@dataclass(frozen=True)
class Taken:
    """Pods put on nodes: to give back, or to keep. `whole` are the nodes whose accelerators were all free."""

    requests: Amounts
    places: tuple[tuple[NodeRoom, int], ...]
    whole: frozenset[str] = frozenset()

    @property
    def count(self) -> int:
        return sum(count for _, count in self.places)


class ClusterRoom:
    """One cluster's nodes with what may be used of them: free, less headroom and oversell safety."""

    def __init__(self, capacity: ClusterCapacity, *, declared: Cluster | None) -> None:
        self.name = capacity.name
        self.capacity = capacity
        self.spec = declared.spec if declared is not None else ClusterSpec()
        kept_back = _kept_back(self.spec)
        ordered = sorted(capacity.nodes, key=lambda node: node.name)
        self._all = {node.name: NodeRoom(node, index=index, kept_back=kept_back) for index, node in enumerate(ordered)}
        self.nodes = [room for room in self._all.values() if room.node.schedulable]
        self._accepting: dict[int, tuple[PodShape, list[NodeRoom], str]] = {}
        """By identity of the shape, which is kept so that no other object can take that identity."""
        self._tainted = any(room.node.taints for room in self.nodes)

    # -- what runs

    def release(self, uses: Iterable[PodGroupUse]) -> None:
        """Count these pods as not there; whoever stays is put back with `hold`."""
        for use in uses:
            room = self._all.get(use.node)
            if room is not None:
                room.take(use.requests, -use.count)

    def hold(self, use: PodGroupUse, count: int, *, wanted: Amounts) -> None:
        """Pods that run on a node stay on it, whatever else was promised there.

        They take the larger of what they take now and of what their template asks by now.
        """
        room = self._all.get(use.node)
        if room is not None:
            names = use.requests.keys() | wanted.keys()
            room.take({name: max(use.requests.get(name, 0), wanted.get(name, 0)) for name in names}, count)

    # -- what could run

    def count(self, shape: PodShape, *, limit: int) -> int:
        """How many pods of a shape fit, `limit` at most."""
        found = 0
        for room in self._accepting_nodes(shape):
            found += room.fits(shape.requests)
            if found >= limit:
                return limit
        return found

    def take(self, shape: PodShape, count: int) -> Taken:
        """Puts up to `count` pods on nodes; `Taken.count` says how many found a place."""
        places: list[tuple[NodeRoom, int]] = []
        left = count
        for _, fits, room in sorted(self._offers(shape), key=itemgetter(0)) if count > 0 else ():
            places.append((room, min(fits, left)))
            left -= places[-1][1]
            if not left:
                break
        whole = frozenset(room.node.name for room, _ in places if room.accelerators and room.untouched)
        for room, here in places:
            room.take(shape.requests, here)
        return Taken(requests=shape.requests, places=tuple(places), whole=whole)

    def give_back(self, taken: Taken) -> None:
        for room, count in taken.places:
            room.take(taken.requests, -count)

    def _offers(self, shape: PodShape) -> list[tuple[tuple[int, ...], int, NodeRoom]]:
        """(harm, pods that fit, node) of every node with room."""
        wanted = [name for name in shape.requests if is_accelerator(name)]
        return [
            (_harm(room, wanted=wanted), fits, room)
            for room in self._accepting_nodes(shape)
            if (fits := room.fits(shape.requests)) > 0
        ]

    def _accepting_nodes(self, shape: PodShape) -> list[NodeRoom]:
        return self._acceptance(shape)[0]

    def _acceptance(self, shape: PodShape) -> tuple[list[NodeRoom], str]:
        """Nodes that the pod may be on, and one clause with why the others refuse it."""
        if not shape.constrained and not self._tainted:
            return self.nodes, ""
        known = self._accepting.get(id(shape))
        if known is None:
            known = self._accepting[id(shape)] = (shape, *self._judged(shape))
        return known[1], known[2]

    def _judged(self, shape: PodShape) -> tuple[list[NodeRoom], str]:
        if shape.constrained and self.capacity.node_source != "nodes":
            return [], "the labels of its nodes are not known now"
        verdicts = [(room, node_refuses(room.node, shape)) for room in self.nodes]
        accepting = [room for room, refused in verdicts if not refused]
        return accepting, next((refused for _, refused in verdicts if refused), "")

    # -- totals and reasons

    def free(self, resource: str) -> int:
        """What may still be used of a resource on nodes that take pods."""
        return sum(value for room in self.nodes if (value := room.free.get(resource, 0)) > 0)

    @cached_property
    def totals(self) -> Amounts:
        """All there is on nodes that take pods."""
        result: dict[str, int] = {}
        for room in self.nodes:
            for name, value in room.whole.items():
                result[name] = result.get(name, 0) + value
        return result

    def why_none_fits(self, shape: PodShape) -> Reason | None:
        """Why not even one pod of the shape fits; None when one does."""
        accepting, refused = self._acceptance(shape)
        if not accepting:
            return because(Code.NO_NODE_MATCHES, constraint=refused or "it has no node that takes pods")
        if any(room.fits(shape.requests) for room in accepting):
            return None
        for name, wanted in sorted(shape.requests.items(), key=lambda item: (not is_accelerator(item[0]), item)):
            largest = max(room.free.get(name, 0) for room in accepting)
            if largest >= wanted:
                continue
            if not any(room.whole.get(name, 0) for room in accepting):
                return because(Code.RESOURCE_MISSING, resource=spoken(name))
            return because(
                Code.POD_TOO_LARGE,
                free=number(name, max(0, largest)),
                wanted=number(name, wanted),
                resource=spoken(name),
            )
        sizes = {name: value for name, value in shape.requests.items() if name != PODS}
        return because(Code.POD_TOO_LARGE_TOGETHER, wanted=amounts_spoken(sizes))


def _harm(room: NodeRoom, *, wanted: list[str]) -> tuple[int, ...]:
    """How much is spoilt by a pod on this node; unique by the node's index."""
    if wanted:
        return (sum(room.free.get(name, 0) for name in wanted), room.free.get(CPU, 0), room.index)
    broken = (2 if room.untouched else 1) if room.accelerators else 0
    return (broken, room.free.get(CPU, 0), room.index)


def _kept_back(spec: ClusterSpec) -> dict[str, int]:
    """Percent of each node that planning leaves alone: headroom, and what oversell is not trusted with."""
    percents = {SHORT_NAMES.get(name, name): int(percent.rstrip("%")) for name, percent in spec.headroom.items()}
    untrusted = 100 - int(spec.colocation.oversell.safety.rstrip("%"))
    for name in (OVERSOLD_CPU, OVERSOLD_MEMORY):
        percents[name] = max(percents.get(name, 0), untrusted)
    return percents
