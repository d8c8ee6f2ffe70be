"""In which order objects are applied; deleting goes the other way.

By the domain and not by the name of the kind: a Volcano Job that lands before its queue is refused in the
member, one that lands before its policy may be claimed by a broader one for good.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from gitops_vg.objects import GroupKind, Manifest, ObjectKey

_KARMADA = "policy.karmada.io"
NAMESPACE = GroupKind("", "Namespace")
PRIORITY_CLASS = GroupKind("scheduling.k8s.io", "PriorityClass")
QUEUE = GroupKind("scheduling.volcano.sh", "Queue")
_STAGES: tuple[tuple[GroupKind, ...], ...] = (
    (
        GroupKind("config.karmada.io", "ResourceInterpreterCustomization"),
        GroupKind("cluster.karmada.io", "Cluster"),
        GroupKind("apiextensions.k8s.io", "CustomResourceDefinition"),
    ),
    (NAMESPACE,),
    (GroupKind(_KARMADA, "ClusterOverridePolicy"), GroupKind(_KARMADA, "OverridePolicy")),
    (GroupKind(_KARMADA, "ClusterPropagationPolicy"),),
    (PRIORITY_CLASS,),
    (QUEUE,),
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
_LAST = len(_STAGES)
"""The stage of everything that is not named above: workloads."""


def stage(key: ObjectKey) -> int:
    """The stage in which an object is applied, from 0."""
    return _RANK.get(key.group_kind, _LAST)


def is_content(key: ObjectKey) -> bool:
    """A workload or what it uses: deleted before everything that brings it to clusters."""
    return stage(key) >= _LAST - 1


def is_policy(key: ObjectKey) -> bool:
    """A policy lives as long as what it propagates: its removal waits for the bindings."""
    return key.group == _KARMADA


def depth(manifest: Manifest | None, *, queues: Mapping[str, Manifest | None]) -> int:
    """How deep a queue lies below root: a parent is applied before its children."""
    below = 0
    while manifest is not None and below < len(queues):
        manifest = queues.get(_spec(manifest).get("parent", ""))
        below += manifest is not None
    return below


def needs(manifest: Manifest, other: Manifest) -> bool:
    """Whether an object cannot do without another: its namespace, its policy, its queue, its priority class."""
    mine, theirs, spec = manifest.key, other.key, _spec(manifest)
    if theirs.group_kind == NAMESPACE:
        return bool(theirs.name == mine.namespace)
    if theirs.group_kind == QUEUE:
        return theirs.name in (spec.get("queue"), spec.get("parent"))
    if theirs.group_kind == PRIORITY_CLASS:
        return theirs.name == spec.get("priorityClassName")
    if theirs.kind in ("PropagationPolicy", "ClusterPropagationPolicy") and not is_policy(mine):
        return any(_selects(selector, mine, within=theirs.namespace) for selector in _selectors(other))
    return False


def _selectors(policy: Manifest) -> Iterator[Mapping[str, Any]]:
    for selector in _spec(policy).get("resourceSelectors") or ():
        if isinstance(selector, Mapping):
            yield selector


def _selects(selector: Mapping[str, Any], key: ObjectKey, *, within: str) -> bool:
    """Whether a policy's selector names this object (we write names, never label selectors)."""
    group = str(selector.get("apiVersion", "")).rpartition("/")[0]
    return bool(
        (group, selector.get("kind"), selector.get("name")) == (key.group, key.kind, key.name)
        and (within or selector.get("namespace", "")) == key.namespace
    )


def _spec(manifest: Manifest) -> Mapping[str, Any]:
    spec = manifest.body.get("spec")
    return spec if isinstance(spec, Mapping) else {}
