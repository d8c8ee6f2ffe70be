"""In which order objects are applied; deleting goes the other way.

By the domain and not by the name of the kind: a Volcano Job that lands before its queue is refused in the
member, one that lands before its policy may be claimed by a broader one for good.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gitops_vg.objects import GroupKind, Manifest, ObjectKey

_KARMADA = "policy.karmada.io"
_STAGES: tuple[tuple[GroupKind, ...], ...] = (
    (
        GroupKind("config.karmada.io", "ResourceInterpreterCustomization"),
        GroupKind("cluster.karmada.io", "Cluster"),
        GroupKind("apiextensions.k8s.io", "CustomResourceDefinition"),
    ),
    (GroupKind("", "Namespace"),),
    (GroupKind(_KARMADA, "ClusterOverridePolicy"), GroupKind(_KARMADA, "OverridePolicy")),
    (GroupKind(_KARMADA, "ClusterPropagationPolicy"),),
    (GroupKind("scheduling.k8s.io", "PriorityClass"),),
    (GroupKind("scheduling.volcano.sh", "Queue"),),
    (GroupKind(_KARMADA, "PropagationPolicy"),),
    (
        GroupKind("", "ServiceAccount"),
        GroupKind("", "ConfigMap"),
        GroupKind("", "Secret"),
        GroupKind("", "PersistentVolumeClaim"),
        GroupKind("rbac.authorization.k8s.io", "Role"),
        GroupKind("rbac.authorization.k8s.io", "RoleBinding"),
    ),
)
_RANK = {kind: rank for rank, kinds in enumerate(_STAGES) for kind in kinds}
WORKLOADS = len(_STAGES)
"""The last stage: everything that is not named above."""


def stage(key: ObjectKey) -> int:
    """The stage in which an object is applied, from 0."""
    return _RANK.get(key.group_kind, WORKLOADS)


def is_policy(key: ObjectKey) -> bool:
    """A policy lives as long as what it propagates: its removal waits for the bindings."""
    return key.group == _KARMADA


def depth(manifest: Manifest, *, queues: Mapping[str, Any]) -> int:
    """How deep a queue lies below root: a parent is applied before its children."""
    below, name = 0, manifest.body.get("spec", {}).get("parent")
    while isinstance(name, str) and name in queues and below < 10:
        below, name = below + 1, queues[name]
    return below
