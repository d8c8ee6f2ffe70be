"""What runs stays: previous work gets its room before anybody new is looked at.

First every pod that runs is put back on its own node, then what was promised but has no
pods yet gets room, in order of service. Work leaves a cluster only when the cluster may not
have it any more, or when it never started there and does not fit.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from gitops_vg.placement.case import Case, World
from gitops_vg.placement.gangs import by_size
from gitops_vg.placement.reasons import Code, because
from gitops_vg.placement.services import Bounds, bounds_of, distinct, divide


@dataclass(frozen=True)
class _Missing:
    """Pods of a case that should be in a cluster and have no node there."""

    case: Case
    cluster: str
    running: int
    missing: Mapping[str, int]


def keep_what_runs(cases: Iterable[Case], *, world: World) -> None:
    """Fills `keep`, `ended` and `stuck` of every case, and takes their room."""
    open_promises: list[_Missing] = []
    for case in cases:
        _retain(case, world=world)
        for cluster, replicas in case.keep.items():
            if world.finished(case.key, cluster):
                continue
            open_promises.append(_hold(case, cluster=cluster, replicas=replicas, world=world))
    for promise in open_promises:
        _take(promise, world=world)
    for case in cases:
        _charge(case, world=world)


def _retain(case: Case, *, world: World) -> None:
    """What of the previous assignments may stay. A job that ended stays whatever speaks against it."""
    ended = _ended(case, case.was, world=world)
    stay = {name: count for name, count in sorted(case.was.items()) if name not in case.lost}
    if not stay and not ended:
        seen = world.observed(case.demand)
        found = seen.assignments if seen is not None else {}
        ended = _ended(case, found, world=world)
        stay = {name: count for name, count in sorted(found.items()) if not case.must_leave(name)}
    if ended:
        case.keep, case.ended = {ended[0]: case.was.get(ended[0], case.demand.replicas)}, True
        case.lost.clear()
        return
    if case.demand.mode == "divide":
        case.keep = _resized(_within_bounds(stay, case=case, world=world), replicas=case.demand.replicas)
    elif case.demand.mode == "everywhere":
        case.keep = dict.fromkeys(stay, 1)
    elif stay:
        running = sorted(stay, key=lambda name: (-_running(case.key, name, world=world), name))
        case.keep = {running[0]: case.demand.replicas}


def _ended(case: Case, clusters: Iterable[str], *, world: World) -> list[str]:
    """Where a job that exists once has done its work."""
    whole = case.demand.mode == "one"
    return [name for name in sorted(clusters) if whole and world.finished(case.key, name)]


def _running(workload: str, cluster: str, *, world: World) -> int:
    return sum(use.count for use in world.ours.get((workload, cluster), ()) if use.node)


def _within_bounds(stay: dict[str, int], *, case: Case, world: World) -> dict[str, int]:
    """The largest shares that spread and count still allow; the others have to leave."""
    field = case.constraints.spread
    values = {name: world.sites[name].value_of(field) or name for name in stay}
    found = distinct(stay, values=values, field=field, taken={})
    bounds = bounds_of(case.demand, constraints=case.constraints)
    limit = bounds.high if isinstance(bounds, Bounds) and case.demand.replicas else len(found.order)
    case.lost.update(found.rejected)
    case.lost.update(dict.fromkeys(found.order[limit:], because(Code.COUNT_REACHED, limit=limit)))
    return {name: stay[name] for name in sorted(found.order[:limit])}


def _resized(stay: dict[str, int], *, replicas: int) -> dict[str, int]:
    """Fewer replicas are taken from all in proportion; more are added later, where there is room."""
    if sum(stay.values()) <= replicas:
        return stay
    parts = divide(replicas, {name: count for name, count in stay.items() if count})
    return {name: count for name, count in parts.items() if count or not replicas}


def _hold(case: Case, *, cluster: str, replicas: int, world: World) -> _Missing:
    """Puts running pods back on their nodes, as many as stay.

    In a cluster whose nodes could not be read no pod is known to run: kept work then takes
    room beside what Karmada counts as used already. That is too careful, never too bold.
    """
    divided = case.demand.mode == "divide"
    missing = {task.name: replicas if divided else task.replicas for task in case.demand.tasks}
    wanted = {task.name: task.shape.requests for task in case.demand.tasks}
    running = 0
    for use in world.ours.get((case.key, cluster), ()):
        staying = min(use.count, missing.get(use.task, 0))
        if staying and (use.node or not use.requests):
            missing[use.task] -= staying
            running += staying
            if use.requests:
                world.rooms[cluster].hold(use, staying, wanted=wanted[use.task])
    return _Missing(case=case, cluster=cluster, running=running, missing=missing)


def _take(promise: _Missing, *, world: World) -> None:
    """Room for pods without a node; when they wait in vain, the case may look elsewhere."""
    case, room, demand = promise.case, world.rooms[promise.cluster], promise.case.demand
    taken = {task.name: room.take(task.shape, promise.missing[task.name]) for task in by_size(demand.tasks, room=room)}
    short = {name: count - taken[name].count for name, count in promise.missing.items()}
    if not any(short.values()) or room.capacity.problem or not world.waits(case.key, promise.cluster):
        return
    if demand.mode == "divide":
        case.keep[promise.cluster] -= short[""]
    elif demand.mode == "one" and demand.form != "periodic" and not promise.running:
        enough = (taken[task.name].count >= task.minimum for task in demand.tasks)
        if not all(enough):
            case.stuck = True
            for one in taken.values():
                room.give_back(one)


def _charge(case: Case, *, world: World) -> None:
    """Kept work counts for its queue, whatever the ceiling says by now."""
    running = {name: count for name, count in case.keep.items() if not world.finished(case.key, name)}
    world.ledger.charge(case.demand.queue, charge_of(case, assignments=running))


def charge_of(case: Case, *, assignments: Mapping[str, int]) -> dict[str, int]:
    """What a queue is charged for these assignments."""
    if case.demand.mode == "divide":
        requests = case.demand.tasks[0].shape.requests
        return {name: value * sum(assignments.values()) for name, value in requests.items()}
    return {name: value * len(assignments) for name, value in case.demand.total.items()}
