"""What one live pod takes from its node, counted as the scheduler counts it.

Source of the rules: Kubernetes, "Resource sharing within containers" and "Pod overhead":
the larger of what all containers (sidecars included) ask together and the peak while the
init containers run one after another, plus the overhead of the runtime class. Requests
at pod level stand above those of the containers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from gitops_vg.quantities import PODS, Amounts, amounts


def live_pod_requests(spec: Mapping[str, Any]) -> dict[str, int]:
    """Amounts that a bound pod takes, its own slot (`pods: 1`) included.

    Raises ValueError when a quantity is none.
    """
    running: dict[str, int] = {}
    peak: dict[str, int] = {}
    for container in spec.get("initContainers") or ():
        asked = _requests(container)
        if container.get("restartPolicy") == "Always":
            running = _sum(running, asked)
            peak = _largest(peak, running)
        else:
            peak = _largest(peak, _sum(running, asked))
    for container in spec.get("containers") or ():
        running = _sum(running, _requests(container))
    result = _largest(running, peak)
    result.update(_requests(spec))
    result = _sum(result, amounts(spec.get("overhead") or {}))
    return {**{name: value for name, value in result.items() if value}, PODS: 1}


def _requests(part: Mapping[str, Any]) -> dict[str, int]:
    resources = part.get("resources") or {}
    return amounts(resources.get("requests") or {})


def _sum(left: Amounts, right: Amounts) -> dict[str, int]:
    return {name: left.get(name, 0) + right.get(name, 0) for name in _names(left, right)}


def _largest(left: Amounts, right: Amounts) -> dict[str, int]:
    return {name: max(left.get(name, 0), right.get(name, 0)) for name in _names(left, right)}


def _names(left: Amounts, right: Amounts) -> Iterable[str]:
    return {**left, **right}
