"""Where pods fit: requests against what nodes have left, node selectors, taints; gangs whole. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from gitops_vg.sandbox.karmada.resources import Quantities, free_of, pod_requests
from gitops_vg.sandbox.karmada.selectors import labels_of, untolerated


@dataclass
class Room:
    """Free resources by node; `place` takes from it."""

    nodes: Sequence[Mapping[str, Any]]
    free: dict[str, Quantities] = field(default_factory=dict)

    @classmethod
    def of(cls, nodes: Sequence[Mapping[str, Any]], pods: Sequence[Mapping[str, Any]]) -> Room:
        """The room that running `pods` leave on `nodes`."""
        by_node: dict[str, list[Mapping[str, Any]]] = {}
        for pod in pods:
            by_node.setdefault((pod.get("spec") or {}).get("nodeName") or "", []).append(pod)
        free = {node["metadata"]["name"]: free_of(node, by_node.get(node["metadata"]["name"], [])) for node in nodes}
        return cls(nodes, free)

    def copy(self) -> Room:
        return Room(self.nodes, {name: dict(amounts) for name, amounts in self.free.items()})

    def place(self, pod: Mapping[str, Any]) -> str:
        """The node for the pod, fullest first so that large holes stay; "" when none fits."""
        request = pod_requests(pod["spec"])
        best, least = "", Fraction(0)
        for node in self.nodes:
            name = node["metadata"]["name"]
            if why_not(node, self.free[name], pod=pod, request=request):
                continue
            left = self.free[name].get("cpu", Fraction(0)) - request.get("cpu", Fraction(0))
            if not best or left < least:
                best, least = name, left
        if best:
            self.take(best, request)
        return best

    def take(self, node: str, request: Quantities) -> None:
        free = self.free[node]
        free["pods"] = free.get("pods", Fraction(0)) - 1
        for name, value in request.items():
            free[name] = free.get(name, Fraction(0)) - value

    def reasons(self, pod: Mapping[str, Any]) -> str:
        """Why no node takes the pod, as a scheduler says it."""
        request = pod_requests(pod["spec"])
        counts = Counter(
            why_not(node, self.free[node["metadata"]["name"]], pod=pod, request=request) for node in self.nodes
        )
        counts.pop("", None)
        words = ", ".join(f"{count} {reason}" for reason, count in sorted(counts.items()))
        return f"0/{len(self.nodes)} nodes are unavailable: {words or 'no nodes'}."


def why_not(
    node: Mapping[str, Any], free: Mapping[str, Fraction], *, pod: Mapping[str, Any], request: Quantities
) -> str:
    """The first reason against the node, "" when it takes the pod."""
    spec = pod["spec"]
    wanted, labels = spec.get("nodeSelector") or {}, labels_of(node)
    if any(labels.get(key) != value for key, value in wanted.items()) or not _affine(spec, labels):
        return "node(s) didn't match Pod's node affinity/selector"
    if (node.get("spec") or {}).get("unschedulable"):
        return "node(s) were unschedulable"
    taints = (node.get("spec") or {}).get("taints") or []
    if untolerated(taints, spec.get("tolerations") or [], effects=("NoSchedule", "NoExecute")) is not None:
        return "node(s) had untolerated taint(s)"
    if free.get("pods", Fraction(0)) < 1:
        return "Too many pods"
    for name, value in sorted(request.items()):
        if value > 0 and free.get(name, Fraction(0)) < value:
            return f"Insufficient {name}"
    return ""


def _affine(spec: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    required = ((spec.get("affinity") or {}).get("nodeAffinity") or {}).get(
        "requiredDuringSchedulingIgnoredDuringExecution"
    )
    if not required:
        return True
    return any(
        all(_holds(item, labels) for item in term.get("matchExpressions") or [])
        for term in required.get("nodeSelectorTerms") or []
    )


def _holds(item: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    value, values = labels.get(item["key"]), item.get("values") or []
    match item["operator"]:
        case "In":
            return value in values
        case "NotIn":
            return value not in values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt":
            return value is not None and value.isdigit() and int(value) > int(values[0])
        case "Lt":
            return value is not None and value.isdigit() and int(value) < int(values[0])
        case _:
            return False
