"""Carries out a plan: in order, in parallel where order does not matter, with the inventory written first."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from gitops_vg.errors import ClusterError, Unavailable
from gitops_vg.objects import PROTECTED_LABEL, GroupKind, Manifest, ObjectKey
from gitops_vg.reconcile import diff
from gitops_vg.reconcile.order import WORKLOADS, depth, is_policy, stage
from gitops_vg.reconcile.plan import Action, ActionKind, SyncPlan, in_parallel
from gitops_vg.reconcile.records import Inventory, Record, save

_GONE_WITHIN = 15.0
"""Seconds that policies wait for the bindings of what was deleted; after that they go at the next sync."""
_LOOK_EVERY = 0.2
_BINDING = "ResourceBinding"
_QUEUE = GroupKind("scheduling.volcano.sh", "Queue")

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
    records: dict[ObjectKey, Record]
    done: list[Action] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    waiting: list[ObjectKey] = field(default_factory=list)


def execute(
    server: Server, plan: SyncPlan, inventory: Inventory, *, sleep: Callable[[float], None] = time.sleep
) -> SyncResult:
    """Do the plan's actions. One failure never stops independent objects; what depends on it is left out.

    Raises GitopsVgError when another sync is running, Unavailable when the inventory cannot be written:
    in both cases nothing else was done.
    """
    records = dict(plan.records)
    if not plan.actions:
        return SyncResult(inventory=save(server, inventory, records))
    for action in plan.actions:
        records.setdefault(action.key, Record())
    inventory = save(server, inventory, records)
    run = _Run(server, records)
    applies = [action for action in plan.actions if action.kind is not ActionKind.DELETE]
    deletes = [action for action in plan.actions if action.kind is ActionKind.DELETE]
    _apply_in_order(run, applies)
    _delete_in_order(run, deletes, sleep=sleep)
    inventory = save(server, inventory, run.records)
    return SyncResult(tuple(run.done), tuple(run.failures), tuple(run.waiting), inventory)


# ---------------------------------------------------------------- applying


def _apply_in_order(run: _Run, actions: Sequence[Action]) -> None:
    queues = {action.key.name: action for action in actions if action.key.group_kind == _QUEUE}
    groups: dict[tuple[int, int], list[Action]] = {}
    for action in actions:
        assert action.manifest is not None
        below = depth(action.manifest, queues=queues) if action.key.group_kind == _QUEUE else 0
        groups.setdefault((stage(action.key), below), []).append(action)
    for _, group in sorted(groups.items(), key=lambda item: item[0]):
        ready = []
        for action in group:
            blocker = _blocker(action, run.failures)
            if blocker is None:
                ready.append(action)
            else:
                run.failures.append(Failure(action, f"left out: {blocker} failed", skipped=True))
        for action, outcome in in_parallel(lambda action: _applied(run.server, action), ready):
            _note(run, action, outcome)


def _blocker(action: Action, failures: Iterable[Failure]) -> ObjectKey | None:
    """A failed object that this one cannot do without: its namespace, its policy, its queue."""
    manifest = action.manifest
    assert manifest is not None
    spec = manifest.body.get("spec") or {}
    for failure in failures:
        key = failure.action.key
        if key.group_kind == GroupKind("", "Namespace") and key.name == action.key.namespace:
            return key
        same_place = key.namespace == action.key.namespace
        if key.kind == "PropagationPolicy" and same_place and _selects(failure.action, action.key):
            return key
        if key.group_kind == _QUEUE and isinstance(spec, dict) and key.name in (spec.get("queue"), spec.get("parent")):
            return key
    return None


def _selects(policy: Action, key: ObjectKey) -> bool:
    if policy.manifest is None or stage(key) < WORKLOADS:
        return False
    selectors = policy.manifest.body.get("spec", {}).get("resourceSelectors") or ()
    return any(selector.get("kind") == key.kind and selector.get("name") == key.name for selector in selectors)


def _applied(server: Server, action: Action) -> Live | ClusterError:
    """Apply one object; after a lost answer look what happened before giving up."""
    assert action.manifest is not None
    try:
        if action.kind is ActionKind.RECREATE and action.live is not None:
            _lift_protection(server, action)
            server.delete(action.key, uid=action.uid)
        return server.apply(action.manifest)
    except Unavailable as error:
        return _after_lost_answer(server, action, error)
    except ClusterError as error:
        return error


def _after_lost_answer(server: Server, action: Action, error: Unavailable) -> Live | ClusterError:
    assert action.manifest is not None
    try:
        live = server.get(action.key)
        if live is None:
            return error
        result = server.apply(action.manifest, dry_run=True)
        return live if not diff.changes(live, result) else error
    except ClusterError:
        return error


def _note(run: _Run, action: Action, outcome: Live | ClusterError) -> None:
    if isinstance(outcome, ClusterError):
        run.failures.append(Failure(action, outcome.message, outcome.hint))
        return
    assert action.manifest is not None
    run.done.append(action)
    run.records[action.key] = Record(
        uid=outcome["metadata"]["uid"],
        applied=diff.digest(action.manifest.body),
        seen=diff.digest(outcome),
        finished=False if action.kind is ActionKind.RECREATE else run.records[action.key].finished,
    )


# ---------------------------------------------------------------- deleting


def _delete_in_order(run: _Run, actions: Sequence[Action], *, sleep: Callable[[float], None]) -> None:
    """Workloads first, their policies once the bindings are gone, queues from the leaves, namespaces last."""
    queues = {action.key.name: action for action in actions if action.key.group_kind == _QUEUE}
    groups: dict[tuple[int, int], list[Action]] = {}
    for action in actions:
        body = Manifest(action.live or {}) if action.live else None
        below = depth(body, queues=queues) if body is not None and action.key.group_kind == _QUEUE else 0
        # Policies go after what they propagate, whatever stage that is.
        rank = _delete_rank(action.key)
        groups.setdefault((rank, -below), []).append(action)
    removed: list[ObjectKey] = []
    for (rank, _), group in sorted(groups.items(), key=lambda item: item[0]):
        if rank == 1 and removed and not _bindings_gone(run.server, removed, sleep=sleep):
            for action in group:
                run.failures.append(
                    Failure(action, "left out: the bindings of what it propagated are not gone yet", skipped=True)
                )
            continue
        for action, error in in_parallel(lambda action: _deleted(run.server, action), group):
            if error is not None:
                run.failures.append(Failure(action, error.message, error.hint))
                continue
            run.done.append(action)
            removed.append(action.key)
            _confirm(run, action.key)


def _delete_rank(key: ObjectKey) -> int:
    if is_policy(key):
        return 1
    return 0 if stage(key) >= 4 else 2


def _deleted(server: Server, action: Action) -> ClusterError | None:
    try:
        _lift_protection(server, action)
        server.delete(action.key, uid=action.uid)
    except ClusterError as error:
        return error
    return None


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


def _bindings_gone(server: Server, removed: Iterable[ObjectKey], *, sleep: Callable[[float], None]) -> bool:
    """Wait, bounded, until Karmada has taken back what was deleted."""
    bindings = [binding_key(key) for key in removed if not is_policy(key)]
    waited = 0.0
    while waited < _GONE_WITHIN:
        try:
            bindings = [key for key in bindings if server.get(key) is not None]
        except ClusterError:
            return False
        if not bindings:
            return True
        sleep(_LOOK_EVERY)
        waited += _LOOK_EVERY
    return False


def binding_key(key: ObjectKey) -> ObjectKey:
    """The binding that Karmada makes for a template: `<name>-<kind>`, without its group."""
    name = f"{key.name}-{key.kind}".lower().replace(":", ".")
    kind = _BINDING if key.namespace else f"Cluster{_BINDING}"
    return ObjectKey("work.karmada.io", kind, key.namespace, name)
