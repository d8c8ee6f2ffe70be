"""A Snapshot as plain data: what is committed as snapshot.json, and what its digest is of.

Amounts are written as Kubernetes quantities, because people read this file in diffs.
Everything empty is left out, so that a fleet of thousands of nodes stays a small file.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, get_args

from gitops_vg.capacity.snapshot import ClusterCapacity, Node, NodeSource, PodGroupUse, Snapshot, Taint
from gitops_vg.errors import InputError
from gitops_vg.quantities import Amounts, amounts, format_amount

Json = dict[str, Any]


def clusters_to_json(snapshot: Snapshot) -> list[Json]:
    """All clusters, without the time: equal captures give equal data."""
    return [_cluster_to_json(cluster) for cluster in snapshot.clusters]


def snapshot_to_json(snapshot: Snapshot) -> Json:
    """The whole snapshot; `snapshot_from_json` gives the same value back."""
    return {
        "takenAt": snapshot.taken_at.isoformat(),
        "digest": snapshot.digest,
        "clusters": clusters_to_json(snapshot),
    }


def snapshot_from_json(data: Any) -> Snapshot:
    """Reads what `snapshot_to_json` wrote.

    Raises InputError when the data is no snapshot, or when it was edited: its digest no
    longer matches what it says.
    """
    try:
        taken_at = datetime.fromisoformat(data["takenAt"])
        clusters = sorted((_cluster_from_json(one) for one in data["clusters"]), key=lambda one: one.name)
        names = [cluster.name for cluster in clusters]
        if len(set(names)) < len(names):
            raise ValueError("it has a cluster twice")
        if taken_at.tzinfo is None:
            raise ValueError(f"takenAt {taken_at.isoformat()} has no time zone")
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(
            f"this is not a snapshot: {_problem(error)}",
            findings=(),
            hint="capture it anew with `gitops-vg capacity -o json`, or restore the file from Git",
        ) from error
    snapshot = Snapshot(clusters=tuple(clusters), taken_at=taken_at)
    if data.get("digest", snapshot.digest) != snapshot.digest:
        raise InputError(
            f"the snapshot says its digest is {data['digest']}, its figures give {snapshot.digest}",
            findings=(),
            hint="it was edited after its capture: restore the file from Git, or capture it anew",
        )
    return snapshot


def _problem(error: Exception) -> str:
    return f"{error} is missing" if isinstance(error, KeyError) else str(error)


# ---------------------------------------------------------------- writing


def _cluster_to_json(cluster: ClusterCapacity) -> Json:
    return {
        "name": cluster.name,
        **_without_empty(
            problem=cluster.problem,
            region=cluster.region,
            zones=list(cluster.zones),
            provider=cluster.provider,
            labels=_sorted(cluster.labels),
            taints=[_taint_to_json(taint) for taint in cluster.taints],
        ),
        "kinds": None if cluster.kinds is None else sorted(cluster.kinds),
        "capacity": _quantities(cluster.capacity),
        "allocatable": _quantities(cluster.allocatable),
        "nodeSource": cluster.node_source,
        **_without_empty(
            nodes=[_node_to_json(node) for node in cluster.nodes],
            ours=[_use_to_json(use) for use in cluster.ours],
            finished=sorted(cluster.finished),
            waiting=sorted(cluster.waiting),
            running=_sorted(cluster.running),
            warnings=list(cluster.warnings),
        ),
    }


def _node_to_json(node: Node) -> Json:
    return {
        "name": node.name,
        "allocatable": _quantities(node.allocatable),
        "free": _quantities(node.free),
        **_without_empty(labels=_sorted(node.labels), taints=[_taint_to_json(taint) for taint in node.taints]),
        **({} if node.schedulable else {"schedulable": False}),
    }


def _use_to_json(use: PodGroupUse) -> Json:
    return {
        "workload": use.workload,
        **_without_empty(task=use.task, node=use.node),
        "count": use.count,
        "requests": _quantities(use.requests),
    }


def _taint_to_json(taint: Taint) -> Json:
    return {"key": taint.key, **_without_empty(value=taint.value), "effect": taint.effect}


def _quantities(values: Amounts) -> dict[str, str]:
    return {name: format_amount(name, value) for name, value in sorted(values.items())}


def _sorted(values: Mapping[str, Any]) -> Json:
    return dict(sorted(values.items()))


def _without_empty(**fields: Any) -> Json:
    return {name: value for name, value in fields.items() if value}


# ---------------------------------------------------------------- reading


def _cluster_from_json(data: Json) -> ClusterCapacity:
    source = data["nodeSource"]
    if source not in get_args(NodeSource):
        raise ValueError(f"nodeSource {source!r} is none of {', '.join(get_args(NodeSource))}")
    kinds = data["kinds"]
    return ClusterCapacity(
        name=_text(data["name"]),
        problem=_text(data.get("problem", "")),
        labels=dict(data.get("labels", {})),
        taints=_taints(data.get("taints", ())),
        region=_text(data.get("region", "")),
        zones=tuple(data.get("zones", ())),
        provider=_text(data.get("provider", "")),
        kinds=None if kinds is None else frozenset(kinds),
        capacity=amounts(data["capacity"]),
        allocatable=amounts(data["allocatable"]),
        nodes=tuple(_node_from_json(node) for node in data.get("nodes", ())),
        node_source=source,
        ours=tuple(_use_from_json(use) for use in data.get("ours", ())),
        finished=frozenset(data.get("finished", ())),
        waiting=frozenset(data.get("waiting", ())),
        running={kind: int(number) for kind, number in data.get("running", {}).items()},
        warnings=tuple(data.get("warnings", ())),
    )


def _node_from_json(data: Json) -> Node:
    return Node(
        name=_text(data["name"]),
        allocatable=amounts(data["allocatable"]),
        free=amounts(data["free"]),
        labels=dict(data.get("labels", {})),
        taints=_taints(data.get("taints", ())),
        schedulable=bool(data.get("schedulable", True)),
    )


def _use_from_json(data: Json) -> PodGroupUse:
    return PodGroupUse(
        workload=_text(data["workload"]),
        task=_text(data.get("task", "")),
        node=_text(data.get("node", "")),
        count=int(data["count"]),
        requests=amounts(data["requests"]),
    )


def _taints(data: Iterable[Json]) -> tuple[Taint, ...]:
    return tuple(
        Taint(key=_text(one["key"]), value=_text(one.get("value", "")), effect=_text(one["effect"])) for one in data
    )


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{value!r} should be text")
    return value
