"""Findings as people and machines read them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gitops_vg.findings import Finding, in_order
from gitops_vg.intents.fleet import Intents
from gitops_vg.report.text import Style, count, printable


def as_text(findings: Sequence[Finding], *, style: Style) -> str:
    """Each finding with its place, code and message, the fix below it; the totals last."""
    ordered = in_order(findings)
    places = [str(finding.at) for finding in ordered]
    width = max((len(place) for place in places), default=0)
    lines = []
    for place, finding in zip(places, ordered, strict=True):
        severity = style.paint(f"{finding.severity:<7}", "red" if finding.is_error else "yellow")
        lines.append(f"{place:<{width}}  {finding.code} {severity} {printable(finding.message)}")
        lines.append(f"    {printable(finding.fix)}")
    lines.append(totals(ordered))
    return "\n".join(lines)


def totals(findings: Sequence[Finding]) -> str:
    """`2 errors, 1 warning`."""
    errors = sum(finding.is_error for finding in findings)
    return f"{count(errors, 'error')}, {count(len(findings) - errors, 'warning')}"


def as_data(findings: Sequence[Finding]) -> list[dict[str, Any]]:
    return [
        {
            "code": finding.code,
            "severity": str(finding.severity),
            "file": finding.at.file,
            "line": finding.at.line,
            "column": finding.at.column,
            "field": finding.field,
            "message": finding.message,
            "fix": finding.fix,
        }
        for finding in in_order(findings)
    ]


def verdict_text(intents: Intents | None, findings: Sequence[Finding], *, style: Style) -> str:
    """The findings, or what was checked and found right."""
    if findings:
        return as_text(findings, style=style)
    if intents is None:
        return "nothing to check"
    parts = [
        count(len(intents.workloads), "workload"),
        count(len(intents.queues), "queue"),
        count(len(intents.clusters), "cluster"),
        count(len(intents.policies), "policy", "policies"),
        count(len(intents.priority_classes), "priority class", "priority classes"),
    ]
    return f"{style.paint('valid', 'green')}: fleet {intents.fleet.name} with {', '.join(parts)}"
