"""A plan as people and machines read it: where, and why."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gitops_vg.placement.plan import Assignments, Decision, PlacementLock, Plan, QueueUse, State
from gitops_vg.quantities import Amounts, format_amount
from gitops_vg.report.text import Colour, Style, amounts_text, count, short_digest, table

_COLOUR: dict[State, Colour] = {State.PLACED: "green", State.KEPT: "dim", State.PENDING: "yellow"}


def where(assignments: Assignments, *, mode: str) -> str:
    """`cluster-1`, or `cluster-1 ×7, cluster-3 ×5` for divided work."""
    if mode == "divide":
        return ", ".join(f"{cluster} ×{replicas}" for cluster, replicas in sorted(assignments.items()))
    return ", ".join(sorted(assignments))


def as_text(plan: Plan, *, previous: PlacementLock, style: Style) -> str:
    """Table of decisions with the reason of each, then queues and warnings."""
    rows = [
        (
            _marker(decision, previous=previous, style=style),
            decision.workload,
            where(decision.assignments, mode=decision.mode) or style.paint("nowhere yet", "yellow"),
            style.paint(str(decision.state), _COLOUR[decision.state]),
            decision.reason.text,
        )
        for decision in plan.decisions
    ]
    parts = [table(("", "WORKLOAD", "WHERE", "STATE", "WHY"), rows, style=style)]
    if plan.queues:
        queues = [
            (use.queue, amounts_text(use.used) or "nothing", amounts_text(use.capability) or "no ceiling")
            for use in plan.queues
        ]
        parts.append(table(("QUEUE", "USED AFTER THIS", "CEILING"), queues, style=style))
    parts.extend(style.paint(f"warning: {warning}", "yellow") for warning in plan.warnings)
    parts.append(_summary(plan))
    return "\n\n".join(parts)


def _marker(decision: Decision, *, previous: PlacementLock, style: Style) -> str:
    before = previous.get(decision.workload)
    if not decision.assignments:
        return style.paint("?", "yellow")
    if before is None or not before.assignments:
        return style.paint("+", "green")
    return "" if dict(before.assignments) == dict(decision.assignments) else style.paint("~", "yellow")


def _summary(plan: Plan) -> str:
    states = [decision.state for decision in plan.decisions]
    parts = [f"{states.count(state)} {state}" for state in State]
    snapshot = short_digest(plan.snapshot_digest)
    return f"{count(len(states), 'workload')}: {', '.join(parts)}  (snapshot {snapshot})"


def explanation(decision: Decision, *, plan: Plan, style: Style) -> str:
    """One workload in full: where, because of what, and why not on every other cluster."""
    target = where(decision.assignments, mode=decision.mode) or "nowhere yet"
    lines = [f"{style.paint(decision.workload, 'bold')}  →  {target}   ({decision.state})", ""]
    rows = [("because", decision.reason.text)]
    rows += [(cluster, f"yes  {replicas} of {decision.replicas}" if decision.mode == "divide" else "yes")
             for cluster, replicas in sorted(decision.assignments.items())]  # fmt: skip
    rows += [(cluster, f"no   {reason.text}") for cluster, reason in sorted(decision.rejected.items())]
    rows += [("queue", _queue_line(use)) for use in plan.queues if use.queue == decision.queue]
    width = max(len(name) for name, _ in rows)
    lines += [f"  {name:<{width}}  {text}" for name, text in rows]
    return "\n".join(lines)


def _queue_line(use: QueueUse) -> str:
    used, ceiling, guarantee = (amounts_text(part) for part in (use.used, use.capability, use.guarantee))
    return (
        f"{use.queue}: {used or 'nothing'} used after this, ceiling {ceiling or 'none'}, "
        f"guarantee {guarantee or 'none'}"
    )


def as_data(plan: Plan) -> dict[str, Any]:
    return {
        "snapshot": plan.snapshot_digest,
        "decisions": [decision_data(decision) for decision in plan.decisions],
        "queues": [
            {
                "queue": use.queue,
                "used": _quantities(use.used),
                "guarantee": _quantities(use.guarantee),
                "capability": _quantities(use.capability),
            }
            for use in plan.queues
        ],
        "warnings": list(plan.warnings),
    }


def decision_data(decision: Decision) -> dict[str, Any]:
    return {
        "workload": decision.workload,
        "mode": decision.mode,
        "state": str(decision.state),
        "assignments": dict(decision.assignments),
        "replicas": decision.replicas,
        "queue": decision.queue,
        "reason": {"code": decision.reason.code, "text": decision.reason.text},
        "rejected": {
            cluster: {"code": reason.code, "text": reason.text} for cluster, reason in decision.rejected.items()
        },
    }


def _quantities(amounts: Amounts) -> Mapping[str, str]:
    return {name: format_amount(name, value) for name, value in sorted(amounts.items())}
