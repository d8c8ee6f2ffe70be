"""What a sync would do: desired manifests against live objects, as actions with reasons. Writes nothing.

Absence has to be proven: an object counts as missing only when a complete list of its kind does not have it,
and while any list failed, nothing is deleted.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Any, Protocol

from gitops_vg.errors import ClusterError
from gitops_vg.objects import GroupKind, Manifest, ObjectKey, destructive_digest
from gitops_vg.reconcile.actions import Action, ActionKind, Problem, SyncPlan
from gitops_vg.reconcile.desired import DesiredTree
from gitops_vg.reconcile.guard import Destruction, holds
from gitops_vg.reconcile.judging import Judged, judge_desired, judge_left, read_world
from gitops_vg.reconcile.namespaces import foreign_content
from gitops_vg.reconcile.records import Inventory
from gitops_vg.reconcile.running import binding_key, is_untold, work, work_untold

Live = dict[str, Any]
_NAMESPACE = GroupKind("", "Namespace")


class Server(Protocol):
    """The part of an API server that planning needs."""

    def get(self, key: ObjectKey) -> Live | None: ...
    def list(
        self, group_kind: GroupKind, *, namespace: str = "", label_selector: str = "", api_version: str = ""
    ) -> list[Live]: ...
    def apply(self, manifest: Manifest, *, dry_run: bool = False, force: bool = True) -> Live: ...
    def namespaced_kinds(self) -> tuple[GroupKind, ...]: ...
    def require_karmada(self) -> None: ...


def make_plan(server: Server, tree: DesiredTree, inventory: Inventory, *, today: date) -> SyncPlan:
    """Compare the committed tree with the control plane.

    Raises KindMissing when the server is no karmada-apiserver, Unavailable when it does not answer;
    single kinds that cannot be read become problems and freeze deletions.
    """
    server.require_karmada()
    desired = {manifest.key: manifest for manifest in tree.manifests}
    world = read_world(server, desired, inventory.records)
    judged = Judged(records=dict(inventory.records))
    for kind, error in world.failed.items():
        judged.problems.append(Problem(None, error.message, error.hint))
        judged.frozen = judged.frozen or f"the list of {kind} is incomplete"
    judge_desired(server, desired, world, inventory, judged)
    for kind in sorted(world.missing & {key.group_kind for key in desired}):
        judged.problems.append(Problem(None, f"karmada-apiserver does not serve {kind}", "install its CRD"))
    if not judged.frozen:
        judge_left(desired, world, inventory, judged)
    return _guarded(server, judged, tree=tree, inventory=inventory, today=today)


def _guarded(server: Server, judged: Judged, *, tree: DesiredTree, inventory: Inventory, today: date) -> SyncPlan:
    """Split what may be done now from what a guard holds; the destructive part is held or done as one."""
    destructive = [action for action in judged.actions if action.kind.is_destructive]
    safe = [action for action in judged.actions if not action.kind.is_destructive]
    digest = destructive_digest(str(action) for action in destructive) if destructive else ""
    reasons = _reasons(server, destructive, judged, tree=tree, inventory=inventory)
    approval = next((item for item in tree.approvals if item.holds(digest, today=today)), None)
    held = bool(reasons) and (approval is None or bool(judged.frozen))
    return SyncPlan(
        actions=tuple(safe if held else judged.actions),
        held=tuple(destructive) if held else (),
        reasons=reasons if held else (),
        digest=digest,
        approved_by=approval.name if approval is not None and reasons and not held else "",
        frozen=judged.frozen,
        problems=tuple(judged.problems),
        unchanged=tuple(judged.unchanged),
        gone=tuple(judged.gone),
        kept=tuple(judged.kept),
        left_fields=tuple(judged.left_fields),
        unknown=tuple(judged.unknown),
        commit=tree.commit,
        notices=tuple(judged.notices),
        records=judged.records,
    )


def _reasons(
    server: Server, destructive: list[Action], judged: Judged, *, tree: DesiredTree, inventory: Inventory
) -> tuple[str, ...]:
    """Why the destructive part must not happen without an Approval."""
    if not destructive:
        return ()
    world = [_destruction(server, action) for action in destructive]
    reasons = list(holds(world, settings=tree.settings, total=len(inventory.records), empty=not tree.manifests))
    namespaces = [item.key.name for item in world if item.kind == "delete" and item.key.group_kind == _NAMESPACE]
    reasons += foreign_content(server, namespaces, ours=inventory.records.keys())
    if judged.frozen:
        reasons.append(f"nothing is destroyed while {judged.frozen}")
    return tuple(reasons)


def _destruction(server: Server, action: Action) -> Destruction:
    live: Mapping[str, Any] = action.live or {}
    running = work(live)
    if is_untold(live) and action.kind is not ActionKind.UNPROTECT:
        try:
            running = work_untold(server.get(binding_key(action.key)))
        except ClusterError:
            running = "what it does cannot be found out"
    return Destruction(action.kind, action.key, live, running)
