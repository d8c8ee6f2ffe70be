"""What would change in the rendered branch, and what a publication changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gitops_vg.gitstore import PublishResult
from gitops_vg.objects import Manifest, ObjectKey, destructive_digest
from gitops_vg.report.text import Colour, Style, count


@dataclass(frozen=True)
class TreeChange:
    """One object of the rendered tree: `added`, `changed` or `removed`."""

    what: str
    key: ObjectKey


_COLOURS: dict[str, Colour] = {"added": "green", "changed": "yellow", "removed": "red"}
_MARKS = {"added": "+", "changed": "~", "removed": "-"}


def tree_changes(before: Sequence[Manifest], after: Sequence[Manifest]) -> tuple[TreeChange, ...]:
    """Removals first, since they are what a reader must not miss."""
    old = {manifest.key: manifest.body for manifest in before}
    new = {manifest.key: manifest.body for manifest in after}
    changes = [TreeChange("removed", key) for key in sorted(old.keys() - new.keys())]
    changes += [TreeChange("changed", key) for key in sorted(old.keys() & new.keys()) if old[key] != new[key]]
    changes += [TreeChange("added", key) for key in sorted(new.keys() - old.keys())]
    return tuple(changes)


def changes_text(changes: Sequence[TreeChange], destructive: Sequence[str], *, style: Style) -> str:
    """One line an object; what would need an Approval last, with its digest."""
    if not changes:
        return "the rendered manifests would stay as they are"
    lines = [style.paint(f"{_MARKS[change.what]} {change.key}", _COLOURS[change.what]) for change in changes]
    totals = ", ".join(
        f"{sum(change.what == what for change in changes)} {what}" for what in ("added", "changed", "removed")
    )
    lines.append(f"{count(len(changes), 'manifest')} would change: {totals}")
    if destructive:
        lines.append(f"destroys {count(len(destructive), 'thing')}: plan {destructive_digest(destructive)}")
    return "\n".join(lines)


def changes_data(changes: Sequence[TreeChange], destructive: Sequence[str]) -> dict[str, Any]:
    return {
        "manifests": [{"what": change.what, "object": str(change.key)} for change in changes],
        "destructive": list(destructive),
        "digest": destructive_digest(destructive) if destructive else "",
    }


def published_text(result: PublishResult, *, style: Style) -> str:
    """The commit and its diffstat."""
    if not result.commit:
        return f"nothing to publish: branch {result.branch} is as the intents say"
    head = f"{style.paint(result.commit[:12], 'bold')} on branch {result.branch}{', pushed' if result.pushed else ''}"
    lines = [head]
    for what, paths in (("added", result.added), ("changed", result.changed), ("removed", result.removed)):
        lines += [style.paint(f"  {_MARKS[what]} {path}", _COLOURS[what]) for path in paths]
    lines.append(f"{len(result.added)} added, {len(result.changed)} changed, {len(result.removed)} removed")
    return "\n".join(lines)


def published_data(result: PublishResult) -> dict[str, Any]:
    return {
        "commit": result.commit,
        "branch": result.branch,
        "pushed": result.pushed,
        "added": list(result.added),
        "changed": list(result.changed),
        "removed": list(result.removed),
    }
