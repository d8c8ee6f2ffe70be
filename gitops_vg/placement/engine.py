"""The plan: intents, a snapshot and the last decisions in; decisions with reasons out.

Pure: no clock, no randomness, no network. Whoever is served first is decided by `Case.rank`
alone, every tie by name, so that the same input gives the same plan in whatever order it
is read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gitops_vg.capacity.snapshot import Snapshot
from gitops_vg.errors import GitopsVgError
from gitops_vg.intents.fleet import Intents
from gitops_vg.placement.case import Case, World
from gitops_vg.placement.demand import demands_of
from gitops_vg.placement.divided import decide_divided
from gitops_vg.placement.plan import Decision, PlacementLock, Plan, State
from gitops_vg.placement.stability import keep_what_runs
from gitops_vg.placement.whole import decide_everywhere, decide_manifests, decide_one


def plan(intents: Intents, snapshot: Snapshot, *, previous: PlacementLock) -> Plan:
    """Where every workload runs, and why.

    Raises GitopsVgError when the snapshot has no cluster at all: every workload would leave
    the clusters it runs in. Raises InputError when a quantity cannot be read.
    """
    if not snapshot.clusters and intents.workloads:
        raise GitopsVgError(
            "the snapshot has no cluster: nothing can be planned",
            hint="check that the context is the right karmada-apiserver and that it knows the members",
        )
    world = World.of(intents, snapshot)
    cases = [
        Case.of(demand, intents=intents, world=world, before=previous.get(demand.key)) for demand in demands_of(intents)
    ]
    cases.sort(key=lambda case: case.rank(world.ledger))
    keep_what_runs(cases, world=world)
    decisions = {case.key: _decide(case, world=world) for case in cases}
    _decide_again(cases, decisions=decisions, world=world)
    return Plan(
        snapshot_digest=snapshot.digest,
        decisions=tuple(decisions[key] for key in sorted(decisions)),
        queues=world.ledger.uses(),
        warnings=tuple(dict.fromkeys(_warnings(cases, snapshot=snapshot, world=world))),
    )


def _decide_again(cases: Iterable[Case], *, decisions: dict[str, Decision], world: World) -> None:
    """Work that waits is looked at again when all others have their place, until nothing changes.

    Its reason is then of the world as the next plan will find it, and a guarantee that its owner
    came to use no longer stands in its way. Each round but the last places work, so it ends.
    """
    waiting = [case for case in cases if decisions[case.key].state is State.PENDING]
    changed = True
    while changed:
        changed = False
        for case in waiting:
            case.warnings.clear()
            decisions[case.key] = _decide(case, world=world)
            changed |= decisions[case.key].state is not State.PENDING
        waiting = [case for case in waiting if decisions[case.key].state is State.PENDING]


def _decide(case: Case, *, world: World) -> Decision:
    if case.demand.form == "manifests":
        return decide_manifests(case, world=world)
    if case.demand.mode == "divide":
        return decide_divided(case, world=world)
    if case.demand.mode == "everywhere":
        return decide_everywhere(case, world=world)
    return decide_one(case, world=world)


def _warnings(cases: Iterable[Case], *, snapshot: Snapshot, world: World) -> Iterator[str]:
    for case in sorted(cases, key=lambda one: one.key):
        yield from case.warnings
    yield from world.ledger.overdrawn()
    for cluster in sorted(snapshot.clusters, key=lambda one: one.name):
        for warning in cluster.warnings:
            yield f"{cluster.name}: {warning}"
    for case in cases:
        if case.demand.mode != case.demand.workload.mode:
            yield f"{case.key}: only services are divided; it is placed whole in one cluster"
