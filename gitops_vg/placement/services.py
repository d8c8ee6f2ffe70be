"""Services divided over clusters: how many clusters, which, and how many replicas in each.

All of it is arithmetic on numbers of pods that fit; nothing here knows a node.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gitops_vg.placement.demand import Demand
from gitops_vg.placement.eligibility import Constraints
from gitops_vg.placement.plan import Reason
from gitops_vg.placement.reasons import Code, because

_ONLINE_CLUSTERS = 2
"""An online service outlives one cluster when another one can be used."""


@dataclass(frozen=True)
class Bounds:
    """At least `low` clusters, `aim` when there are, never more than `high`."""

    low: int
    aim: int
    high: int


def bounds_of(demand: Demand, *, constraints: Constraints) -> Bounds | Reason:
    """The number of clusters that all placements allow, or why they contradict each other."""
    counts = [(source, _range(choice.count)) for source, choice in constraints.choices if choice.count]
    seats = max(1, demand.replicas)
    if not counts:
        online = demand.workload.qos == "online"
        high = _ONLINE_CLUSTERS if online else seats
        return Bounds(low=1, aim=min(seats, high if online else 1), high=min(seats, high))
    low, high = max(low for _, (low, _) in counts), min(high for _, (_, high) in counts)
    if low > high:
        sources = ", ".join(f"{source}: {low}-{high}" for source, (low, high) in counts)
        return because(Code.COUNT_CONTRADICTS, sources=sources)
    return Bounds(low=min(seats, low), aim=min(seats, high), high=min(seats, high))


def _range(count: str | int | None) -> tuple[int, int]:
    low, _, high = str(count).partition("-")
    return int(low), int(high or low)


def divide(total: int, weights: Mapping[str, int]) -> dict[str, int]:
    """`total` in proportion to positive weights; the largest remainders get what is left over.

    Everyone gets at least one when there are enough. No part is more than its weight when
    `total` is not more than their sum: who has room for n gets no more than n.
    """
    whole = sum(weights.values())
    parts = {name: total * weight // whole for name, weight in weights.items()}
    by_remainder = sorted(weights, key=lambda name: (-(total * weights[name] % whole), name))
    for name in by_remainder[: total - sum(parts.values())]:
        parts[name] += 1
    for name in sorted(parts):
        if not parts[name] and total >= len(parts):
            parts[max(parts, key=lambda one: (parts[one], one))] -= 1
            parts[name] = 1
    return dict(sorted(parts.items()))


@dataclass(frozen=True)
class Candidates:
    """Clusters with their room, best first, one for each value to spread over; and the rest with why."""

    order: tuple[str, ...]
    rejected: Mapping[str, Reason]


def distinct(
    rooms: Mapping[str, int], *, values: Mapping[str, str], field: str, taken: Mapping[str, str]
) -> Candidates:
    """The roomiest cluster of each value of `field` that is not taken yet.

    `taken` maps a value to the cluster that already stands for it.
    """
    order: list[str] = []
    rejected: dict[str, Reason] = {}
    standing = dict(taken)
    for name in sorted(rooms, key=lambda one: (-rooms[one], one)):
        value = values[name]
        if not value:
            rejected[name] = because(Code.SPREAD_UNKNOWN, field=field)
        elif value in standing:
            rejected[name] = because(Code.SPREAD_TAKEN, best=standing[value], field=field, value=value)
        else:
            standing[value] = name
            order.append(name)
    return Candidates(order=tuple(order), rejected=rejected)


def enough(order: tuple[str, ...], *, rooms: Mapping[str, int], need: int, aim: int, high: int) -> list[str]:
    """The first `aim` clusters, and as many more, up to `high`, as it takes to hold `need`."""
    chosen = list(order[: max(0, aim)])
    for name in order[len(chosen) : max(0, high)]:
        if sum(rooms[one] for one in chosen) >= need:
            break
        chosen.append(name)
    return chosen
