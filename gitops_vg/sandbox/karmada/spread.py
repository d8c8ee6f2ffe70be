"""From the clusters that fit to those that are used: order of candidates and spread constraints. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gitops_vg.sandbox.karmada.selectors import matches_cluster

LOCALITY = 100
"""Score of a cluster that holds the workload already; the others have 0."""

GROUP_UNIT = 1000
"""Weight of one replica, or of one good cluster, in a region's score; locality adds at most 100."""


class SpreadError(Exception):
    """The spread constraints cannot be met with the clusters that fit."""


@dataclass(frozen=True)
class Candidate:
    """A cluster that fits. `room` is what it could add, `available` also counts what it holds."""

    name: str
    cluster: Mapping[str, Any] = field(hash=False, compare=False)
    score: int
    overflow: int
    room: int
    available: int


def overflow_order(cluster: Mapping[str, Any], terms: Sequence[Mapping[str, Any]]) -> int:
    """The first affinity group that the cluster belongs to; 0 is the primary one."""
    return next((order for order, term in enumerate(terms) if matches_cluster(term, cluster)), 0)


def in_order(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Karmada's order: overflow tier, score, availability, name."""
    return sorted(candidates, key=lambda item: (item.overflow, -item.score, -item.available, item.name))


def select(candidates: Sequence[Candidate], *, placement: Mapping[str, Any], replicas: int) -> list[Candidate]:
    """The candidates to use, in order.

    Raises SpreadError. Spread constraints are ignored with static weights; availability is
    ignored when every cluster gets a full copy.
    """
    ordered = in_order(candidates)
    constraints = {item.get("spreadByField"): item for item in placement.get("spreadConstraints") or []}
    if not constraints or _static_weights(placement):
        return ordered
    scheduling = placement.get("replicaScheduling") or {}
    duplicated = scheduling.get("replicaSchedulingType", "Duplicated") == "Duplicated"
    if "region" in constraints:
        return _by_region(ordered, constraints=constraints, replicas=replicas, duplicated=duplicated)
    if "cluster" in constraints:
        return _by_cluster(ordered, constraint=constraints["cluster"], need=None if duplicated else replicas)
    raise SpreadError("just support cluster and region spread constraint")


def _static_weights(placement: Mapping[str, Any]) -> bool:
    scheduling = placement.get("replicaScheduling") or {}
    if scheduling.get("replicaSchedulingType") != "Divided":
        return False
    if scheduling.get("replicaDivisionPreference") != "Weighted":
        return False
    preference = scheduling.get("weightPreference")
    return preference is None or bool(preference.get("staticWeightList") and not preference.get("dynamicWeight"))


def _by_cluster(ordered: list[Candidate], *, constraint: Mapping[str, Any], need: int | None) -> list[Candidate]:
    if len(ordered) < constraint.get("minGroups", 0):
        raise SpreadError("the number of feasible clusters is less than spreadConstraint.MinGroups")
    count = min(len(ordered), constraint.get("maxGroups", 0))
    if need is None:
        return ordered[:count]
    chosen, rest = ordered[:count], ordered[count:]
    position = count - 1
    while sum(item.available for item in chosen) < need and position >= 0:
        best = max(rest, key=lambda item: item.available, default=None)
        if best is not None and best.available > chosen[position].available:
            rest[rest.index(best)], chosen[position] = chosen[position], best
        position -= 1
    if not chosen or sum(item.available for item in chosen) < need:
        raise SpreadError(f"no enough resource when selecting {count} clusters")
    return chosen


def _by_region(
    ordered: list[Candidate], *, constraints: Mapping[Any, Mapping[str, Any]], replicas: int, duplicated: bool
) -> list[Candidate]:
    constraint, clusters = constraints["region"], constraints.get("cluster", {})
    regions: dict[str, list[Candidate]] = {}
    for item in ordered:
        regions.setdefault(item.cluster["spec"]["region"], []).append(item)
    if len(regions) < constraint.get("minGroups", 0):
        raise SpreadError("the number of feasible region is less than spreadConstraint.MinGroups")
    scores = {
        name: _copies_score(members, replicas=replicas)
        if duplicated
        else _share_score(members, replicas=replicas, regions=constraint.get("minGroups", 0), clusters=clusters)
        for name, members in regions.items()
    }
    names = _regions(regions, scores=scores, constraint=constraint, need=clusters.get("minGroups", 0))
    if not names:
        raise SpreadError("the number of clusters is less than the cluster spreadConstraint.MinGroups")
    chosen = [regions[name][0] for name in names]
    rest = in_order([item for name in names for item in regions[name][1:]])
    more = min(len(chosen) + len(rest), clusters.get("maxGroups", 0)) - len(chosen)
    return chosen + rest[: max(more, 0)]


def _copies_score(members: Sequence[Candidate], *, replicas: int) -> int:
    good = [item for item in members if item.available >= replicas]
    return len(good) * GROUP_UNIT + sum(item.score for item in good) // len(good) if good else 0


def _share_score(members: Sequence[Candidate], *, replicas: int, regions: int, clusters: Mapping[str, Any]) -> int:
    target = math.ceil(replicas / max(regions, 1))
    enough = max(clusters.get("minGroups", 0), regions)
    available = score = count = 0
    for item in members:
        available, score, count = available + item.available, score + item.score, count + 1
        if count >= enough and available >= target:
            break
    if available < target:
        return available * GROUP_UNIT + score // len(members)
    return target * GROUP_UNIT + score // count


def _regions(
    regions: Mapping[str, Sequence[Candidate]],
    *,
    scores: Mapping[str, int],
    constraint: Mapping[str, Any],
    need: int,
) -> list[str]:
    """The best set of regions that holds `need` clusters, by score, with the first found on a tie."""
    order = sorted(regions, key=lambda name: (len(regions[name]), -scores[name], name))
    least, most = constraint.get("minGroups", 0), constraint.get("maxGroups", 0)
    found: list[tuple[str, ...]] = []

    def extend(path: tuple[str, ...], begin: int) -> None:
        if sum(len(regions[name]) for name in path) >= need and least <= len(path) <= most:
            found.append(path)
            return
        if len(path) < most:
            for position in range(begin, len(order)):
                extend((*path, order[position]), position + 1)

    extend((), 0)
    if not found:
        return []
    ranked = [sorted(path, key=lambda name: (-scores[name], name)) for path in found]
    weight = {id(path): (-sum(scores[n] for n in path), -sum(len(regions[n]) for n in path)) for path in ranked}
    best, *others = sorted(ranked, key=lambda path: weight[id(path)])
    for path in others:
        if len(path) < len(best) and best[: len(path)] == path:
            best = path
    return best
