"""Work that goes into one cluster whole: does it fit node by node, and where best.

Tasks with the largest pods first: small ones find room beside large ones, never the other
way round. What must start together has to fit; replicas beyond that take what is left.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from gitops_vg.placement.demand import Demand, TaskDemand
from gitops_vg.placement.plan import Reason
from gitops_vg.placement.reasons import Code, because, spoken
from gitops_vg.placement.room import ClusterRoom, Taken, is_accelerator
from gitops_vg.quantities import PODS

_WHOLE = 10_000
"""Shares are counted in hundredths of a percent: whole numbers compare alike on every machine."""


@dataclass(frozen=True)
class Fit:
    """How a workload sits in a cluster: fewer `broken` first, then more `value`, then the name.

    `broken` are nodes whose accelerators were all free and no longer are, for work that does
    not use them up. `value` is the free share of the scarcest resource afterwards where pods
    are spread, and the used share where they are packed.
    """

    cluster: str
    broken: int
    value: int
    resource: str
    packing: str

    @property
    def order(self) -> tuple[int, int, str]:
        return (self.broken, -self.value, self.cluster)


@dataclass(frozen=True)
class Misfit:
    """Why it does not fit, and how many hundredths of a percent of its pods would."""

    reason: Reason
    progress: int


@dataclass(frozen=True)
class Choice:
    """The best fit with its reason, or none; and a reason for every other cluster that was tried."""

    best: Fit | None
    reason: Reason
    rejected: Mapping[str, Reason] = field(default_factory=dict)


def by_size(tasks: Iterable[TaskDemand], *, room: ClusterRoom) -> list[TaskDemand]:
    """Tasks with the largest pods first, measured against what the cluster has."""

    def size(task: TaskDemand) -> tuple[int, int, str]:
        requests = task.shape.requests
        devices = sum(value for name, value in requests.items() if is_accelerator(name))
        share = max(value * _WHOLE // max(1, room.totals.get(name, 0)) for name, value in requests.items())
        return (-devices, -share, task.name)

    return sorted(tasks, key=size)


def occupy(demand: Demand, *, room: ClusterRoom) -> Misfit | list[Taken]:
    """Takes room for the whole workload, or takes nothing and says why it does not fit."""
    tasks = by_size(demand.tasks, room=room)
    taken: list[Taken] = []
    for task in tasks:
        taken.append(room.take(task.shape, task.minimum))
        if taken[-1].count < task.minimum:
            fit = sum(one.count for one in taken)
            for one in taken:
                room.give_back(one)
            return _misfit(demand, task=task, found=taken[-1].count, fit=fit, room=room)
    taken.extend(room.take(task.shape, task.replicas - task.minimum) for task in tasks)
    return taken


def _misfit(demand: Demand, *, task: TaskDemand, found: int, fit: int, room: ClusterRoom) -> Misfit:
    wanted = sum(one.minimum for one in demand.tasks)
    reason = room.why_none_fits(task.shape) or because(
        Code.GANG_TOO_LARGE,
        fit=found,
        wanted=task.minimum,
        task=f" of task {task.name}" if task.name else "",
    )
    return Misfit(reason=reason, progress=fit * _WHOLE // wanted)


def assess(demand: Demand, *, room: ClusterRoom) -> Fit | Misfit:
    """How it would sit in the cluster; leaves the room as it was."""
    taken = occupy(demand, room=room)
    if isinstance(taken, Misfit):
        return taken
    share, resource = _scarcest(demand, room=room)
    whole = {name for one in taken for name in one.whole}
    touched = {place.node.name: place for one in taken for place, _ in one.places}
    broken = sum(any(touched[name].free.get(device, 0) > 0 for device in touched[name].accelerators)
                 for name in whole)  # fmt: skip
    for one in taken:
        room.give_back(one)
    packing = room.spec.packing
    return Fit(
        cluster=room.name,
        broken=broken,
        value=share if packing == "spread" else _WHOLE - share,
        resource=resource,
        packing=packing,
    )


def _scarcest(demand: Demand, *, room: ClusterRoom) -> tuple[int, str]:
    """(free share, resource) of what is scarcest of all it asks for."""
    names = sorted({name for task in demand.tasks for name in task.shape.requests} - {PODS})
    shares = [(room.free(name) * _WHOLE // max(1, room.totals.get(name, 0)), name) for name in names]
    return min(shares, default=(_WHOLE, ""))


def choose(demand: Demand, *, rooms: Iterable[ClusterRoom]) -> Choice:
    """The best of the clusters that it may use; takes no room."""
    fits: list[Fit] = []
    misfits: dict[str, Misfit] = {}
    for room in rooms:
        outcome = assess(demand, room=room)
        if isinstance(outcome, Fit):
            fits.append(outcome)
        else:
            misfits[room.name] = outcome
    rejected = {name: misfit.reason for name, misfit in misfits.items()}
    if not fits:
        return Choice(best=None, reason=_nowhere(misfits), rejected=rejected)
    fits.sort(key=lambda fit: fit.order)
    best, others = fits[0], fits[1:]
    rejected.update({fit.cluster: _worse(fit, best=best) for fit in others})
    return Choice(best=best, reason=_better(best, others=others), rejected=rejected)


def _nowhere(misfits: Mapping[str, Misfit]) -> Reason:
    nearest = min(misfits, key=lambda name: (-misfits[name].progress, name))
    return because(Code.NO_CLUSTER_FITS, nearest=nearest, why=misfits[nearest].reason.text)


def _better(best: Fit, *, others: list[Fit]) -> Reason:
    if not others:
        return because(Code.ONLY_FIT)
    second = others[0]
    if best.broken < second.broken:
        advantage = f"keeps {second.broken - best.broken} more accelerator nodes whole than {second.cluster}"
    elif best.value == second.value:
        advantage = f"as good as {second.cluster}, first by name"
    elif best.packing == "spread":
        advantage = f"{best.value / 100:.1f} % of its {spoken(best.resource)} stay free"
    else:
        advantage = f"{best.value / 100:.1f} % of its {spoken(best.resource)} are used, packed tight"
    return because(Code.BEST_FIT, count=len(others) + 1, advantage=advantage)


def _worse(fit: Fit, *, best: Fit) -> Reason:
    if fit.broken > best.broken:
        return because(Code.BREAKS_GPU_NODES, count=fit.broken - best.broken, best=best.cluster)
    if fit.value == best.value:
        return because(Code.LATER_NAME, best=best.cluster)
    return because(Code.LOWER_SCORE, best=best.cluster, points=f"{(best.value - fit.value) / 100:.1f}")
