"""What a sync would do: desired manifests against live objects, as actions with reasons. Writes nothing.

Absence has to be proven: an object counts as missing only when a complete list of its kind does not have it,
and while any list failed, nothing is deleted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import date
from enum import StrEnum
from typing import Any, Protocol, TypeVar

from gitops_vg.errors import ClusterError, GitopsVgError, KindMissing, Unavailable
from gitops_vg.gitstore import ApprovalRecord
from gitops_vg.objects import (
    FIELD_MANAGER,
    MANAGED_BY_LABEL,
    PROTECTED_LABEL,
    GroupKind,
    Manifest,
    ObjectKey,
    destructive_digest,
    key_of,
)
from gitops_vg.reconcile import diff
from gitops_vg.reconcile.desired import DesiredTree
from gitops_vg.reconcile.diff import FieldChange
from gitops_vg.reconcile.guard import Destruction, holds
from gitops_vg.reconcile.records import Inventory, Record

Live = dict[str, Any]
_THREADS = 8
_JOB = GroupKind("batch.volcano.sh", "Job")
_ENDED = frozenset({"Completed", "Failed", "Terminated", "Aborted"})
_MUTABLE = frozenset({"minAvailable", "priorityClassName", "tasks"})
"""Of a Volcano Job; inside a task only replicas and minAvailable (Volcano's admit_job.go)."""

Item = TypeVar("Item")
Outcome = TypeVar("Outcome")


class Server(Protocol):
    """The part of an API server that planning needs."""

    def list(self, group_kind: GroupKind, *, namespace: str = "", label_selector: str = "") -> list[Live]: ...
    def apply(self, manifest: Manifest, *, dry_run: bool = False, force: bool = True) -> Live: ...
    def serves(self, group_kind: GroupKind) -> bool: ...
    def require_karmada(self) -> None: ...


class ActionKind(StrEnum):
    """What happens to an object. `unprotect` is an update that lifts the deletion protection."""

    CREATE = "create"
    UPDATE = "update"
    ADOPT = "adopt"
    UNPROTECT = "unprotect"
    RECREATE = "recreate"
    DELETE = "delete"

    @property
    def is_destructive(self) -> bool:
        return self in (ActionKind.UNPROTECT, ActionKind.RECREATE, ActionKind.DELETE)


@dataclass(frozen=True)
class Action:
    """One step. `live` is the object now; `changes` say what differs."""

    kind: ActionKind
    key: ObjectKey
    manifest: Manifest | None = None
    live: Live | None = field(default=None, repr=False)
    changes: tuple[FieldChange, ...] = ()

    def __str__(self) -> str:
        return f"{self.kind} {self.key}"

    @property
    def uid(self) -> str:
        return str(self.live["metadata"]["uid"]) if self.live else ""


@dataclass(frozen=True)
class Problem:
    """An object that could not be judged, and why."""

    key: ObjectKey | None
    message: str
    hint: str = ""


@dataclass(frozen=True)
class SyncPlan:
    """Actions to do now (`actions`) and destructive ones that a guard holds (`held`, with `reasons`)."""

    actions: tuple[Action, ...] = ()
    held: tuple[Action, ...] = ()
    reasons: tuple[str, ...] = ()
    digest: str = ""
    approved_by: str = ""
    frozen: str = ""
    """Why nothing is deleted, "" when the world is known."""
    problems: tuple[Problem, ...] = ()
    unchanged: tuple[ObjectKey, ...] = ()
    gone: tuple[ObjectKey, ...] = ()
    """Of ours, and confirmed absent."""
    kept: tuple[ObjectKey, ...] = ()
    """Jobs that ended and whose object went: never run again."""
    records: Mapping[ObjectKey, Record] = field(default_factory=dict, repr=False)
    """The inventory as it is known after planning, before any write."""

    @property
    def is_empty(self) -> bool:
        return not (self.actions or self.held or self.problems)


def make_plan(server: Server, tree: DesiredTree, inventory: Inventory, *, today: date) -> SyncPlan:
    """Compare the committed tree with the control plane.

    Raises KindMissing when the server is no karmada-apiserver, Unavailable when it does not answer at all;
    single kinds that cannot be read become problems and freeze deletions.
    """
    server.require_karmada()
    desired = {manifest.key: manifest for manifest in tree.manifests}
    kinds = {key.group_kind for key in (*desired, *inventory.records)}
    live, failed, missing = _read(server, kinds)
    judged = _Judged(records=dict(inventory.records))
    for kind, error in failed.items():
        judged.problems.append(Problem(None, error.message, error.hint))
        judged.frozen = judged.frozen or f"the list of {kind} is incomplete"
    _judge_desired(server, desired, live, inventory, judged, unread=failed.keys() | missing)
    for kind in sorted(missing & {key.group_kind for key in desired}):
        judged.problems.append(Problem(None, f"karmada-apiserver does not serve {kind}", "install its CRD"))
    if not judged.frozen:
        _judge_left(desired, live, inventory, judged)
    return _guarded(judged, tree=tree, inventory=inventory, live=live, today=today)


@dataclass
class _Judged:
    """What is found while comparing."""

    records: dict[ObjectKey, Record]
    actions: list[Action] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    unchanged: list[ObjectKey] = field(default_factory=list)
    gone: list[ObjectKey] = field(default_factory=list)
    kept: list[ObjectKey] = field(default_factory=list)
    frozen: str = ""


# ---------------------------------------------------------------- reading


def _read(
    server: Server, kinds: Iterable[GroupKind]
) -> tuple[dict[ObjectKey, Live], dict[GroupKind, ClusterError], set[GroupKind]]:
    """Live objects by key, kinds whose list failed, and kinds that are not served."""
    live: dict[ObjectKey, Live] = {}
    failed: dict[GroupKind, ClusterError] = {}
    missing: set[GroupKind] = set()

    def read(kind: GroupKind) -> list[Live] | ClusterError | None:
        try:
            return server.list(kind)
        except KindMissing:
            return None
        except ClusterError as error:
            return error

    for kind, found in in_parallel(read, sorted(kinds)):
        if found is None:
            missing.add(kind)
        elif isinstance(found, ClusterError):
            failed[kind] = found
        else:
            live.update({key_of(body): body for body in found})
    if failed and not live and all(isinstance(error, Unavailable) for error in failed.values()):
        raise next(iter(failed.values()))
    return live, failed, missing


def in_parallel(work: Callable[[Item], Outcome], items: Iterable[Item]) -> Iterator[tuple[Item, Outcome]]:
    """The outcome of each item, in order, worked on by a few threads."""
    known = list(items)
    if len(known) < 2:
        for item in known:
            yield item, work(item)
        return
    with ThreadPoolExecutor(max_workers=_THREADS) as pool:
        yield from zip(known, pool.map(work, known), strict=True)


# ---------------------------------------------------------------- judging


def _judge_desired(
    server: Server,
    desired: Mapping[ObjectKey, Manifest],
    live: Mapping[ObjectKey, Live],
    inventory: Inventory,
    judged: _Judged,
    *,
    unread: set[GroupKind],
) -> None:
    open_questions: list[Manifest] = []
    for key, manifest in desired.items():
        if key.group_kind in unread:
            continue
        body = live.get(key)
        record = inventory.records.get(key)
        if body is None:
            if record is not None and record.finished:
                judged.kept.append(key)
            else:
                judged.actions.append(Action(ActionKind.CREATE, key, manifest))
            continue
        if "deletionTimestamp" in body["metadata"]:
            judged.problems.append(Problem(key, f"{key} is being deleted since {body['metadata']['deletionTimestamp']}",
                                           "wait until it is gone; see its finalizers if it stays"))  # fmt: skip
            continue
        if record is not None and _ended(body) and not record.finished:
            judged.records[key] = replace(record, finished=True)
        if record is not None and record.applied == diff.digest(manifest.body) and record.seen == diff.digest(body):
            judged.unchanged.append(key)
        else:
            open_questions.append(manifest)

    def dry_run(manifest: Manifest) -> Live | ClusterError:
        try:
            return server.apply(manifest, dry_run=True)
        except ClusterError as error:
            return error

    for manifest, result in in_parallel(dry_run, open_questions):
        _judge_difference(manifest, live[manifest.key], result, inventory, judged)


def _judge_difference(
    manifest: Manifest, body: Live, result: Live | ClusterError, inventory: Inventory, judged: _Judged
) -> None:
    key = manifest.key
    if isinstance(result, ClusterError):
        judged.problems.append(Problem(key, result.message, result.hint))
        return
    changes = diff.changes(body, result)
    record = inventory.records.get(key, Record())
    owned = any(entry.get("manager") == FIELD_MANAGER and entry.get("operation") == "Apply"
                for entry in body["metadata"].get("managedFields") or ())  # fmt: skip
    if not changes and owned:
        judged.unchanged.append(key)
        judged.records[key] = replace(
            record, uid=body["metadata"]["uid"], applied=diff.digest(manifest.body), seen=diff.digest(body),
            finished=record.finished or _ended(body),
        )  # fmt: skip
        return
    if key.group_kind == _JOB and _immutable_differs(body, result):
        kind = ActionKind.RECREATE
    elif _is_protected(body) and not manifest.protected:
        kind = ActionKind.UNPROTECT
    elif key not in inventory.records and body["metadata"].get("labels", {}).get(MANAGED_BY_LABEL) != FIELD_MANAGER:
        kind = ActionKind.ADOPT
    else:
        kind = ActionKind.UPDATE
    judged.actions.append(Action(kind, key, manifest, body, changes))


def _judge_left(
    desired: Mapping[ObjectKey, Manifest], live: Mapping[ObjectKey, Live], inventory: Inventory, judged: _Judged
) -> None:
    """Ours, but not in Git any more."""
    for key, record in inventory.records.items():
        if key in desired:
            continue
        body = live.get(key)
        if body is None:
            judged.gone.append(key)
            judged.records.pop(key, None)
        elif record.uid and body["metadata"]["uid"] != record.uid and not _carries_our_label(body):
            # Somebody made a new object of that name: it is not the one we own.
            judged.gone.append(key)
            judged.records.pop(key, None)
        elif key.group_kind == GroupKind("cluster.karmada.io", "Cluster"):
            # We own labels of a Cluster, never the Cluster: it leaves the fleet by `karmadactl unjoin`.
            judged.gone.append(key)
            judged.records.pop(key, None)
        elif "deletionTimestamp" not in body["metadata"]:
            judged.actions.append(Action(ActionKind.DELETE, key, None, body))


def _carries_our_label(body: Live) -> bool:
    return bool((body["metadata"].get("labels") or {}).get(MANAGED_BY_LABEL) == FIELD_MANAGER)


def _is_protected(body: Live) -> bool:
    return bool((body["metadata"].get("labels") or {}).get(PROTECTED_LABEL) == "Always")


def _ended(body: Live) -> bool:
    return body.get("kind") == "Job" and phase(body) in _ENDED


def phase(body: Live) -> str:
    """The phase of a Volcano Job, "" for anything else."""
    state = (body.get("status") or {}).get("state")
    return str(state.get("phase", "")) if isinstance(state, dict) else ""


def _immutable_differs(live: Live, wanted: Live) -> bool:
    """Whether a Volcano Job differs in what its webhook in the member refuses to change."""
    return bool(_fixed(live.get("spec", {})) != _fixed(wanted.get("spec", {})))


def _fixed(spec: Mapping[str, Any]) -> Any:
    tasks = [
        {name: value for name, value in task.items() if name not in ("replicas", "minAvailable")}
        for task in spec.get("tasks", [])
    ]
    return {**{name: value for name, value in spec.items() if name not in _MUTABLE}, "tasks": tasks}


# ---------------------------------------------------------------- guarding


def _guarded(
    judged: _Judged, *, tree: DesiredTree, inventory: Inventory, live: Mapping[ObjectKey, Live], today: date
) -> SyncPlan:
    """Split what may be done now from what a guard holds; the destructive part is held or done as one."""
    destructive = [action for action in judged.actions if action.kind.is_destructive]
    safe = [action for action in judged.actions if not action.kind.is_destructive]
    lines = [str(action) for action in destructive]
    digest = destructive_digest(lines) if lines else ""
    world = [Destruction(action.kind, action.key, action.live or {}) for action in destructive]
    reasons = tuple(holds(world, settings=tree.settings, total=len(inventory.records), live=live,
                          owned=inventory.records.keys(), empty=not tree.manifests))  # fmt: skip
    if judged.frozen and destructive:
        reasons = (*reasons, f"nothing is destroyed while {judged.frozen}")
    approval = next((item for item in tree.approvals if item.holds(digest, today=today)), None)
    held = bool(reasons) and (approval is None or bool(judged.frozen))
    return SyncPlan(
        actions=tuple(safe if held else judged.actions),
        held=tuple(destructive) if held else (),
        reasons=reasons if held else (),
        digest=digest,
        approved_by=_name(approval) if reasons and not held else "",
        frozen=judged.frozen,
        problems=tuple(judged.problems),
        unchanged=tuple(judged.unchanged),
        gone=tuple(judged.gone),
        kept=tuple(judged.kept),
        records=judged.records,
    )


def _name(approval: ApprovalRecord | None) -> str:
    if approval is None:
        raise GitopsVgError("a held plan was opened without an approval")
    return approval.name
