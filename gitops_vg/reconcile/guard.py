"""What stops a destruction: each reason is one sentence, and an Approval of the exact plan overrules it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gitops_vg.gitstore import TreeSettings
from gitops_vg.objects import PROTECTED_LABEL, GroupKind, ObjectKey

_AUTOMATIC = frozenset({("ConfigMap", "kube-root-ca.crt"), ("ServiceAccount", "default")})
"""What every namespace gets by itself."""
_ALWAYS_FREE = 3
"""Deletions that a share never forbids: a workload with its service and its policy."""
_RUNNING_PHASES = frozenset({"Pending", "Running", "Restarting", "Completing", "Aborting", "Terminating"})


@dataclass(frozen=True)
class Destruction:
    """One thing that would be destroyed: deleted, recreated, or stripped of its protection."""

    kind: str
    key: ObjectKey
    live: Mapping[str, Any]


def holds(
    destructions: Sequence[Destruction],
    *,
    settings: TreeSettings,
    total: int,
    live: Mapping[ObjectKey, Mapping[str, Any]],
    owned: Iterable[ObjectKey],
    empty: bool,
) -> Iterator[str]:
    """Why these must not happen without an Approval; nothing when they may."""
    ours = set(owned)
    for item in destructions:
        if item.kind == "unprotect":
            yield f"{item.key} would lose its protection against deletion"
        elif item.kind == "delete" and _protected(item.live):
            yield f"{item.key} is protected ({PROTECTED_LABEL}=Always)"
        if item.kind in ("delete", "recreate") and (work := _running(item.live)):
            yield f"{item.key} {'would be stopped and run again' if item.kind == 'recreate' else 'is running'} ({work})"
        if item.kind == "delete" and item.key.group_kind == GroupKind("", "Namespace"):
            yield from _foreign_content(item.key.name, live=live, ours=ours)
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
        which = (
            f"maxCount {settings.max_count}" if limit == settings.max_count else f"{settings.max_percent} % of {total}"
        )
        yield f"{removed} deletions are more than one run may do ({limit}: {which})"


def _protected(body: Mapping[str, Any]) -> bool:
    return bool((body.get("metadata", {}).get("labels") or {}).get(PROTECTED_LABEL) == "Always")


def _running(body: Mapping[str, Any]) -> str:
    """What runs because of this object, "" for nothing."""
    status = body.get("status") or {}
    state = status.get("state")
    if body.get("kind") == "Job" and isinstance(state, dict) and state.get("phase") in _RUNNING_PHASES:
        return f"phase {state['phase']}"
    if body.get("kind") == "Queue" and (jobs := (status.get("running") or 0) + (status.get("inqueue") or 0)):
        return f"{jobs} jobs in it"
    ready = status.get("readyReplicas")
    return f"{ready} ready replicas" if ready else ""


def _foreign_content(
    namespace: str, *, live: Mapping[ObjectKey, Mapping[str, Any]], ours: set[ObjectKey]
) -> Iterator[str]:
    for key in sorted(live):
        if key.namespace == namespace and key not in ours and (key.kind, key.name) not in _AUTOMATIC:
            yield f"Namespace {namespace} holds {key}, which is not ours"
            return
