"""A Snapshot: captured capacity of all clusters, immutable, with a digest.

Placement reads nothing else about the world. Whether a cluster is fit for new work was
decided when it was captured (`problem`), so that planning needs no clock.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Literal

from gitops_vg.quantities import Amounts

NodeSource = Literal["nodes", "models", "summary"]
"""How well the insides of a cluster are known: its nodes, Karmada's graded models, or only totals."""


@dataclass(frozen=True)
class Taint:
    """A taint of a cluster or a node."""

    key: str
    value: str = ""
    effect: str = "NoSchedule"


@dataclass(frozen=True)
class Node:
    """One node, or one stand-in of a graded model.

    `allocatable` is what it has for pods; `free` is that minus the requests of every pod
    bound to it, the fleet's own included (see `ClusterCapacity.ours`).
    """

    name: str
    allocatable: Amounts
    free: Amounts
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()
    schedulable: bool = True


@dataclass(frozen=True)
class PodGroupUse:
    """Pods of one workload of the fleet on one node: what they already take from its `free`.

    `node` is "" for pods that wait for a node, and for clusters whose nodes are not known.
    `requests` are those of one pod; they are empty for pods that succeeded and take nothing.
    """

    workload: str
    task: str
    node: str
    count: int
    requests: Amounts


@dataclass(frozen=True)
class ClusterCapacity:
    """One member as seen through Karmada.

    `problem` is "" for a cluster that may take new work, else one clause with why not
    ("not ready since …", "status is 12 m old", "not registered in Karmada"); work that is
    there stays there. `running` counts workloads by kind ("Job.batch.volcano.sh": 3).
    """

    name: str
    problem: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()
    region: str = ""
    zones: tuple[str, ...] = ()
    provider: str = ""
    kinds: frozenset[str] | None = None
    """API kinds the member serves ("Job.batch.volcano.sh"); None when it did not say."""
    capacity: Amounts = field(default_factory=dict)
    allocatable: Amounts = field(default_factory=dict)
    """Free: what may still be requested, summed over nodes that take pods."""
    nodes: tuple[Node, ...] = ()
    node_source: NodeSource = "summary"
    ours: tuple[PodGroupUse, ...] = ()
    finished: frozenset[str] = frozenset()
    """Jobs of the fleet that ended here: they keep their place in the lock and take no room."""
    waiting: frozenset[str] = frozenset()
    """Jobs of the fleet that are here and could not start yet, with or without pods."""
    running: Mapping[str, int] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    """What was odd about the figures, and what was done about it; one clause each."""


@dataclass(frozen=True)
class Snapshot:
    """Capacity of the fleet at one moment; clusters are sorted by name."""

    clusters: tuple[ClusterCapacity, ...]
    taken_at: datetime

    @cached_property
    def cluster(self) -> dict[str, ClusterCapacity]:
        return {cluster.name: cluster for cluster in self.clusters}

    @cached_property
    def digest(self) -> str:
        """`sha256:…` of everything but the time."""
        from gitops_vg.capacity.snapshotjson import clusters_to_json

        text = json.dumps(clusters_to_json(self), sort_keys=True, separators=(",", ":"))
        return "sha256:" + hashlib.sha256(text.encode()).hexdigest()
