"""A sync, planned or done, as people and machines read it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gitops_vg.objects import FIELD_MANAGER
from gitops_vg.reconcile import Action, ActionKind, BindingState, Problem, SyncPlan, SyncResult
from gitops_vg.report.drift import binding_data, bindings_text
from gitops_vg.report.text import Colour, Style, count, printable

_MARKS: dict[ActionKind, tuple[str, Colour]] = {
    ActionKind.CREATE: ("+", "green"),
    ActionKind.UPDATE: ("~", "yellow"),
    ActionKind.ADOPT: ("a", "cyan"),
    ActionKind.UNPROTECT: ("!", "red"),
    ActionKind.RECREATE: ("±", "red"),
    ActionKind.DELETE: ("-", "red"),
}
_MOST_CHANGES = 12
"""Changed fields of one object that are printed; JSON has all."""


def plan_text(plan: SyncPlan, *, style: Style) -> str:
    """What sync would do: destruction first, then the rest, each change with its field."""
    lines = []
    for action in (*plan.held, *plan.actions):
        lines += _action_lines(action, style=style)
    lines += [_problem_line(problem, style=style) for problem in plan.problems]
    lines += [f"note: {printable(notice)}" for notice in plan.notices]
    if plan.frozen:
        lines.append(style.paint(f"nothing is deleted: {plan.frozen}", "yellow"))
    if plan.held:
        lines.append(held_text(plan, style=style))
    if not lines:
        return f"no difference: {count(len(plan.unchanged), 'object')} as in Git"
    lines.append(_totals(plan.actions, unchanged=len(plan.unchanged), held=len(plan.held), word="to do"))
    return "\n".join(lines)


def held_text(plan: SyncPlan, *, style: Style) -> str:
    """What a guard holds, why, and what would open it."""
    lines = [style.paint(f"held back: {count(len(plan.held), 'destructive action')}", "red")]
    lines += [f"    {reason}" for reason in plan.reasons]
    lines.append(f"    plan {plan.digest}")
    lines.append("    if it is meant, commit an Approval of this plan, publish, and sync again")
    return "\n".join(lines)


def result_text(plan: SyncPlan, result: SyncResult, *, style: Style, unsettled: tuple[BindingState, ...] = ()) -> str:
    """What was done, what failed, what is held, what Karmada has not carried out."""
    lines = []
    if plan.approved_by:
        lines.append(f"approved by {plan.approved_by} (plan {plan.digest})")
    for action in result.done:
        lines += _action_lines(action, style=style)
    for failure in result.failures:
        word = "skipped" if failure.skipped else "failed"
        lines.append(f"{style.paint(word, 'red')} {failure.action}: {printable(failure.message)}")
        if failure.hint:
            lines.append(f"    {failure.hint}")
    lines += [_problem_line(problem, style=style) for problem in plan.problems]
    lines += [f"note: {printable(notice)}" for notice in plan.notices]
    lines += [f"waiting until {key} is gone" for key in result.waiting]
    if plan.frozen:
        lines.append(style.paint(f"nothing was deleted: {plan.frozen}", "yellow"))
    if plan.held:
        lines.append(held_text(plan, style=style))
    if unsettled:
        lines.append(bindings_text(unsettled, style=style))
    lines.append(_totals(result.done, unchanged=len(plan.unchanged), held=len(plan.held), word="done"))
    return "\n".join(lines)


def _action_lines(action: Action, *, style: Style) -> list[str]:
    mark, colour = _MARKS[action.kind]
    lines = [style.paint(f"{mark} {action}", colour)]
    if action.kind is not ActionKind.CREATE:
        for change in action.changes[:_MOST_CHANGES]:
            by = f"  (written by {printable(change.manager)})" if change.manager not in ("", FIELD_MANAGER) else ""
            lines.append(f"    {change.path}: {_value(change.live)} → {_value(change.wanted)}{by}")
        if len(action.changes) > _MOST_CHANGES:
            lines.append(f"    and {len(action.changes) - _MOST_CHANGES} more fields")
    return lines


def _value(value: Any) -> str:
    if value is None:
        return "(absent)"
    text = printable(str(value))
    return text if len(text) <= 80 else f"{text[:77]}…"


def _problem_line(problem: Problem, *, style: Style) -> str:
    hint = f"\n    {problem.hint}" if problem.hint else ""
    return f"{style.paint('problem:', 'red')} {printable(problem.message)}{hint}"


def _totals(actions: Sequence[Action], *, unchanged: int, held: int, word: str) -> str:
    kinds = [action.kind for action in actions]
    parts = [f"{kinds.count(kind)} {kind}" for kind in ActionKind if kind in kinds]
    parts.append(f"{unchanged} unchanged")
    if held:
        parts.append(f"{held} held")
    return f"{count(len(actions), 'action')} {word}: {', '.join(parts)}"


def action_data(action: Action) -> dict[str, Any]:
    return {
        "action": str(action.kind),
        "object": str(action.key),
        "changes": [
            {"path": change.path, "live": change.live, "wanted": change.wanted, "manager": change.manager}
            for change in action.changes
        ],
    }


def plan_data(plan: SyncPlan) -> dict[str, Any]:
    return {
        "actions": [action_data(action) for action in plan.actions],
        "held": [action_data(action) for action in plan.held],
        "reasons": list(plan.reasons),
        "digest": plan.digest,
        "approvedBy": plan.approved_by,
        "frozen": plan.frozen,
        "problems": [{"message": problem.message, "hint": problem.hint} for problem in plan.problems],
        "notices": list(plan.notices),
        "unchanged": len(plan.unchanged),
    }


def result_data(plan: SyncPlan, result: SyncResult, *, unsettled: tuple[BindingState, ...] = ()) -> dict[str, Any]:
    return {
        **plan_data(plan),
        "done": [str(action) for action in result.done],
        "failures": [
            {
                "action": str(failure.action),
                "message": failure.message,
                "hint": failure.hint,
                "skipped": failure.skipped,
            }
            for failure in result.failures
        ],
        "waiting": [str(key) for key in result.waiting],
        "unsettled": [binding_data(state) for state in unsettled],
    }
