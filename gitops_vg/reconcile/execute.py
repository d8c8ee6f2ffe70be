"""Carries out a plan: in order, in parallel where order does not matter, with the inventory written first."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from gitops_vg.errors import ClusterError, Unavailable
from gitops_vg.objects import PROTECTED_LABEL, Manifest, ObjectKey
from gitops_vg.reconcile import diff
from gitops_vg.reconcile.actions import Action, ActionKind, SyncPlan
from gitops_vg.reconcile.order import NAMESPACE, QUEUE, depth, is_content, is_policy, needs, stage
from gitops_vg.reconcile.parallel import Outage, in_parallel
from gitops_vg.reconcile.records import Inventory, Record, claim, save
from gitops_vg.reconcile.running import binding_key

_GONE_WITHIN = 15.0
"""Seconds that policies wait for the bindings of what was deleted; after that they go at the next sync."""
_LOOK_EVERY = 0.2

Live = dict[str, Any]


class Server(Protocol):
    """The part of an API server that carrying out needs."""

    def get(self, key: ObjectKey) -> Live | None: ...
    def apply(self, manifest: Manifest, *, dry_run: bool = False, force: bool = True) -> Live: ...
    def create(self, body: Live) -> Live: ...
    def replace(self, body: Live) -> Live: ...
    def delete(
        self, key: ObjectKey, *, uid: str, resource_version: str | None = None, dry_run: bool = False
    ) -> None: ...
    def json_patch(self, key: ObjectKey, operations: Sequence[Mapping[str, Any]], *, dry_run: bool = False) -> Live: ...


@dataclass(frozen=True)
class Failure:
    """An action that failed or was left out, and why."""

    action: Action
    message: str
    hint: str = ""
    skipped: bool = False


@dataclass(frozen=True)
class SyncResult:
    """What a sync did."""

    done: tuple[Action, ...] = ()
    failures: tuple[Failure, ...] = ()
    waiting: tuple[ObjectKey, ...] = ()
    """Deleted, but not gone yet."""
    inventory: Inventory | None = field(default=None, repr=False)


@dataclass
class _Run:
    """State of one execution."""

    server: Server
    sleep: Callable[[float], None]
    records: dict[ObjectKey, Record]
    broken: list[Manifest]
    """Wished objects that are not there as wished: what needs one of them is left out."""
    outage: Outage = field(default_factory=Outage)
    done: list[Action] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    waiting: list[ObjectKey] = field(default_factory=list)

    def fail(self, action: Action, message: str, *, hint: str = "", skipped: bool = False) -> None:
        self.failures.append(Failure(action, message, hint, skipped))
        if action.manifest is not None:
            self.broken.append(action.manifest)


def execute(
    server: Server, plan: SyncPlan, inventory: Inventory, *, sleep: Callable[[float], None] = time.sleep
) -> SyncResult:
    """Do the plan's actions. One failure never stops independent objects; what depends on it is left out.

    Raises GitopsVgError when another sync is running, Unavailable when the inventory cannot be written:
    in both cases nothing else was done.
    """
    if not plan.actions:
        return SyncResult(inventory=save(server, inventory, plan.records))
    records = dict(plan.records)
    for action in plan.actions:
        record = records.get(action.key, Record())
        # A recreation is a person's word to run again: it must survive a stop between its two halves.
        again = action.kind is ActionKind.RECREATE
        records[action.key] = replace(record, finished=False) if again else record
    inventory = claim(server, inventory, records, commit=plan.commit)
    run = _Run(server, sleep, records, list(plan.unknown))
    _apply_in_order(run, [action for action in plan.actions if action.kind is not ActionKind.DELETE])
    _delete_in_order(run, [action for action in plan.actions if action.kind is ActionKind.DELETE])
    inventory = save(server, inventory, run.records)
    return SyncResult(tuple(run.done), tuple(run.failures), tuple(run.waiting), inventory)


# ---------------------------------------------------------------- applying


def _apply_in_order(run: _Run, actions: Sequence[Action]) -> None:
    queues = {action.key.name: action.manifest for action in actions if action.key.group_kind == QUEUE}
    groups: dict[tuple[int, int], list[Action]] = {}
    for action in actions:
        below = depth(action.manifest, queues=queues) if action.key.group_kind == QUEUE else 0
        groups.setdefault((stage(action.key), below), []).append(action)
    for _, group in sorted(groups.items(), key=lambda item: item[0]):
        ready = []
        for action in group:
            blocker = _blocker(action, run.broken)
            if blocker is None:
                ready.append(action)
            else:
                run.fail(action, f"left out: {blocker} is not there as it should be", skipped=True)
        for action, outcome in in_parallel(lambda action: _applied(run, action), ready):
            _note(run, action, outcome)


def _blocker(action: Action, broken: Sequence[Manifest]) -> ObjectKey | None:
    """An object that this one cannot do without and that is not there: its namespace, its policy, its queue."""
    assert action.manifest is not None
    return next((other.key for other in broken if needs(action.manifest, other)), None)


def _applied(run: _Run, action: Action) -> Live | ClusterError:
    """Apply one object; after a lost answer look what happened before giving up."""
    manifest = action.manifest
    assert manifest is not None

    def send() -> Live:
        if action.kind is ActionKind.RECREATE:
            _lift_protection(run.server, action)
            run.server.delete(action.key, uid=action.uid)
            _wait_until_gone(run, action)
        live = run.server.apply(manifest)
        if since := live["metadata"].get("deletionTimestamp"):
            raise ClusterError(
                f"{action.key} is being deleted since {since}: what was applied will go with it",
                hint="sync again when it is gone; see its finalizers if it stays",
            )
        return live

    outcome = run.outage.attempt(send)
    lost = isinstance(outcome, Unavailable) and run.outage.gone is None
    return _after_lost_answer(run.server, manifest, outcome) if lost else outcome


def _wait_until_gone(run: _Run, action: Action) -> None:
    """Raises ClusterError when the old object stays: applying would only touch what is about to vanish."""
    waited = 0.0
    while (live := run.server.get(action.key)) is not None and live["metadata"]["uid"] == action.uid:
        if waited >= _GONE_WITHIN:
            holders = ", ".join(live["metadata"].get("finalizers") or ()) or "no finalizer"
            raise ClusterError(
                f"{action.key} was deleted to be made again and is still there (held by {holders})",
                hint="the next sync makes it once it is gone",
            )
        run.sleep(_LOOK_EVERY)
        waited += _LOOK_EVERY


def _after_lost_answer(server: Server, manifest: Manifest, error: Live | ClusterError) -> Live | ClusterError:
    try:
        live = server.get(manifest.key)
        if live is None:
            return error
        result = server.apply(manifest, dry_run=True)
        return error if diff.changes(live, result) or not diff.applied_by_us(live) else live
    except ClusterError:
        return error


def _note(run: _Run, action: Action, outcome: Live | ClusterError) -> None:
    if isinstance(outcome, ClusterError):
        run.fail(action, outcome.message, hint=outcome.hint)
        return
    assert action.manifest is not None
    run.done.append(action)
    record = run.records[action.key]
    run.records[action.key] = Record(
        uid=outcome["metadata"]["uid"],
        applied=diff.digest(action.manifest.body),
        seen=diff.digest(outcome),
        finished=record.finished,
        repairs=record.repairs + 1 if action.is_repair else 0,
    )


# ---------------------------------------------------------------- deleting


def _delete_in_order(run: _Run, actions: Sequence[Action]) -> None:
    """Workloads first, their policies once the bindings are gone, queues from the leaves, namespaces last.

    What stayed keeps what it needs: a namespace would take it along, a policy would lose it to another.
    """
    bodies = {action.key: Manifest(action.live or {}) for action in actions}
    queues = {key.name: body for key, body in bodies.items() if key.group_kind == QUEUE}
    groups: dict[tuple[int, int], list[Action]] = {}
    for action in actions:
        below = depth(bodies[action.key], queues=queues) if action.key.group_kind == QUEUE else 0
        groups.setdefault((_delete_rank(action.key), -below), []).append(action)
    stayed: list[Manifest] = []
    removed: list[ObjectKey] = []
    for (rank, _), group in sorted(groups.items(), key=lambda item: item[0]):
        bindings_stay = rank == 1 and bool(removed) and not _bindings_gone(run, removed)
        ready = []
        for action in group:
            needed_by = next((other.key for other in stayed if needs(other, bodies[action.key])), None)
            if needed_by is not None:
                run.fail(action, f"left out: {needed_by} is still there and needs it", skipped=True)
            elif bindings_stay:
                run.fail(action, "left out: the bindings of what it propagated are not gone yet", skipped=True)
            else:
                ready.append(action)
                continue
            stayed.append(bodies[action.key])
        for action, error in in_parallel(lambda action: _deleted(run, action), ready):
            if error is not None:
                run.fail(action, error.message, hint=error.hint)
                stayed.append(bodies[action.key])
                continue
            run.done.append(action)
            removed.append(action.key)
            _confirm(run, action.key)


def _delete_rank(key: ObjectKey) -> int:
    if key.group_kind == NAMESPACE:
        return 3
    if is_policy(key):
        return 1
    return 0 if is_content(key) else 2


def _deleted(run: _Run, action: Action) -> ClusterError | None:
    def send() -> None:
        _lift_protection(run.server, action)
        run.server.delete(action.key, uid=action.uid)

    return run.outage.attempt(send)


def _lift_protection(server: Server, action: Action) -> None:
    """An approved deletion of a protected object takes two requests: Karmada refuses it with the label."""
    labels = (action.live or {}).get("metadata", {}).get("labels") or {}
    if labels.get(PROTECTED_LABEL) != "Always":
        return
    pointer = "/metadata/labels/" + PROTECTED_LABEL.replace("/", "~1")
    operations = [
        {"op": "test", "path": "/metadata/uid", "value": action.uid},
        {"op": "remove", "path": pointer},
    ]
    server.json_patch(action.key, operations)


def _confirm(run: _Run, key: ObjectKey) -> None:
    """Forget an object only when the server says that it is gone."""
    try:
        live = run.server.get(key)
    except ClusterError:
        live = {}
    if live is None:
        run.records.pop(key, None)
    else:
        run.waiting.append(key)


def _bindings_gone(run: _Run, removed: Iterable[ObjectKey]) -> bool:
    """Wait, bounded, until Karmada has taken back what was deleted."""
    bindings = [binding_key(key) for key in removed if not is_policy(key)]
    waited = 0.0
    while True:
        try:
            bindings = [key for key in bindings if run.server.get(key) is not None]
        except ClusterError:
            return False
        if not bindings or waited >= _GONE_WITHIN:
            return not bindings
        run.sleep(_LOOK_EVERY)
        waited += _LOOK_EVERY
