"""What Karmada itself says of a member: fit for work or not, taints, kinds, and totals.

How old a status is: `Ready` changes its times only when it flips, so it is no heartbeat.
Karmada renews a Lease per member (namespace karmada-cluster, named like the member) with
every look at it, and its monitor sets Ready to Unknown when that stops. We read both.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from gitops_vg.capacity.snapshot import Node, NodeSource, Taint
from gitops_vg.objects import GroupKind
from gitops_vg.quantities import PODS, Amounts, amounts

Object = Mapping[str, Any]

STAND_IN_PODS = 110
"""Pods that Karmada's general estimator grants one node of a graded model."""


def not_ready(cluster: Object) -> str:
    """One clause with why the cluster is not Ready, "" when it is."""
    conditions = _status(cluster).get("conditions") or ()
    ready = next((one for one in conditions if one.get("type") == "Ready"), None)
    if ready is None:
        return "Karmada has not looked at it yet (no Ready condition)"
    if ready.get("status") == "True":
        return ""
    since = ready.get("lastTransitionTime")
    state = "not ready" if ready.get("status") == "False" else "state unknown to Karmada"
    reason = f" ({ready['reason']})" if ready.get("reason") else ""
    return f"{state}{f' since {since}' if since else ''}{reason}"


def stale(lease: Object | None, *, now: datetime, stale_after: timedelta) -> str:
    """One clause when Karmada's last look at the member is older than `stale_after`.

    Without a lease (a control plane that keeps none, or no right to read it) nothing is
    known, and Ready alone decides. The clause has the time and not the age: an age would
    change with every capture.
    """
    if lease is None:
        return ""
    renewed = read_time((lease.get("spec") or {}).get("renewTime"))
    if renewed is None or now - renewed <= stale_after:
        return ""
    return f"status not renewed since {renewed.isoformat(timespec='seconds')}"


def read_time(text: object) -> datetime | None:
    """A Kubernetes time, None when there is none or it is not one."""
    if not isinstance(text, str):
        return None
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        return None
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def taints_of(spec: Mapping[str, Any]) -> tuple[Taint, ...]:
    """Taints of a Karmada Cluster or of a node, in stable order."""
    taints = (
        Taint(key=one["key"], value=one.get("value") or "", effect=one["effect"]) for one in spec.get("taints") or ()
    )
    return tuple(sorted(taints, key=lambda taint: (taint.key, taint.value, taint.effect)))


def served_kinds(cluster: Object) -> frozenset[str] | None:
    """Kinds the member serves, as Karmada's APIEnablement filter sees them; None when it has no list."""
    enablements = _status(cluster).get("apiEnablements")
    if not enablements:
        return None
    return frozenset(
        str(GroupKind(one["groupVersion"].rpartition("/")[0], resource["kind"]))
        for one in enablements
        for resource in one.get("resources") or ()
    )


def zones_of(spec: Mapping[str, Any]) -> tuple[str, ...]:
    """Zones; the deprecated single `zone` counts when `zones` is not set."""
    zones = spec.get("zones") or ([spec["zone"]] if spec.get("zone") else [])
    return tuple(sorted(zones))


def summary(cluster: Object) -> tuple[dict[str, int], dict[str, int], list[str]]:
    """(total, free, warnings) from resourceSummary; all empty when there is none.

    Free is allocatable − allocated − allocating, as Karmada's estimator counts; never below 0.
    Raises ValueError when a quantity is none.
    """
    data = _status(cluster).get("resourceSummary") or {}
    whole = amounts(data.get("allocatable") or {})
    used, waiting = amounts(data.get("allocated") or {}), amounts(data.get("allocating") or {})
    warnings = [
        f"Karmada reports more {name} in use than there is; counted as none free"
        for name in sorted(whole)
        if used.get(name, 0) > whole[name]
    ]
    whole = {name: max(0, value) for name, value in whole.items()}
    free = {name: min(value, max(0, value - used.get(name, 0) - waiting.get(name, 0))) for name, value in whole.items()}
    return whole, free, warnings


def stand_ins(cluster: Object, *, free: Amounts) -> tuple[tuple[Node, ...], NodeSource]:
    """Nodes in place of the real ones, when those cannot be read.

    One per node of each grade of Karmada's models, as large as the grade's lower bound:
    surely there. Without models the free total is divided evenly over the ready nodes. What
    the models do not count (GPUs with the default grades) is divided evenly as well: the
    total is never exceeded, and a pod larger than the average finds no room.

    Raises ValueError when a quantity is none.
    """
    counts = {one["grade"]: one["count"] for one in _models(cluster) if one.get("count", 0) > 0}
    floors = {
        grade["grade"]: amounts({one["name"]: one["min"] for one in grade["ranges"]})
        for grade in (cluster.get("spec") or {}).get("resourceModels") or ()
    }
    if counts and counts.keys() <= floors.keys():
        number = sum(counts.values())
        sizes = [floors[grade] for grade in sorted(counts) for _ in range(counts[grade])]
        source: NodeSource = "models"
    else:
        number = int((_status(cluster).get("nodeSummary") or {}).get("readyNum") or 0)
        sizes, source = [{} for _ in range(number)], "summary"
    shared = {name: value // number for name, value in free.items()} if number else {}
    if source == "models":
        shared[PODS] = min(shared.get(PODS, STAND_IN_PODS), STAND_IN_PODS)
    nodes = [
        Node(name=f"{source}-{index:04}", allocatable=size, free=size)
        for index, size in enumerate(_capped({**shared, **floor}, free=free) for floor in sizes)
    ]
    return tuple(nodes), source


def _capped(size: Amounts, *, free: Amounts) -> dict[str, int]:
    """A stand-in never has what the cluster as a whole does not have."""
    return {name: min(value, free[name]) for name, value in size.items() if name in free}


def _models(cluster: Object) -> Iterable[Mapping[str, Any]]:
    return (_status(cluster).get("resourceSummary") or {}).get("allocatableModelings") or ()


def _status(cluster: Object) -> Mapping[str, Any]:
    return cluster.get("status") or {}
