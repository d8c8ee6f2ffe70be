"""What differs live from what Git says: fields with who wrote them, missing and left objects, bindings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date
from typing import Any, Protocol

from gitops_vg.errors import ClusterError, KindMissing
from gitops_vg.objects import GroupKind, Manifest, ObjectKey, key_of
from gitops_vg.placement.plan import Assignments, LockEntry
from gitops_vg.reconcile.actions import ActionKind, Problem
from gitops_vg.reconcile.desired import DesiredTree
from gitops_vg.reconcile.diff import FieldChange
from gitops_vg.reconcile.health import phases, trouble
from gitops_vg.reconcile.plan import Server, make_plan
from gitops_vg.reconcile.records import Inventory
from gitops_vg.reconcile.running import binding_key

Live = dict[str, Any]
_BINDINGS = (GroupKind("work.karmada.io", "ResourceBinding"), GroupKind("work.karmada.io", "ClusterResourceBinding"))
_OF_WORKLOAD = "workload-"


class Lister(Protocol):
    """The part of an API server that looking at bindings needs."""

    def list(self, group_kind: GroupKind, *, namespace: str = "", label_selector: str = "") -> list[Live]: ...


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
    phase: str = ""
    """What the clusters say of a job ("Pending in cluster-1"), "" for what has no phase."""

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
        shared = tuple(state for state in shared_states(server, tree) if state.found is not None and state.differs)
    except ClusterError as error:
        bindings = shared = ()
        problems.append(Problem(None, error.message, error.hint))
    return DriftReport(tuple(sorted(drifted, key=lambda item: item.key)), (*bindings, *shared), tuple(problems))


def binding_states(server: Lister, tree: DesiredTree) -> Iterator[BindingState]:
    """The binding of each propagated object of each placed workload, beside the lock. Raises ClusterError."""
    found = _bindings(server, _BINDINGS)
    owners = _workloads(tree)
    for manifest in tree.manifests:
        key = manifest.key
        workload = owners.get((manifest.api_version, key.kind, key.namespace, key.name))
        if workload is not None:
            divided = _is_divided(tree.lock[workload], key)
            wanted = _wanted(tree.lock[workload], divided=divided)
            yield _state(workload, key, wanted, found.get(binding_key(key)), divided=divided)


def shared_states(server: Lister, tree: DesiredTree) -> Iterator[BindingState]:
    """The same for objects of no workload (queues, priority classes), beside the policy in Git. Raises ClusterError."""
    found = _bindings(server, _BINDINGS[1:])
    for policy in tree.manifests:
        if policy.key.kind != "ClusterPropagationPolicy" or _workload_of(policy, tree) is not None:
            continue
        names = (policy.body["spec"].get("placement") or {}).get("clusterAffinity", {}).get("clusterNames") or ()
        for selector in policy.body["spec"]["resourceSelectors"]:
            group = selector["apiVersion"].rpartition("/")[0]
            key = ObjectKey(group, selector["kind"], "", selector["name"])
            yield _state(policy.origin or str(key), key, dict.fromkeys(names, 0), found.get(binding_key(key)))


def _bindings(server: Lister, kinds: Iterable[GroupKind]) -> dict[ObjectKey, Live]:
    found: dict[ObjectKey, Live] = {}
    for kind in kinds:
        try:
            found |= {key_of(body): body for body in server.list(kind)}
        except KindMissing:
            continue
    return found


def _state(
    workload: str, key: ObjectKey, wanted: Assignments, body: Live | None, *, divided: bool = False
) -> BindingState:
    return BindingState(workload, key, wanted, _clusters(body, divided=divided), trouble(body), phases(body))


def _workloads(tree: DesiredTree) -> dict[tuple[str, str, str, str], str]:
    """The workload of each object: the one whose policy selects it."""
    owners = {}
    for policy in tree.manifests:
        workload = _workload_of(policy, tree)
        if workload is None:
            continue
        for selector in policy.body["spec"]["resourceSelectors"]:
            place = policy.key.namespace
            owners[selector["apiVersion"], selector["kind"], place, selector["name"]] = workload
    return owners


def _workload_of(policy: Manifest, tree: DesiredTree) -> str | None:
    """The workload that a policy places; None for anything else."""
    if policy.key.kind == "PropagationPolicy":
        name = f"{policy.key.namespace}/{policy.key.name}"
    elif policy.key.kind == "ClusterPropagationPolicy" and policy.key.name.startswith(_OF_WORKLOAD):
        # Its objects without a namespace have a policy of their own: workload-<namespace>.<name>.
        name = policy.key.name.removeprefix(_OF_WORKLOAD).replace(".", "/", 1)
    else:
        return None
    return name if name in tree.lock else None


def _is_divided(entry: LockEntry, key: ObjectKey) -> bool:
    return entry.mode == "divide" and key.kind in ("Deployment", "StatefulSet")


def _wanted(entry: LockEntry, *, divided: bool) -> Assignments:
    """Clusters of an object; with replicas where they are divided: then a cluster with none is not in a binding."""
    counts = {name: count for name, count in entry.assignments.items() if count}
    if divided:
        return counts
    # What goes along with a divided workload goes where its policy says, also when all is scaled to nothing.
    names = counts if entry.mode == "divide" and counts else entry.assignments
    return dict.fromkeys(names, 0)


def _clusters(body: Live | None, *, divided: bool) -> Assignments | None:
    if body is None:
        return None
    targets = body.get("spec", {}).get("clusters") or ()
    if divided:
        return {target["name"]: target["replicas"] for target in targets if target.get("replicas")}
    return {target["name"]: 0 for target in targets}
