"""How many more replicas a Cluster would take, as Karmada's general estimator counts. Pure.

With resource models (the default) a node counts as the lower bound of its grade; a resource
that no model names (a GPU) counts as nothing. That is a strong underestimate, and the truth.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gitops_vg.quantities import amounts

PODS_PER_NODE = 110
"""Pods that Karmada gives every node of a model."""


def room(cluster: Mapping[str, Any], requirements: Mapping[str, Any] | None) -> int:
    """Replicas with `requirements` (replicaRequirements of a binding) that the cluster could add."""
    summary = (cluster.get("status") or {}).get("resourceSummary")
    if not summary:
        return 0
    free = _free(summary)
    pods = max(free.get("pods", 0), 0)
    if not pods or requirements is None:
        return pods
    request = {name: value for name, value in amounts(requirements.get("resourceRequest") or {}).items() if value > 0}
    models = (cluster.get("spec") or {}).get("resourceModels") or []
    if summary.get("allocatableModelings") and models:
        return min(pods, _by_models(models, summary["allocatableModelings"], request))
    bounds = [max(free.get(name, 0), 0) // value for name, value in request.items()]
    return min([pods, *bounds])


def _free(summary: Mapping[str, Any]) -> dict[str, int]:
    free = amounts(summary.get("allocatable") or {})
    for used in ("allocated", "allocating"):
        for name, value in amounts(summary.get(used) or {}).items():
            free[name] = free.get(name, 0) - value
    return free


def _by_models(models: list[Any], counts: list[Any], request: Mapping[str, int]) -> int:
    nodes = {item["grade"]: item["count"] for item in counts}
    total = 0
    for model in models:
        lower = amounts({item["name"]: item["min"] for item in model["ranges"]})
        per_node = min([PODS_PER_NODE, *(lower.get(name, 0) // value for name, value in request.items())])
        total += per_node * nodes.get(model["grade"], 0)
    return total
