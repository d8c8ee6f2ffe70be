"""What differs live from what Git says: fields with who wrote them, missing and left objects, bindings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

from gitops_vg.errors import ClusterError, KindMissing
from gitops_vg.objects import GroupKind, Manifest, ObjectKey, key_of
from gitops_vg.placement.plan import Assignments, LockEntry
from gitops_vg.reconcile.actions import ActionKind, Problem
from gitops_vg.reconcile.desired import DesiredTree
from gitops_vg.reconcile.diff import FieldChange
from gitops_vg.reconcile.plan import Server, make_plan
from gitops_vg.reconcile.records import Inventory
from gitops_vg.reconcile.running import binding_key

Live = dict[str, Any]
_BINDINGS = GroupKind("work.karmada.io", "ResourceBinding")


@dataclass(frozen=True)
class Drifted:
    """An object that is not as Git says: `what` is `changed`, `missing`, `left behind` or `left fields`.

    Left fields are ones that Git dropped and that another manager keeps alive.
    """

    key: ObjectKey
    what: str
    changes: tuple[FieldChange, ...] = ()


@dataclass(frozen=True)
class BindingState:
    """What Karmada made of one object: its clusters, and whether that is the plan.

    `trouble` is "" when Karmada says that all is scheduled and applied.
    """

    workload: str
    key: ObjectKey
    wanted: Assignments
    found: Assignments | None
    trouble: str = ""

    @property
    def differs(self) -> bool:
        return self.found is None or dict(self.found) != dict(self.wanted)


@dataclass(frozen=True)
class DriftReport:
    """Everything that differs; `problems` is what could not be found out."""

    drifted: tuple[Drifted, ...] = ()
    bindings: tuple[BindingState, ...] = ()
    problems: tuple[Problem, ...] = ()

    @property
    def placement(self) -> tuple[BindingState, ...]:
        """Bindings that are not as planned."""
        return tuple(state for state in self.bindings if state.differs)

    @property
    def is_empty(self) -> bool:
        return not (self.drifted or self.placement)


def find_drift(server: Server, tree: DesiredTree, inventory: Inventory, *, today: date) -> DriftReport:
    """Compare live objects and bindings with the committed tree; nothing is written.

    Raises KindMissing for a server that is no karmada-apiserver, Unavailable when it does not answer.
    """
    plan = make_plan(server, tree, inventory, today=today)
    drifted = []
    for action in (*plan.actions, *plan.held):
        if action.kind is ActionKind.CREATE:
            drifted.append(Drifted(action.key, "missing"))
        elif action.kind is ActionKind.DELETE:
            drifted.append(Drifted(action.key, "left behind"))
        elif action.changes:
            drifted.append(Drifted(action.key, "changed", action.changes))
    drifted += [Drifted(key, "left fields", fields) for key, fields in plan.left_fields]
    problems = list(plan.problems)
    try:
        bindings = tuple(binding_states(server, tree))
    except ClusterError as error:
        bindings = ()
        problems.append(Problem(None, error.message, error.hint))
    return DriftReport(tuple(sorted(drifted, key=lambda item: item.key)), bindings, tuple(problems))


def binding_states(server: Server, tree: DesiredTree) -> Iterator[BindingState]:
    """The binding of each propagated object of each placed workload, beside the lock. Raises ClusterError."""
    try:
        found = {key_of(body): body for body in server.list(_BINDINGS)}
    except KindMissing:
        found = {}
    owners = _workloads(tree)
    for manifest in tree.manifests:
        key = manifest.key
        workload = owners.get((manifest.api_version, key.kind, key.namespace, key.name))
        if workload is None:
            continue
        entry = tree.lock[workload]
        body = found.get(binding_key(key))
        wanted = _wanted(entry, manifest)
        yield BindingState(workload, key, wanted, _clusters(body, wanted=wanted), _trouble(body))


def _workloads(tree: DesiredTree) -> dict[tuple[str, str, str, str], str]:
    """The workload of each object: the one whose policy selects it."""
    owners = {}
    for policy in tree.manifests:
        workload = f"{policy.key.namespace}/{policy.key.name}"
        if policy.key.kind != "PropagationPolicy" or workload not in tree.lock:
            continue
        for selector in policy.body["spec"]["resourceSelectors"]:
            owners[selector["apiVersion"], selector["kind"], policy.key.namespace, selector["name"]] = workload
    return owners


def _wanted(entry: LockEntry, manifest: Manifest) -> Assignments:
    """Clusters of an object; replicas only where they are divided."""
    if entry.mode == "divide" and manifest.key.kind in ("Deployment", "StatefulSet"):
        return dict(entry.assignments)
    return dict.fromkeys(entry.assignments, 0)


def _clusters(body: Live | None, *, wanted: Assignments) -> Assignments | None:
    if body is None:
        return None
    divided = any(wanted.values())
    return {
        target["name"]: target.get("replicas", 0) if divided else 0
        for target in body.get("spec", {}).get("clusters") or ()
    }


def _trouble(body: Live | None) -> str:
    """What Karmada says is wrong, "" for nothing."""
    if body is None:
        return "no binding: no policy has claimed it yet"
    status = body.get("status") or {}
    if status.get("schedulerObservedGeneration", body["metadata"].get("generation")) != body["metadata"].get(
        "generation"
    ):
        return "not scheduled anew since it changed"
    conditions = {item["type"]: item for item in (body.get("status") or {}).get("conditions") or ()}
    scheduled, applied = conditions.get("Scheduled"), conditions.get("FullyApplied")
    if scheduled is None:
        return "not scheduled yet"
    if scheduled["status"] != "True":
        return f"{scheduled.get('reason', 'not scheduled')}: {scheduled.get('message', '')}".strip(": ")
    if applied is None:
        # An override on a path that does not exist leaves exactly this, and nothing else anywhere.
        return "scheduled, but nothing was sent to the clusters"
    if applied["status"] != "True":
        failed = _refusals(body.get("status") or {})
        return failed or f"{applied.get('reason', '')}: {applied.get('message', '')}".strip(": ")
    return ""


def _refusals(status: Mapping[str, Any]) -> str:
    texts = [
        f"{item['clusterName']}: {item['appliedMessage']}"
        for item in status.get("aggregatedStatus") or ()
        if item.get("appliedMessage")
    ]
    return "; ".join(texts)
