"""What stops a destruction: each reason is one sentence, and an Approval of the exact plan overrules it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gitops_vg.gitstore import TreeSettings
from gitops_vg.objects import PROTECTED_LABEL, ObjectKey
from gitops_vg.reconcile.running import ended

_ALWAYS_FREE = 3
"""Deletions that a share never forbids: a workload with its service and its policy."""


@dataclass(frozen=True)
class Destruction:
    """One thing that would be destroyed: deleted, recreated, or stripped of its protection."""

    kind: str
    key: ObjectKey
    live: Mapping[str, Any]
    work: str = ""
    """What runs because of it, "" for nothing."""


def holds(destructions: Sequence[Destruction], *, settings: TreeSettings, total: int, empty: bool) -> Iterator[str]:
    """Why these must not happen without an Approval; nothing when they may."""
    for item in destructions:
        if item.kind == "unprotect":
            yield f"{item.key} would lose its protection against deletion"
        elif item.kind == "delete" and _protected(item.live):
            yield f"{item.key} is protected ({PROTECTED_LABEL}=Always)"
        if item.kind == "delete" and item.work:
            yield f"{item.key} is running ({item.work})"
        if item.kind == "recreate" and item.work:
            yield f"{item.key} would be stopped and run again ({item.work})"
        elif item.kind == "recreate" and (how := ended(item.live)):
            yield f"{item.key} has ended ({how}) and would run again"
    removed = sum(item.kind in ("delete", "recreate") for item in destructions)
    if empty and removed:
        yield "the rendered tree is empty: everything would be deleted"
    yield from over_budget(removed, settings=settings, total=total)


def over_budget(removed: int, *, settings: TreeSettings, total: int) -> Iterator[str]:
    """The budget of one run: the smaller of a count and a share of what we own.

    A share of a small fleet is less than one workload: a few objects are free whatever the share.
    """
    share = max(_ALWAYS_FREE, total * settings.max_percent // 100)
    limit = min(settings.max_count, share)
    if removed > limit:
        if limit == settings.max_count:
            which = f"maxCount {settings.max_count}"
        elif limit == _ALWAYS_FREE:
            which = f"always free, since {settings.max_percent} % of {total} objects is no more"
        else:
            which = f"{settings.max_percent} % of {total} objects"
        yield f"{removed} deletions are more than one run may do ({limit}: {which})"


def _protected(body: Mapping[str, Any]) -> bool:
    return bool((body.get("metadata", {}).get("labels") or {}).get(PROTECTED_LABEL) == "Always")
