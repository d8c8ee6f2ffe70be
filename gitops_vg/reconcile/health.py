"""What Karmada and the clusters say of one binding, in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

Live = Mapping[str, Any]


def trouble(body: Live | None) -> str:
    """What is wrong with a binding; "" when all is scheduled, applied, and accepted by the clusters."""
    if body is None:
        return "no binding: no policy has claimed it yet"
    status = body.get("status") or {}
    generation = body["metadata"].get("generation")
    if status.get("schedulerObservedGeneration", generation) != generation:
        return "not scheduled anew since it changed"
    conditions = {item.get("type"): item for item in status.get("conditions") or ()}
    scheduled, applied = conditions.get("Scheduled"), conditions.get("FullyApplied")
    if scheduled is None:
        return "not scheduled yet"
    if scheduled.get("status") != "True":
        return _said(scheduled) or "not scheduled"
    if applied is None:
        # An override on a path that does not exist leaves exactly this, and nothing else anywhere.
        return "scheduled, but nothing was sent to the clusters"
    if applied.get("status") != "True":
        return "; ".join(_refusals(status)) or _said(applied)
    return ""


def phases(body: Live | None) -> str:
    """Phases of a job by cluster: Karmada calls a gang that waits for ever healthy, its phase does not."""
    items = ((body or {}).get("status") or {}).get("aggregatedStatus") or ()
    return ", ".join(f"{phase} in {item.get('clusterName', '?')}" for item in items if (phase := _phase(item)))


def _phase(item: Live) -> str:
    state = (item.get("status") or {}).get("state")
    return str(state.get("phase", "")) if isinstance(state, Mapping) else ""


def _refusals(status: Live) -> Iterator[str]:
    for item in status.get("aggregatedStatus") or ():
        if item.get("appliedMessage"):
            yield f"{item.get('clusterName', '?')}: {item['appliedMessage']}"


def _said(condition: Live) -> str:
    return f"{condition.get('reason', '')}: {condition.get('message', '')}".strip(": ")
