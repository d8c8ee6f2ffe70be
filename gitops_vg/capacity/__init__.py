"""Capacity: what every cluster of the fleet has and has free, as one immutable Snapshot.

Called by the pipeline before each plan; placement reads nothing else about the world.
"""

from gitops_vg.capacity.cache import CapacityCache
from gitops_vg.capacity.collect import collect
from gitops_vg.capacity.rounding import quantised
from gitops_vg.capacity.snapshot import ClusterCapacity, Node, PodGroupUse, Snapshot, Taint
from gitops_vg.capacity.snapshotjson import clusters_to_json, snapshot_from_json, snapshot_to_json

__all__ = [
    "CapacityCache",
    "ClusterCapacity",
    "Node",
    "PodGroupUse",
    "Snapshot",
    "Taint",
    "clusters_to_json",
    "collect",
    "quantised",
    "snapshot_from_json",
    "snapshot_to_json",
]
