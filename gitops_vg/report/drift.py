"""Drift as people and machines read it."""

from __future__ import annotations

from typing import Any

from gitops_vg.reconcile import BindingState, DriftReport
from gitops_vg.report.text import Style, count, printable, table


def as_text(report: DriftReport, *, style: Style) -> str:
    """Every field with both values and who wrote it; then bindings that are not as planned."""
    lines = []
    for item in report.drifted:
        lines.append(f"{style.paint(item.what, 'yellow')} {item.key}")
        for change in item.changes:
            by = f"  (written by {printable(change.manager)})" if change.manager else ""
            lines.append(f"    {change.path}: live {_value(change.live)}, Git {_value(change.wanted)}{by}")
    for state in report.placement:
        lines.append(f"{style.paint('placement', 'yellow')} {state.key}: {_where(state)}")
    lines += [f"{style.paint('problem:', 'red')} {printable(problem.message)}" for problem in report.problems]
    if not lines:
        return f"no drift; {count(len(report.bindings), 'binding')} as planned"
    lines.append(
        f"{count(len(report.drifted), 'object')} drifted, {count(len(report.placement), 'placement')} not as planned"
    )
    return "\n".join(lines)


def _value(value: Any) -> str:
    return "(absent)" if value is None else printable(str(value))


def _where(state: BindingState) -> str:
    found = "no binding" if state.found is None else _clusters(state.found)
    return f"planned {_clusters(state.wanted)}, Karmada has {found}{f' ({state.trouble})' if state.trouble else ''}"


def _clusters(assignments: Any) -> str:
    return (
        ", ".join(f"{name} ×{number}" if number else name for name, number in sorted(assignments.items())) or "nowhere"
    )


def bindings_text(bindings: tuple[BindingState, ...], *, style: Style) -> str:
    """The bindings beside the plan."""
    rows = [
        (
            state.workload,
            state.key.kind,
            _clusters(state.wanted),
            "no binding" if state.found is None else _clusters(state.found),
            style.paint("differs", "red") if state.differs else style.paint("as planned", "green"),
            printable(state.trouble),
        )
        for state in bindings
    ]
    return table(("WORKLOAD", "OBJECT", "PLANNED", "KARMADA", "", ""), rows, style=style)


def as_data(report: DriftReport) -> dict[str, Any]:
    return {
        "drifted": [
            {
                "object": str(item.key),
                "what": item.what,
                "changes": [
                    {"path": change.path, "live": change.live, "git": change.wanted, "manager": change.manager}
                    for change in item.changes
                ],
            }
            for item in report.drifted
        ],
        "placement": [binding_data(state) for state in report.placement],
        "problems": [{"message": problem.message, "hint": problem.hint} for problem in report.problems],
        "bindings": len(report.bindings),
    }


def binding_data(state: BindingState) -> dict[str, Any]:
    """One binding beside the plan."""
    return {
        "workload": state.workload,
        "object": str(state.key),
        "planned": dict(state.wanted),
        "karmada": None if state.found is None else dict(state.found),
        "trouble": state.trouble,
        "phase": state.phase,
    }
