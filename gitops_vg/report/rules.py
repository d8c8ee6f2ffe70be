"""Rules as people and machines read them."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import dedent, indent
from typing import Any

from gitops_vg.report.text import Style, count, table
from gitops_vg.rules import Rule


def list_text(rules: Sequence[Rule], *, style: Style) -> str:
    """One line a rule."""
    rows = [
        (rule.code, style.paint(str(rule.severity), "red" if rule.severity == "error" else "yellow"), rule.title)
        for rule in rules
    ]
    listing = table(("CODE", "SEVERITY", "WHAT IT FINDS"), rows, style=style)
    return f"{listing}\n\n{count(len(rules), 'rule')}; `gitops-vg rules CODE` explains one"


def rule_text(rule: Rule, *, style: Style) -> str:
    """A rule in full: why, and an example of wrong and right."""
    parts = [f"{style.paint(rule.code, 'bold')} {rule.severity}: {rule.title}", explanation(rule)]
    for word, example in (("wrong", rule.wrong), ("right", rule.right)):
        if example:
            parts.append(f"{style.paint(word + ':', 'dim')}\n{indent(dedent(example).strip(), '    ')}")
    return "\n\n".join(parts)


def explanation(rule: Rule) -> str:
    """The rule's own docstring, unindented."""
    first, _, rest = rule.explanation.strip().partition("\n")
    return f"{first}\n{dedent(rest)}".strip()


def rule_data(rule: Rule) -> dict[str, Any]:
    return {
        "code": rule.code,
        "severity": str(rule.severity),
        "title": rule.title,
        "explanation": explanation(rule),
        "wrong": dedent(rule.wrong).strip(),
        "right": dedent(rule.right).strip(),
    }
