"""The stages put together: what the commands and the loop call. No stage knows another; this module does."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from gitops_vg.errors import GitError, GuardError, InputError, UsageError
from gitops_vg.findings import Finding, in_order
from gitops_vg.intents import Intents, read_fleet
from gitops_vg.objects import Manifest, destructive_digest
from gitops_vg.rules import check

if TYPE_CHECKING:
    # The heavy stages are imported where they are used: `validate` needs none of them.
    from gitops_vg.capacity import Snapshot
    from gitops_vg.gitstore import ApprovalRecord, PublishResult, RenderedTree, Repository, TreeSettings
    from gitops_vg.kube import ApiServer
    from gitops_vg.placement import PlacementLock, Plan
    from gitops_vg.reconcile import BindingState, DriftReport, SyncPlan, SyncResult

Clock = Callable[[], datetime]


def utc_now() -> datetime:
    """The clock of the program; tests hand in another."""
    return datetime.now(UTC)


# ---------------------------------------------------------------- reading


@dataclass(frozen=True)
class Examined:
    """What reading and checking found; `intents` is None when there are errors that keep them from being read."""

    intents: Intents | None
    findings: tuple[Finding, ...]


def examine(root: Path) -> Examined:
    """Read and check a fleet's folder; every problem is a finding. Raises UsageError when there is no folder."""
    if not root.is_dir():
        raise UsageError(f"there is no folder {root}", hint="name the fleet's folder with -C")
    read = read_fleet(root)
    found = check(read.intents) if read.intents is not None else ()
    return Examined(read.intents, in_order([*read.findings, *found]))


def load(root: Path) -> Intents:
    """The intents of a fleet that may be worked with. Raises InputError with all findings."""
    examined = examine(root)
    errors = sum(finding.is_error for finding in examined.findings)
    if errors or examined.intents is None:
        raise InputError(
            f"{errors} {'error' if errors == 1 else 'errors'} in the intents: nothing was changed",
            findings=examined.findings,
            hint="`gitops-vg rules CODE` explains a code",
        )
    return examined.intents


# ---------------------------------------------------------------- the outside world


def server_for(intents: Intents, *, root: Path, kubeconfig: str | None, context: str | None) -> ApiServer:
    """The fleet's karmada-apiserver: flags first, then the Fleet's words, then the usual places.

    Raises UsageError for a kubeconfig that cannot be used.
    """
    from gitops_vg.kube import connect

    karmada = intents.fleet.spec.karmada
    own = karmada.kubeconfig and str(root / os.path.expanduser(karmada.kubeconfig))
    return connect(kubeconfig=kubeconfig or own or None, context=context or (karmada.context if not own else None))


def capture(server: ApiServer, intents: Intents, *, now: datetime) -> Snapshot:
    """The capacity of the fleet now, as it is committed: a plan can be made again from the committed file.

    Raises ClusterError when Karmada cannot be asked.
    """
    from gitops_vg.capacity import collect, quantised

    server.require_karmada()
    return quantised(collect(server, intents, now=now))


def read_snapshot(path: Path) -> Snapshot:
    """Capacity from a file that `gitops-vg capacity --save` wrote. Raises UsageError."""
    from gitops_vg.capacity import snapshot_from_json

    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        return snapshot_from_json({"takenAt": "1970-01-01T00:00:00+00:00", **data})
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from None
    except (ValueError, KeyError, TypeError) as error:
        raise UsageError(
            f"{path} is no capacity file: {error}", hint="write one with `gitops-vg capacity --save`"
        ) from None


# ---------------------------------------------------------------- deciding


@dataclass(frozen=True)
class Rendering:
    """A whole decision: the plan, the lock it becomes, and the manifests that carry it."""

    intents: Intents
    snapshot: Snapshot
    plan: Plan
    lock: PlacementLock
    manifests: tuple[Manifest, ...]

    @property
    def pending(self) -> int:
        return sum(not decision.assignments for decision in self.plan.decisions)


def decide(intents: Intents, snapshot: Snapshot, *, previous: PlacementLock) -> Rendering:
    """Plan and compile. Pure."""
    from gitops_vg.compiler import compile_manifests
    from gitops_vg.placement import lock_of, plan

    made = plan(intents, snapshot, previous=previous)
    lock = lock_of(made)
    return Rendering(intents, snapshot, made, lock, compile_manifests(intents, lock))


def approvals_of(intents: Intents) -> tuple[ApprovalRecord, ...]:
    """The approvals of the intents as the guards know them."""
    from gitops_vg.gitstore import ApprovalRecord

    return tuple(
        ApprovalRecord(item.name, item.spec.plan, item.spec.reason, item.spec.expires) for item in intents.approvals
    )


# ---------------------------------------------------------------- publishing


def publish_fleet(
    repository: Repository,
    *,
    snapshot_of: Callable[[Intents], Snapshot],
    source: str | None = None,
    any_history: bool = False,
    clock: Clock = utc_now,
) -> tuple[PublishResult, Rendering]:
    """Render the intents of a commit and commit the result onto the rendered branch.

    Without `source` it is the checked-out commit, and uncommitted changes of the fleet's files or a branch that
    has diverged from its upstream are refused. What was rendered last must come from a commit in the history of
    this one, unless `any_history`: an older or a parallel source would undo somebody's change without a word.
    Raises InputError, GuardError, GitError, ClusterError.
    """
    from gitops_vg.gitstore import policy_digest, publish, render_files

    if source is None:
        state = repository.source_state()
        _refuse_unclear_source(state.dirty, ahead=state.ahead, behind=state.behind)
        source = state.commit
    with repository.export(source) as folder:
        intents = load(folder)
    snapshot = snapshot_of(intents)
    renderings: list[Rendering] = []

    def render(tree: RenderedTree | None) -> Mapping[str, bytes]:
        if tree is not None and not any_history:
            _refuse_other_history(repository, rendered_from=tree.source, source=source)
        rendering = decide(intents, snapshot, previous=tree.lock if tree is not None else {})
        renderings.append(rendering)
        files = render_files(intents, manifests=rendering.manifests, lock=rendering.lock, snapshot=snapshot)
        if tree is not None:
            before = tree.replaced_by(files)
            guard_removals(before, rendering, total=len(tree.manifest_paths), today=clock().date())
        return files

    rendered = intents.fleet.spec.rendered
    result = publish(
        repository, branch=rendered.branch, remote=rendered.remote, source=source,
        subject=f"Render {intents.fleet.name} from {source[:12]}", render=render, policies=policy_digest(intents),
    )  # fmt: skip
    return result, renderings[-1]


def _refuse_other_history(repository: Repository, *, rendered_from: str, source: str) -> None:
    if rendered_from and not repository.is_ancestor(rendered_from, source):
        raise GitError(
            f"what is rendered was made from commit {rendered_from[:12]}, which is not in the history of {source[:12]}",
            hint="fetch and merge it first; after a rewritten history publish once with --any-history",
        )


def _refuse_unclear_source(dirty: tuple[str, ...], *, ahead: int, behind: int) -> None:
    if dirty:
        named = ", ".join(dirty[:3]) + (f" and {len(dirty) - 3} more" if len(dirty) > 3 else "")
        raise GitError(
            f"uncommitted changes in {named}: what is published must be a commit", hint="commit or stash them first"
        )
    if ahead and behind:
        raise GitError(
            f"the branch has diverged from its upstream ({ahead} ahead, {behind} behind)",
            hint="merge or rebase it first",
        )


def guard_removals(before: tuple[Manifest, ...], rendering: Rendering, *, total: int, today: date) -> None:
    """Stop a publication that destroys more than it may.

    `before` are the committed manifests that change or go, of `total`. Raises GuardError with the digest to approve.
    """
    lines = destructive_lines(before, rendering.manifests)
    if not lines:
        return
    settings = _settings(rendering.intents)
    reasons = list(_removal_reasons(before, rendering, settings=settings, total=total))
    if not reasons:
        return
    digest = destructive_digest(lines)
    if any(approval.holds(digest, today=today) for approval in approvals_of(rendering.intents)):
        return
    raise GuardError(
        "not published: this change destroys what needs a person's word",
        digest=digest,
        reasons=[*reasons, *lines],
        hint="if it is meant, commit an Approval of this plan (policies/approvals/) beside the change",
    )


def destructive_lines(before: tuple[Manifest, ...], after: tuple[Manifest, ...]) -> list[str]:
    """What would be destroyed, as the lines that an Approval's digest is made of."""
    wanted = {manifest.key: manifest for manifest in after}
    lines = []
    for manifest in before:
        new = wanted.get(manifest.key)
        if new is None:
            if manifest.key.group_kind != ("cluster.karmada.io", "Cluster"):
                lines.append(f"delete {manifest.key}")
        elif manifest.protected and not new.protected:
            lines.append(f"unprotect {manifest.key}")
    return sorted(lines)


def _removal_reasons(
    before: tuple[Manifest, ...], rendering: Rendering, *, settings: TreeSettings, total: int
) -> list[str]:
    from gitops_vg.reconcile import over_budget

    wanted = {manifest.key: manifest for manifest in rendering.manifests}
    removed = [manifest for manifest in before if manifest.key not in wanted]
    removed = [item for item in removed if item.key.group_kind != ("cluster.karmada.io", "Cluster")]
    reasons = [f"{manifest.key} is protected" for manifest in removed if manifest.protected]
    reasons += [
        f"{manifest.key} would lose its protection against deletion"
        for manifest in before
        if manifest.protected and manifest.key in wanted and not wanted[manifest.key].protected
    ]
    if removed and not (rendering.intents.workloads or rendering.intents.queues):
        reasons.append("no workload and no queue is left: everything would be deleted")
    reasons += over_budget(len(removed), settings=settings, total=total)
    return reasons


def _settings(intents: Intents) -> TreeSettings:
    from gitops_vg.gitstore import TreeSettings

    deletes = intents.fleet.spec.deletes
    return TreeSettings(intents.fleet.name, deletes.max_count, deletes.max_percent)


# ---------------------------------------------------------------- syncing


def rendered_tree(repository: Repository, branch: str, *, remote: str | None = None) -> RenderedTree:
    """The newest committed rendered tree, of the remote when there is one. Raises GitError, GitUnreachable."""
    commit = repository.latest(branch, remote=remote)
    tree = repository.read_tree(commit) if commit is not None else None
    if tree is None:
        raise GitError(f"there is no rendered branch {branch} yet", hint="run `gitops-vg publish` first")
    return tree


def plan_sync(server: ApiServer, tree: RenderedTree, *, clock: Clock = utc_now) -> SyncPlan:
    """What sync would do now; nothing is written."""
    from gitops_vg.reconcile import load as load_inventory
    from gitops_vg.reconcile import make_plan

    inventory = load_inventory(server, fleet=tree.settings.fleet)
    return make_plan(server, tree, inventory, today=clock().date())


def sync_fleet(
    server: ApiServer, tree: RenderedTree, *, all_or_nothing: bool = False, clock: Clock = utc_now
) -> tuple[SyncPlan, SyncResult]:
    """Make the control plane equal to the tree, within what the guards allow.

    Raises GuardError (with `all_or_nothing`) before anything is done, ClusterError, GitopsVgError.
    """
    from gitops_vg.reconcile import execute, make_plan
    from gitops_vg.reconcile import load as load_inventory

    server.require_karmada()
    inventory = load_inventory(server, fleet=tree.settings.fleet)
    plan = make_plan(server, tree, inventory, today=clock().date())
    if plan.held and all_or_nothing:
        raise held_error(plan)
    return plan, execute(server, plan, inventory)


def unsettled(server: ApiServer, tree: RenderedTree, *, seconds: float) -> tuple[BindingState, ...]:
    """Bindings that are not as planned and accepted `seconds` from now; returns at once when all are."""
    from gitops_vg.reconcile import wait_for_bindings

    states = wait_for_bindings(server, tree, seconds=seconds)
    return tuple(state for state in states if state.trouble or state.differs)


def held_error(plan: SyncPlan) -> GuardError:
    """What a held plan says to the person who can open it."""
    return GuardError(
        f"{len(plan.held)} destructive {'action is' if len(plan.held) == 1 else 'actions are'} held back",
        digest=plan.digest,
        reasons=[*plan.reasons, *(str(action) for action in plan.held)],
        hint="if it is meant, commit an Approval of this plan (policies/approvals/), publish, and sync again",
    )


def drift_of(server: ApiServer, tree: RenderedTree, *, clock: Clock = utc_now) -> DriftReport:
    """What differs live. Nothing is written."""
    from gitops_vg.reconcile import find_drift
    from gitops_vg.reconcile import load as load_inventory

    server.require_karmada()
    inventory = load_inventory(server, fleet=tree.settings.fleet)
    return find_drift(server, tree, inventory, today=clock().date())


def workload_key(intents: Intents, name: str) -> str:
    """The key of a workload by `namespace/name` or by a name that only one has. Raises UsageError."""
    if name in intents.workload:
        return name
    found = [workload.key for workload in intents.workloads if workload.name == name]
    if len(found) == 1:
        return found[0]
    if found:
        raise UsageError(f"{name} is in several namespaces: {', '.join(found)}", hint="name it as namespace/name")
    known = ", ".join(intents.workload) or "none"
    raise UsageError(f"there is no workload {name}", hint=f"the workloads are {known}")
