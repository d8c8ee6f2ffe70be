"""What one live pod takes from its node.

The same rules as for templates (`intents/pods.py`), and what only live pods have: requests
at pod level, which stand above those of the containers (Kubernetes, "Pod-level resources").
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gitops_vg.intents.pods import template_requests
from gitops_vg.quantities import amounts


def live_pod_requests(spec: Mapping[str, Any]) -> dict[str, int]:
    """Amounts that a bound pod takes, its own slot (`pods: 1`) included.

    Raises ValueError when a quantity is none.
    """
    written = {name: value for name, value in spec.items() if value is not None}
    result = template_requests({"spec": written})
    overhead = amounts(written.get("overhead", {}))
    for name, value in amounts((written.get("resources") or {}).get("requests") or {}).items():
        result[name] = value + overhead.get(name, 0)
    return {name: value for name, value in result.items() if value}
