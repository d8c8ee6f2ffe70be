"""What nodes offer and pods take, as Karmada sums it up for a Cluster. Pure.

Sums keep the form that Go's Quantity gives them, so `kubernetes.io/batch-cpu: 16000` comes out as `16k`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any

from gitops_vg import quantities

Quantities = dict[str, Fraction]

_BINARY = ("Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_DECIMAL = ("", "k", "M", "G", "T", "P", "E")


@lru_cache(maxsize=4096)
def parse_quantity(text: str | int) -> Fraction:
    """A quantity's exact value; the same few texts come again and again."""
    return quantities.parse_quantity(text)


def canonical(value: Fraction, *, binary: bool) -> str:
    """The shortest exact form of a quantity, as Go writes it: powers of 1024 or of 1000, milli below one."""
    if binary and value.denominator == 1 and abs(value) >= 1024:
        number, suffix = int(value), ""
        for name in _BINARY:
            if number % 1024:
                break
            number, suffix = number // 1024, name
        return f"{number}{suffix}"
    for power, suffix in ((3, "m"), (6, "u"), (9, "n")):
        if value.denominator != 1 and (value * 10**power).denominator == 1:
            return f"{int(value * 10**power)}{suffix}"
    if value.denominator != 1:
        return f"{-int(-(value * 10**9) // 1)}n"
    number, rank = int(value), 0
    while number and number % 1000 == 0 and rank < len(_DECIMAL) - 1:
        number, rank = number // 1000, rank + 1
    return f"{number}{_DECIMAL[rank]}"


def normalized(text: str | int) -> str:
    """A quantity as an API server writes it back."""
    return canonical(parse_quantity(text), binary=str(text).endswith(_BINARY))


def node_in_form(node: Mapping[str, Any]) -> dict[str, Any] | None:
    """The node with its amounts as an API server writes them back; None when they are so already."""
    status = dict(node.get("status") or {})
    for part in ("capacity", "allocatable"):
        if status.get(part):
            status[part] = {name: normalized(text) for name, text in status[part].items()}
    return None if status == (node.get("status") or {}) else {**node, "status": status}


def pod_requests(spec: Mapping[str, Any]) -> Quantities:
    """What a pod asks for: the sum of its containers, or one larger init container. Limits stand in for requests."""
    total: Quantities = {}
    for container in spec.get("containers") or []:
        for name, value in _requests(container).items():
            total[name] = total.get(name, Fraction(0)) + value
    for container in spec.get("initContainers") or []:
        for name, value in _requests(container).items():
            total[name] = max(total.get(name, Fraction(0)), value)
    for name, text in (spec.get("overhead") or {}).items():
        total[name] = total.get(name, Fraction(0)) + parse_quantity(text)
    return total


def _requests(container: Mapping[str, Any]) -> Quantities:
    resources = container.get("resources") or {}
    merged = {**(resources.get("limits") or {}), **(resources.get("requests") or {})}
    return {name: parse_quantity(text) for name, text in merged.items()}


def takes_room(pod: Mapping[str, Any]) -> bool:
    """Whether a pod is on a node and not over."""
    phase = (pod.get("status") or {}).get("phase")
    return bool((pod.get("spec") or {}).get("nodeName")) and phase not in ("Succeeded", "Failed")


def summary(
    nodes: Sequence[Mapping[str, Any]], pods: Sequence[Mapping[str, Any]], *, models: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """`status.resourceSummary` of a Cluster with these nodes and pods."""
    offered: Quantities = {}
    forms: dict[str, bool] = {}
    for node in nodes:
        for name, text in _allocatable(node).items():
            offered[name] = offered.get(name, Fraction(0)) + parse_quantity(text)
            forms.setdefault(name, str(text).endswith(_BINARY))
    result: dict[str, Any] = {
        "allocatable": {name: canonical(value, binary=forms[name]) for name, value in sorted(offered.items())}
    }
    waiting = [pod for pod in pods if not (pod.get("spec") or {}).get("nodeName")]
    for name, group in (("allocating", waiting), ("allocated", [pod for pod in pods if takes_room(pod)])):
        total = _sum(group)
        if total:
            result[name] = total
    if models:
        counts = _grades(nodes, pods, models=models)
        result["allocatableModelings"] = [
            {"grade": model["grade"], "count": counts.get(index, 0)} for index, model in enumerate(models)
        ]
    return result


def _allocatable(node: Mapping[str, Any]) -> Mapping[str, str]:
    return (node.get("status") or {}).get("allocatable") or {}


def _sum(pods: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    total: Quantities = {}
    count = 0
    for pod in pods:
        count += 1
        for name, value in pod_requests(pod["spec"]).items():
            total[name] = total.get(name, Fraction(0)) + value
    if count:
        total["pods"] = Fraction(count)
    return {
        name: canonical(value, binary=name.endswith(("memory", "storage")) and name in ("memory", "ephemeral-storage"))
        for name, value in sorted(total.items())
        if value > 0
    }


def free_of(node: Mapping[str, Any], pods: Iterable[Mapping[str, Any]]) -> Quantities:
    """What a node has left beside `pods`, the pods on it; `pods` counts as a resource."""
    left = {name: parse_quantity(text) for name, text in _allocatable(node).items()}
    for pod in pods:
        if takes_room(pod):
            left["pods"] = left.get("pods", Fraction(0)) - 1
            for name, value in pod_requests(pod["spec"]).items():
                left[name] = left.get(name, Fraction(0)) - value
    return left


def _grades(
    nodes: Sequence[Mapping[str, Any]], pods: Sequence[Mapping[str, Any]], *, models: Sequence[Mapping[str, Any]]
) -> dict[int, int]:
    """Nodes a grade: the smallest grade over the modelled resources of what each node has free.

    Karmada stops at the first node that has no room for another pod; the nodes after it are not counted.
    """
    by_node: dict[str, list[Mapping[str, Any]]] = {}
    for pod in pods:
        by_node.setdefault((pod.get("spec") or {}).get("nodeName") or "", []).append(pod)
    counts: dict[int, int] = {}
    for node in nodes:
        free = free_of(node, by_node.get(node["metadata"]["name"], []))
        if free.get("pods", 0) <= 0:
            break
        grade = min(_grade(free, models, name=item["name"]) for item in models[0]["ranges"])
        if grade >= 0:
            counts[grade] = counts.get(grade, 0) + 1
    return counts


def _grade(free: Quantities, models: Sequence[Mapping[str, Any]], *, name: str) -> int:
    found = -1
    for index, model in enumerate(models):
        least = next(item["min"] for item in model["ranges"] if item["name"] == name)
        if free.get(name, Fraction(0)) >= parse_quantity(least):
            found = index
    return found
