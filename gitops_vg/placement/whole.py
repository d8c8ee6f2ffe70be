"""Decisions for work that is never divided: jobs, periodic jobs, copies, raw manifests."""

from __future__ import annotations

from gitops_vg.placement.case import Case, World, everywhere
from gitops_vg.placement.gangs import Misfit, choose, occupy
from gitops_vg.placement.plan import Decision, Reason
from gitops_vg.placement.reasons import Code, because
from gitops_vg.placement.stability import charge_of
from gitops_vg.quantities import CPU


def decide_one(case: Case, *, world: World) -> Decision:
    """One cluster for all of it, where it fits node by node."""
    if case.ended:
        return case.runs(case.keep, because(Code.FINISHED), others={}, kept=Code.FINISHED)
    if case.keep and not case.stuck:
        return case.runs(case.keep, because(Code.KEPT), others={})
    if case.stuck:
        return _elsewhere(case, world=world)
    if not case.open:
        return case.nowhere_eligible()
    refused = world.ledger.refusal(case.demand.queue, case.demand.total, free=world.free)
    if refused is not None:
        others = everywhere(case.open, because(Code.NOT_ADMITTED))
        return case.pending(refused, others=others)
    choice = choose(case.demand, rooms=[world.rooms[name] for name in case.open])
    if choice.best is None:
        return case.pending(choice.reason, others=choice.rejected)
    occupy(case.demand, room=world.rooms[choice.best.cluster])
    assignments = {choice.best.cluster: case.demand.replicas}
    world.ledger.charge(case.demand.queue, charge_of(case, assignments=assignments))
    return case.runs(assignments, choice.reason, others=choice.rejected)


def _elsewhere(case: Case, *, world: World) -> Decision:
    """It waits in a cluster that has no room for it: to one that has, or it goes on waiting there."""
    (here,) = case.keep
    outcome = occupy(case.demand, room=world.rooms[here])
    if not isinstance(outcome, Misfit):
        return case.runs(case.keep, because(Code.KEPT), others={})
    cause = outcome.reason
    rooms = [world.rooms[name] for name in case.open if name != here]
    choice = choose(case.demand, rooms=rooms) if rooms else None
    if choice is None or choice.best is None:
        case.warnings.append(f"{case.key} waits in {here} and fits nowhere else: {cause.text}")
        return case.runs(case.keep, because(Code.KEPT), others=choice.rejected if choice is not None else {})
    occupy(case.demand, room=world.rooms[choice.best.cluster])
    case.lost[here] = cause
    others = {**choice.rejected, here: cause}
    return case.runs({choice.best.cluster: case.demand.replicas}, choice.reason, others=others)


def decide_everywhere(case: Case, *, world: World) -> Decision:
    """A whole copy in every cluster that may have it and has room."""
    assignments = dict.fromkeys(case.keep, 1)
    others: dict[str, Reason] = {}
    for name in case.open:
        if name in assignments:
            continue
        refused = world.ledger.refusal(case.demand.queue, case.demand.total, free=world.free)
        outcome = refused or occupy(case.demand, room=world.rooms[name])
        if isinstance(outcome, list):
            assignments[name] = 1
            world.ledger.charge(case.demand.queue, case.demand.total)
        else:
            others[name] = outcome.reason if isinstance(outcome, Misfit) else outcome
    if assignments:
        return case.runs(assignments, because(Code.EVERYWHERE), others=others)
    if not case.open:
        return case.nowhere_eligible()
    nearest = min(others)
    reason = because(Code.NO_CLUSTER_FITS, nearest=nearest, why=others[nearest].text)
    return case.pending(reason, others=others)


def decide_manifests(case: Case, *, world: World) -> Decision:
    """Raw objects ask for no room that we could count: where they may be, they are."""
    if case.demand.mode == "everywhere":
        assignments = dict.fromkeys([*case.keep, *case.open], 1)
        if not assignments:
            return case.nowhere_eligible()
        return case.runs(assignments, because(Code.EVERYWHERE), others={})
    if case.keep:
        return case.runs(case.keep, because(Code.KEPT), others={})
    if not case.open:
        return case.nowhere_eligible()
    best = max(reversed(case.open), key=lambda name: world.rooms[name].free(CPU))
    reason = (
        because(Code.ONLY_FIT)
        if len(case.open) == 1
        else because(Code.BEST_FIT, count=len(case.open), advantage="most CPU free")
    )
    others = everywhere(case.open, because(Code.LOWER_CPU, best=best))
    return case.runs({best: 1}, reason, others=others)
