"""Which nodes a pod accepts, and which accept it: selectors, required affinity, taints.

The rules are those of kube-scheduler's NodeAffinity and TaintToleration filters.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from gitops_vg.capacity.snapshot import Node, Taint
from gitops_vg.placement.demand import PodShape

_REPELLING = ("NoSchedule", "NoExecute")


def node_refuses(node: Node, shape: PodShape) -> str:
    """One clause with why the pod cannot be on the node, "" when it can."""
    for taint in node.taints:
        if taint.effect in _REPELLING and not any(_tolerates(one, taint) for one in shape.tolerations):
            return f"taint {taint_text(taint)} is not tolerated"
    for key, value in shape.selector.items():
        if node.labels.get(key) != value:
            return f"no node has the label {key}={value}"
    if shape.terms and not any(_term_holds(term, node) for term in shape.terms):
        return "no node meets its required node affinity"
    return ""


def taint_text(taint: Taint) -> str:
    """A taint as kubectl writes it."""
    return f"{taint.key}{f'={taint.value}' if taint.value else ''}:{taint.effect}"


def _tolerates(toleration: Mapping[str, Any], taint: Taint) -> bool:
    if toleration.get("effect") and toleration["effect"] != taint.effect:
        return False
    if not toleration.get("key"):
        return toleration.get("operator") == "Exists"
    if toleration["key"] != taint.key:
        return False
    return toleration.get("operator") == "Exists" or (toleration.get("value") or "") == taint.value


def _term_holds(term: Mapping[str, Any], node: Node) -> bool:
    """A term without expressions matches nothing, as in Kubernetes."""
    expressions = term.get("matchExpressions") or []
    fields = term.get("matchFields") or []
    return bool(expressions or fields) and all(
        [
            *(_holds(one, node.labels.get(one.get("key", ""))) for one in expressions),
            *(_holds(one, node.name) for one in fields),
        ]
    )


def _holds(expression: Mapping[str, Any], value: str | None) -> bool:
    operator, values = expression.get("operator"), expression.get("values") or []
    if operator == "In":
        return value in values
    if operator == "NotIn":
        return value not in values
    if operator == "Exists":
        return value is not None
    if operator == "DoesNotExist":
        return value is None
    return operator in ("Gt", "Lt") and _compares(operator, value, values)


def _compares(operator: str, value: str | None, values: Iterable[str]) -> bool:
    try:
        left, right = int(value or ""), int(next(iter(values), ""))
    except ValueError:
        return False
    return left > right if operator == "Gt" else left < right
