"""The fleet's capacity as people and machines read it."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from gitops_vg.capacity.snapshot import ClusterCapacity, Snapshot
from gitops_vg.quantities import CPU, MEMORY, OVERSOLD_CPU, OVERSOLD_MEMORY, format_amount
from gitops_vg.report.text import Style, count, short_amount, short_digest, table

_FIRST = (CPU, MEMORY, OVERSOLD_CPU, OVERSOLD_MEMORY)
_HIDDEN = {"pods", "ephemeral-storage", "hugepages-1Gi", "hugepages-2Mi"}
_NAMES = {OVERSOLD_CPU: "OVERSOLD CPU", OVERSOLD_MEMORY: "OVERSOLD MEM"}


def as_text(snapshot: Snapshot, *, now: datetime, style: Style) -> str:
    """Free of total for each resource that any cluster has."""
    resources = _columns(snapshot)
    header = (
        "CLUSTER",
        "STATE",
        "NODES",
        *(_NAMES.get(name, name.split("/")[-1].upper()) for name in resources),
    )
    rows = [
        (
            cluster.name,
            style.paint(cluster.problem, "yellow") or style.paint("ready", "green"),
            _nodes(cluster),
            *(_free_of_total(cluster, name) for name in resources),
        )
        for cluster in snapshot.clusters
    ]
    age = max(0, int((now - snapshot.taken_at).total_seconds()))
    footer = f"free of total; {count(len(rows), 'cluster')}, snapshot {short_digest(snapshot.digest)}, {age} s old"
    return f"{table(header, rows, style=style)}\n{footer}"


def _columns(snapshot: Snapshot) -> list[str]:
    seen = {name for cluster in snapshot.clusters for name, value in cluster.capacity.items() if value}
    rest = sorted(seen - set(_FIRST) - _HIDDEN)
    return [name for name in _FIRST if name in seen] + rest


def _nodes(cluster: ClusterCapacity) -> str:
    return str(len(cluster.nodes)) if cluster.node_source == "nodes" else f"({cluster.node_source})"


def _free_of_total(cluster: ClusterCapacity, name: str) -> str:
    total = cluster.capacity.get(name, 0)
    if not total:
        return "–"
    return f"{short_amount(name, cluster.allocatable.get(name, 0))}/{short_amount(name, total)}"


def as_data(snapshot: Snapshot, *, now: datetime) -> dict[str, Any]:
    """The report the mission asks for: `{capacity, allocatable, …}` of each cluster."""
    return {
        "snapshot": snapshot.digest,
        "takenAt": snapshot.taken_at.isoformat(),
        "ageSeconds": max(0.0, (now - snapshot.taken_at).total_seconds()),
        "clusters": [
            {
                "name": cluster.name,
                "problem": cluster.problem,
                "nodes": len(cluster.nodes),
                "nodeSource": cluster.node_source,
                "region": cluster.region,
                "capacity": {n: format_amount(n, v) for n, v in sorted(cluster.capacity.items())},
                "allocatable": {n: format_amount(n, v) for n, v in sorted(cluster.allocatable.items())},
                "running": dict(sorted(cluster.running.items())),
            }
            for cluster in snapshot.clusters
        ],
    }
