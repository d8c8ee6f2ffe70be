"""Which policy has a template: selectors, precedence, and the claim written on the template. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from gitops_vg.objects import ObjectKey
from gitops_vg.sandbox.karmada.selectors import labels_of, matches_labels

BY_ALL, BY_LABEL, BY_NAME = 1, 2, 3
"""How precisely a selector matches; 0 is no match."""

NAMESPACED, CLUSTER = "PropagationPolicy", "ClusterPropagationPolicy"
_PREFIX = {NAMESPACED: "propagationpolicy.karmada.io", CLUSTER: "clusterpropagationpolicy.karmada.io"}

_OWN_GROUPS = frozenset(
    {
        *("policy.karmada.io", "work.karmada.io", "config.karmada.io", "cluster.karmada.io", "apps.karmada.io"),
        *("remedy.karmada.io", "networking.karmada.io", "search.karmada.io", "autoscaling.karmada.io"),
        *("events.k8s.io", "coordination.k8s.io"),
    }
)
_RESERVED_NAMESPACES = frozenset({"karmada-system", "karmada-cluster", "kube-system", "kube-public", "kube-node-lease"})


def propagated(body: Mapping[str, Any]) -> bool:
    """Whether Karmada ever looks at objects like this one: not at its own kinds, nor in reserved namespaces."""
    group = body["apiVersion"].rpartition("/")[0]
    namespace = body["metadata"].get("namespace") or ""
    if group in _OWN_GROUPS or (group == "" and body["kind"] in ("Event", "Node", "Namespace")):
        return False
    return namespace not in _RESERVED_NAMESPACES and not namespace.startswith("karmada-es-")


def precision(template: Mapping[str, Any], selectors: Iterable[Mapping[str, Any]]) -> int:
    """The most precise match among the selectors, 0 for none."""
    return max((_one(template, selector) for selector in selectors), default=0)


def _one(template: Mapping[str, Any], selector: Mapping[str, Any]) -> int:
    metadata = template["metadata"]
    if (template["apiVersion"], template["kind"]) != (selector["apiVersion"], selector["kind"]):
        return 0
    if selector.get("namespace") and selector["namespace"] != metadata.get("namespace"):
        return 0
    if selector.get("name"):
        return BY_NAME if selector["name"] == metadata["name"] else 0
    if selector.get("labelSelector") is None:
        return BY_ALL
    return BY_LABEL if matches_labels(selector["labelSelector"], labels_of(template)) else 0


def best(template: Mapping[str, Any], policies: Iterable[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """The policy of one scope that takes an unclaimed template: priority, precision, smaller name."""
    matching = [
        (policy, rank)
        for policy in policies
        if not policy["metadata"].get("deletionTimestamp")
        and (rank := precision(template, policy["spec"].get("resourceSelectors") or []))
    ]
    if not matching:
        return None
    return min(
        matching, key=lambda item: (-(item[0]["spec"].get("priority") or 0), -item[1], item[0]["metadata"]["name"])
    )[0]


def claim_of(policy: Mapping[str, Any]) -> tuple[dict[str, str], dict[str, str]]:
    """Labels and annotations that say on a template or binding which policy has it."""
    prefix, metadata = _PREFIX[policy["kind"]], policy["metadata"]
    label = f"{prefix}/permanent-id"
    annotations = {f"{prefix}/name": metadata["name"]}
    if policy["kind"] == NAMESPACED:
        annotations[f"{prefix}/namespace"] = metadata["namespace"]
    return {label: labels_of(policy)[label]}, annotations


def claimed_by(body: Mapping[str, Any]) -> tuple[str, str] | None:
    """Kind and permanent id of the policy that a template or binding is claimed by."""
    labels = labels_of(body)
    for kind, prefix in _PREFIX.items():
        identity = labels.get(f"{prefix}/permanent-id")
        if identity:
            return kind, identity
    return None


def policy_key(claimed: Mapping[str, Any], *, kind: str) -> ObjectKey:
    """The policy that a claimed template or binding names."""
    annotations, prefix = claimed["metadata"].get("annotations") or {}, _PREFIX[kind]
    namespace = annotations.get(f"{prefix}/namespace", "") if kind == NAMESPACED else ""
    return ObjectKey("policy.karmada.io", kind, namespace, annotations.get(f"{prefix}/name", ""))


def claim_keys(kind: str) -> tuple[Sequence[str], Sequence[str]]:
    """Keys of the labels and of the annotations that a claim of this kind consists of."""
    prefix = _PREFIX[kind]
    annotations = [f"{prefix}/name", f"{prefix}/namespace"] if kind == NAMESPACED else [f"{prefix}/name"]
    return [f"{prefix}/permanent-id"], annotations


def binding_name(kind: str, name: str) -> str:
    """Name of the binding of a template; the API group plays no part, so two Jobs can collide."""
    return f"{name.replace(':', '.')}-{kind}".lower()
