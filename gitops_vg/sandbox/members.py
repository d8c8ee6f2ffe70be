"""What the members of the embedded control plane are made of: clusters of nodes."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any

from gitops_vg.quantities import OVERSOLD_CPU, OVERSOLD_MEMORY

ACCELERATOR_LABEL = "gitops-vg.io/accelerator"
_GPU = "nvidia.com/gpu"


@dataclass(frozen=True)
class NodeSpec:
    """One node, with quantities as Kubernetes writes them."""

    name: str
    allocatable: Mapping[str, str]
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Mapping[str, str], ...] = ()

    @property
    def manifest(self) -> dict[str, Any]:
        """The node as its kubelet would report it."""
        spec: dict[str, Any] = {"taints": [dict(taint) for taint in self.taints]} if self.taints else {}
        ready = {
            "type": "Ready",
            "status": "True",
            "reason": "KubeletReady",
            "message": "kubelet is posting ready status",
        }
        return {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": self.name, "labels": {"kubernetes.io/hostname": self.name, **self.labels}},
            "spec": spec,
            "status": {
                "capacity": dict(self.allocatable),
                "allocatable": dict(self.allocatable),
                "conditions": [ready],
            },
        }


@dataclass(frozen=True)
class MemberSpec:
    """One member cluster."""

    name: str
    nodes: tuple[NodeSpec, ...] = ()
    region: str = ""
    zones: tuple[str, ...] = ()
    provider: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)


_REGIONS = {"cluster-1": "cn-north", "cluster-2": "cn-east", "cluster-3": "cn-south"}
_OVERSOLD = {
    # What Volcano's agent would publish on a node at a quarter to a third of its load, in its units.
    "cluster-1": {OVERSOLD_CPU: "16000", OVERSOLD_MEMORY: "64Gi"},
    "cluster-2": {OVERSOLD_CPU: "24000"},
}


def sample_members() -> tuple[MemberSpec, ...]:
    """The three clusters of the sample fleet, 20 real nodes each (data/README.md)."""
    nodes: dict[str, list[NodeSpec]] = {name: [] for name in _REGIONS}
    text = (files("gitops_vg.sandbox") / "data" / "openb_nodes.csv").read_text(encoding="utf-8")
    for row in csv.DictReader(text.splitlines()):
        nodes[row["cluster"]].append(_node(row))
    return tuple(MemberSpec(name, tuple(nodes[name]), region=region) for name, region in _REGIONS.items())


def _node(row: Mapping[str, str]) -> NodeSpec:
    cpu = int(row["cpu_milli"])
    allocatable = {
        "cpu": str(cpu // 1000),
        "memory": f"{row['memory_mib']}Mi",
        "pods": "110",
        **_OVERSOLD.get(row["cluster"], {}),
    }
    labels = {"kubernetes.io/os": "linux"}
    if row["gpu"] != "0":
        allocatable[_GPU] = row["gpu"]
        labels[ACCELERATOR_LABEL] = row["model"]
    return NodeSpec(row["node"], allocatable, labels)
