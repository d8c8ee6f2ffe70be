"""Compares each object, wished or owned, with what is live, and says what has to happen to it. Writes nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from gitops_vg.errors import ClusterError, KindMissing, Unavailable
from gitops_vg.objects import (
    FIELD_MANAGER,
    MANAGED_BY_LABEL,
    PROTECTED_LABEL,
    GroupKind,
    Manifest,
    ObjectKey,
    key_of,
)
from gitops_vg.reconcile import diff
from gitops_vg.reconcile.actions import Action, ActionKind, Problem
from gitops_vg.reconcile.diff import FieldChange
from gitops_vg.reconcile.order import NAMESPACE, PRIORITY_CLASS, QUEUE
from gitops_vg.reconcile.parallel import Outage, in_parallel
from gitops_vg.reconcile.records import Inventory, Record
from gitops_vg.reconcile.running import VOLCANO_JOB, ended

Live = dict[str, Any]
_CLUSTER = GroupKind("cluster.karmada.io", "Cluster")
_MUTABLE = frozenset({"minAvailable", "priorityClassName", "tasks"})
"""Of a Volcano Job; inside a task only replicas and minAvailable (Volcano's admit_job.go)."""
_FIGHT = 4
"""Repairs of one manifest after which it is said that somebody writes against us."""


class Server(Protocol):
    """The part of an API server that judging needs."""

    def list(
        self, group_kind: GroupKind, *, namespace: str = "", label_selector: str = "", api_version: str = ""
    ) -> list[Live]: ...
    def apply(self, manifest: Manifest, *, dry_run: bool = False, force: bool = True) -> Live: ...


@dataclass
class Judged:
    """What is found while comparing."""

    records: dict[ObjectKey, Record]
    actions: list[Action] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    unchanged: list[ObjectKey] = field(default_factory=list)
    gone: list[ObjectKey] = field(default_factory=list)
    kept: list[ObjectKey] = field(default_factory=list)
    left_fields: list[tuple[ObjectKey, tuple[FieldChange, ...]]] = field(default_factory=list)
    unknown: list[Manifest] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    frozen: str = ""


@dataclass(frozen=True)
class World:
    """What was read: live objects of ours or wished, kinds whose list failed, kinds that are not served."""

    live: Mapping[ObjectKey, Live]
    failed: Mapping[GroupKind, ClusterError]
    missing: frozenset[GroupKind]


def read_world(server: Server, desired: Mapping[ObjectKey, Manifest], owned: Iterable[ObjectKey]) -> World:
    """One complete list a kind, of which only objects that concern us are kept.

    Raises Unavailable when the server answered none of them.
    """
    wanted = desired.keys() | set(owned)
    versions = {key.group_kind: manifest.api_version for key, manifest in desired.items()}
    live: dict[ObjectKey, Live] = {}
    failed: dict[GroupKind, ClusterError] = {}
    missing: set[GroupKind] = set()
    outage = Outage()

    def read(kind: GroupKind) -> list[Live] | ClusterError:
        return outage.attempt(lambda: server.list(kind, api_version=versions.get(kind, "")))

    for kind, found in in_parallel(read, sorted({key.group_kind for key in wanted})):
        if isinstance(found, KindMissing):
            missing.add(kind)
        elif isinstance(found, ClusterError):
            failed[kind] = found
        else:
            live.update({key: body for body in found if (key := key_of(body)) in wanted})
    if failed and not live and all(isinstance(error, Unavailable) for error in failed.values()):
        raise next(iter(failed.values()))
    return World(live, failed, frozenset(missing))


def judge_desired(
    server: Server, desired: Mapping[ObjectKey, Manifest], world: World, inventory: Inventory, judged: Judged
) -> None:
    """Create, leave, or look closer at by a dry run. Raises Unavailable when the server went away meanwhile."""
    open_questions: list[Manifest] = []
    for key, manifest in desired.items():
        owner = _other_owner(key, inventory)
        if key.group_kind in world.failed or key.group_kind in world.missing:
            _doubt(manifest, judged, is_there=manifest.key.group_kind == NAMESPACE)
            continue
        body, record = world.live.get(key), inventory.records.get(key)
        if body is None and owner:
            _refuse(manifest, owner, judged)
        elif body is None:
            _judge_absent(manifest, record, judged)
        elif since := body["metadata"].get("deletionTimestamp"):
            hint = "wait until it is gone; see its finalizers if it stays"
            judged.problems.append(Problem(key, f"{key} is being deleted since {since}", hint))
            judged.unknown.append(manifest)
        elif _is_known(manifest, body, record):
            judged.unchanged.append(key)
            if record is not None and ended(body) and not record.finished:
                judged.records[key] = replace(record, finished=True)
        else:
            open_questions.append(manifest)
    outage = Outage()
    for manifest, result in in_parallel(
        lambda manifest: outage.attempt(lambda: server.apply(manifest, dry_run=True)), open_questions
    ):
        if outage.gone is not None:
            raise outage.gone
        _judge_difference(manifest, world.live[manifest.key], result, inventory, judged)


def _doubt(manifest: Manifest, judged: Judged, *, is_there: bool) -> None:
    """An object that will not be as wished: what cannot do without it waits.

    A namespace, queue or priority class serves in another form too; a policy in another form would bring a
    new workload to other clusters.
    """
    if not (is_there and manifest.key.group_kind in (NAMESPACE, QUEUE, PRIORITY_CLASS)):
        judged.unknown.append(manifest)


def _other_owner(key: ObjectKey, inventory: Inventory) -> str:
    """The fleet that owns an object which is not ours yet, "" for none."""
    other, record = inventory.others.get(key), inventory.records.get(key)
    return other.fleet if other is not None and other.uid and not (record is not None and record.uid) else ""


def _refuse(manifest: Manifest, owner: str, judged: Judged) -> None:
    """Leave an object to its fleet, and note that we wish it: when that fleet lets it go, it is not deleted."""
    key = manifest.key
    judged.records.setdefault(key, Record())
    _doubt(manifest, judged, is_there=True)
    judged.problems.append(
        Problem(
            key,
            f"{key} belongs to fleet {owner}",
            f"remove it from one of the two; once {owner} has synced without it, it is ours",
        )
    )


def _judge_absent(manifest: Manifest, record: Record | None, judged: Judged) -> None:
    if manifest.key.group_kind == _CLUSTER:
        # Applying it would try to create it, and be answered that syncMode is required.
        problem = f"Cluster {manifest.key.name} is not joined to this control plane: its labels cannot be set"
        hint = "join it with `karmadactl join`, or correct the name in clusters/"
        judged.problems.append(Problem(manifest.key, problem, hint))
        return
    if record is None or not record.finished:
        judged.actions.append(Action(ActionKind.CREATE, manifest.key, manifest))
        return
    judged.kept.append(manifest.key)
    if record.applied != diff.digest(manifest.body):
        judged.notices.append(
            f"{manifest.key} has ended and its object is gone: the changed job is not run, give it a new name for that"
        )


def _is_known(manifest: Manifest, body: Live, record: Record | None) -> bool:
    """Whether this very manifest was found equal to this very object before."""
    return (
        record is not None
        and record.applied == diff.digest(manifest.body)
        and record.seen == diff.digest(body)
        and record.uid == body["metadata"]["uid"]
    )


def _judge_difference(
    manifest: Manifest, body: Live, result: Live | ClusterError, inventory: Inventory, judged: Judged
) -> None:
    key = manifest.key
    if isinstance(result, ClusterError):
        judged.problems.append(Problem(key, result.message, result.hint))
        _doubt(manifest, judged, is_there=True)
        return
    changes = diff.changes(body, result)
    if owner := _other_owner(key, inventory):
        # What all fleets render alike (interpreters) is nobody's loss; a difference would be a fight.
        if changes:
            _refuse(manifest, owner, judged)
        else:
            judged.unchanged.append(key)
        return
    record = inventory.records.get(key, Record())
    left = diff.left_fields(body, result)
    if left:
        judged.left_fields.append((key, left))
    if key in inventory.records and ended(body):
        judged.records[key] = record = replace(record, finished=True)
    if not changes and diff.applied_by_us(body):
        judged.unchanged.append(key)
        # Fields that stay although Git left them are looked at again each time.
        seen = "" if left else diff.digest(body)
        judged.records[key] = replace(
            record, uid=body["metadata"]["uid"], applied=diff.digest(manifest.body), seen=seen,
            finished=record.finished or bool(ended(body)),
        )  # fmt: skip
        return
    repair = bool(changes) and record.applied == diff.digest(manifest.body)
    if repair and record.repairs >= _FIGHT:
        judged.notices.append(_fight(key, changes, record.repairs))
    kind = _kind(manifest, body, result, known=key in inventory.records)
    judged.actions.append(Action(kind, key, manifest, body, changes, is_repair=repair))


def _kind(manifest: Manifest, body: Live, result: Live, *, known: bool) -> ActionKind:
    if manifest.key.group_kind == VOLCANO_JOB and _fixed(body.get("spec", {})) != _fixed(result.get("spec", {})):
        return ActionKind.RECREATE
    if is_protected(body) and not manifest.protected:
        return ActionKind.UNPROTECT
    if not known and not diff.applied_by_us(body) and not _carries_our_label(body):
        return ActionKind.ADOPT
    return ActionKind.UPDATE


def _fight(key: ObjectKey, changes: Iterable[FieldChange], repairs: int) -> str:
    change = next(iter(changes))
    who = change.manager or "somebody"
    return (
        f"{key} was repaired {repairs} times since Git last changed it, and {who} has written {change.path} again: "
        "two writers fight over it"
    )


def judge_left(desired: Mapping[ObjectKey, Manifest], world: World, inventory: Inventory, judged: Judged) -> None:
    """Ours, but not in Git any more. Only for a world that was read completely."""
    for key, record in inventory.records.items():
        if key in desired:
            continue
        body = world.live.get(key)
        if body is None or not _is_ours(body, record) or key.group_kind == _CLUSTER or key in inventory.others:
            # Gone; or a new object of somebody else by that name; or a Cluster, of which we own labels only:
            # it leaves the fleet by `karmadactl unjoin`; or handed over to another fleet that owns or wishes it.
            judged.gone.append(key)
            judged.records.pop(key, None)
            if body is not None and (other := inventory.others.get(key)):
                judged.notices.append(f"{key} is left to fleet {other.fleet}, which has it or wishes it: not deleted")
        elif "deletionTimestamp" not in body["metadata"]:
            judged.actions.append(Action(ActionKind.DELETE, key, None, body))


def _is_ours(body: Live, record: Record) -> bool:
    """The very object we made, or one that we have applied since. A label proves nothing: people copy it."""
    return body["metadata"]["uid"] == record.uid or diff.applied_by_us(body)


def _carries_our_label(body: Live) -> bool:
    return bool((body["metadata"].get("labels") or {}).get(MANAGED_BY_LABEL) == FIELD_MANAGER)


def is_protected(body: Mapping[str, Any]) -> bool:
    """Whether Karmada would refuse its deletion."""
    return bool((body["metadata"].get("labels") or {}).get(PROTECTED_LABEL) == "Always")


def _fixed(spec: Mapping[str, Any]) -> Any:
    """What the webhook in the member refuses to change of a Volcano Job."""
    tasks = [
        {name: value for name, value in task.items() if name not in ("replicas", "minAvailable")}
        for task in spec.get("tasks") or ()
    ]
    return {**{name: value for name, value in spec.items() if name not in _MUTABLE}, "tasks": tasks}
