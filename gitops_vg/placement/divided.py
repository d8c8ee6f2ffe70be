"""Decisions for services: replicas over several clusters, each with a node for every replica."""

from __future__ import annotations

from collections.abc import Mapping

from gitops_vg.placement.case import Case, World, everywhere
from gitops_vg.placement.plan import Decision, Reason
from gitops_vg.placement.reasons import Code, because
from gitops_vg.placement.services import Bounds, Candidates, bounds_of, distinct, divide, enough

_UNLIMITED = 1 << 40
"""More pods than any cluster has: proportions need all the room there is."""


def decide_divided(case: Case, *, world: World) -> Decision:
    """Replicas in proportion to free room, within count and spread; what runs stays."""
    bounds = bounds_of(case.demand, constraints=case.constraints)
    need = case.demand.replicas - sum(case.keep.values())
    if isinstance(bounds, Reason):
        if not case.keep:
            others = everywhere(case.open, because(Code.NOT_ADMITTED))
            return case.pending(bounds, others=others)
        case.warnings.append(f"{case.key}: {bounds.text}")
        bounds = Bounds(low=1, aim=len(case.keep), high=len(case.keep))
    if case.keep and need <= 0 and len(case.keep) >= bounds.low:
        reason = because(Code.SHRUNK, before=sum(case.was.values()), after=case.demand.replicas)
        return case.runs(case.keep, reason, others={})
    if case.keep:
        return _grow(case, need=need, bounds=bounds, world=world)
    return _start(case, bounds=bounds, world=world)


def _candidates(case: Case, *, world: World) -> tuple[dict[str, int], Candidates, dict[str, Reason]]:
    """(room by open cluster, new clusters that could be added, why the others could not)."""
    shape = case.demand.tasks[0].shape
    field = case.constraints.spread
    rooms = {name: world.rooms[name].count(shape, limit=_UNLIMITED) for name in case.open}
    full = {
        name: world.rooms[name].why_none_fits(shape) or because(Code.GANG_TOO_LARGE, fit=0, wanted=1, task="")
        for name, room in rooms.items()
        if not room
    }
    values = {name: world.sites[name].value_of(field) for name in {*rooms, *case.keep}}
    new = {name: room for name, room in rooms.items() if room and name not in case.keep}
    taken = {values[name]: name for name in case.keep}
    return rooms, distinct(new, values=values, field=field, taken=taken), full


def _start(case: Case, *, bounds: Bounds, world: World) -> Decision:
    if not case.open:
        return case.nowhere_eligible()
    replicas = case.demand.replicas
    refused = world.ledger.refusal(case.demand.queue, case.demand.total, free=world.free)
    if refused is not None:
        others = everywhere(case.open, because(Code.NOT_ADMITTED))
        return case.pending(refused, others=others)
    rooms, candidates, full = _candidates(case, world=world)
    chosen = enough(candidates.order, rooms=rooms, need=replicas, aim=bounds.aim, high=bounds.high)
    fit = sum(rooms[name] for name in chosen)
    left = _left_over(candidates.order, chosen=chosen, rooms=rooms, limit=bounds.high)
    others = {**candidates.rejected, **full, **left}
    reason = _too_little(case, chosen=chosen, fit=fit, bounds=bounds, full=full)
    if reason is not None:
        return case.pending(reason, others={**everywhere(chosen, reason), **others})
    if not replicas:
        chosen = chosen[:1]
    parts = divide(replicas, {name: rooms[name] for name in chosen})
    _occupy(case, parts, world=world)
    return case.runs(parts, _divided(parts), others=others)


def _divided(parts: Mapping[str, int]) -> Reason:
    used = sum(count > 0 for count in parts.values())
    clusters = f"{used} clusters" if used > 1 else "1 cluster"
    return because(Code.DIVIDED, after=sum(parts.values()), clusters=clusters)


def _too_little(
    case: Case, *, chosen: list[str], fit: int, bounds: Bounds, full: Mapping[str, Reason]
) -> Reason | None:
    """Why a new service cannot start, None when it can."""
    if not chosen and full:
        nearest = min(full)
        return because(Code.NO_CLUSTER_FITS, nearest=nearest, why=full[nearest].text)
    if len(chosen) < bounds.low:
        field = case.constraints.spread
        return because(Code.TOO_FEW_CLUSTERS, wanted=bounds.low, field=field, found=len(chosen))
    if fit < case.demand.replicas:
        wanted = case.demand.replicas
        return because(Code.NOT_ALL_REPLICAS_FIT, fit=fit, wanted=wanted, missing=wanted - fit)
    return None


def _left_over(order: tuple[str, ...], *, chosen: list[str], rooms: Mapping[str, int], limit: int) -> dict[str, Reason]:
    if not chosen:
        return {}
    full = len(chosen) >= limit
    return {
        name: because(Code.COUNT_REACHED, limit=limit)
        if full
        else because(Code.NOT_NEEDED, fit=rooms[name], best=chosen[0])
        for name in order
        if name not in chosen
    }


def _grow(case: Case, *, need: int, bounds: Bounds, world: World) -> Decision:
    """More replicas beside those that stay: in their clusters first, then in new ones.

    Where `count` asks for more clusters than there are, each new one gets a replica, moved
    there when none is to be added. What finds no room waits where the service has most: a
    service is never stopped for a lack of room.
    """
    rooms, candidates, full = _candidates(case, world=world)
    keep, parts = dict(case.keep), dict[str, int]()
    for name in candidates.order[: max(0, bounds.low - len(keep))]:
        parts[name] = 1
        if need:
            need -= 1
        else:
            keep[_largest(keep)] -= 1
    room = {name: rooms.get(name, 0) - parts.get(name, 0) for name in (*keep, *parts)}
    rest, high = candidates.order[len(parts) :], bounds.high - len(room)
    more = enough(rest, rooms=rooms, need=need - sum(room.values()), aim=0, high=high)
    room.update({name: rooms[name] for name in more})
    waiting = max(0, need - sum(room.values()))
    if need > waiting:
        for name, count in divide(need - waiting, {one: left for one, left in room.items() if left > 0}).items():
            parts[name] = parts.get(name, 0) + count
    _occupy(case, parts, world=world)
    after = {name: keep.get(name, 0) + parts.get(name, 0) for name in sorted({*keep, *parts})}
    left_over = _left_over(candidates.order, chosen=sorted(after), rooms=rooms, limit=bounds.high)
    others = {**candidates.rejected, **full, **left_over}
    before = sum(case.was.values())
    reason = _divided(after)
    if before < case.demand.replicas:
        reason = because(Code.GROWN, before=before, after=case.demand.replicas)
    if waiting:
        reason = _wait(case, after=after, waiting=waiting, world=world)
    return case.runs(_nonzero(after), reason, others=others)


def _wait(case: Case, *, after: dict[str, int], waiting: int, world: World) -> Reason:
    """Puts the replicas without room where the service has most, in a cluster that may have it if there is one."""
    host = min(after, key=lambda name: (name not in case.open, -after[name], name))
    after[host] += waiting
    why = case.refused.get(host) or world.rooms[host].why_none_fits(case.demand.tasks[0].shape)
    missing = f"{host}: {why.text}" if why is not None else f"{host} is full"
    reason = because(Code.GROWTH_WAITS, waiting=waiting, after=case.demand.replicas, missing=missing)
    case.warnings.append(f"{case.key}: {reason.text}")
    return reason


def _largest(parts: Mapping[str, int]) -> str:
    """The cluster with most replicas, the first of them by name."""
    return min(parts, key=lambda name: (-parts[name], name))


def _nonzero(parts: Mapping[str, int]) -> dict[str, int]:
    """Clusters that got replicas; all of them for a service scaled to 0."""
    return {name: count for name, count in parts.items() if count} or dict(parts)


def _occupy(case: Case, parts: Mapping[str, int], *, world: World) -> None:
    """Takes the room; the pods fit, because they were counted on these very nodes."""
    task = case.demand.tasks[0]
    for name, count in parts.items():
        world.rooms[name].take(task.shape, count)
    requests = task.shape.requests
    added = sum(parts.values())
    world.ledger.charge(case.demand.queue, {name: value * added for name, value in requests.items()})
