"""The words of a sync: actions, problems, and the plan that holds them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from gitops_vg.objects import Manifest, ObjectKey
from gitops_vg.reconcile.diff import FieldChange
from gitops_vg.reconcile.records import Record

Live = dict[str, Any]


class ActionKind(StrEnum):
    """What happens to an object. `unprotect` is an update that lifts the deletion protection."""

    CREATE = "create"
    UPDATE = "update"
    ADOPT = "adopt"
    UNPROTECT = "unprotect"
    RECREATE = "recreate"
    DELETE = "delete"

    @property
    def is_destructive(self) -> bool:
        return self in (ActionKind.UNPROTECT, ActionKind.RECREATE, ActionKind.DELETE)


@dataclass(frozen=True)
class Action:
    """One step. `live` is the object now; `changes` say what differs."""

    kind: ActionKind
    key: ObjectKey
    manifest: Manifest | None = None
    live: Live | None = field(default=None, repr=False)
    changes: tuple[FieldChange, ...] = ()
    is_repair: bool = False
    """Somebody changed the object; Git did not."""

    def __str__(self) -> str:
        return f"{self.kind} {self.key}"

    @property
    def uid(self) -> str:
        return str(self.live["metadata"]["uid"]) if self.live else ""


@dataclass(frozen=True)
class Problem:
    """An object that could not be judged, and why."""

    key: ObjectKey | None
    message: str
    hint: str = ""


@dataclass(frozen=True)
class SyncPlan:
    """Actions to do now (`actions`) and destructive ones that a guard holds (`held`, with `reasons`)."""

    actions: tuple[Action, ...] = ()
    held: tuple[Action, ...] = ()
    reasons: tuple[str, ...] = ()
    digest: str = ""
    approved_by: str = ""
    frozen: str = ""
    """Why nothing is deleted, "" when the world is known."""
    problems: tuple[Problem, ...] = ()
    unchanged: tuple[ObjectKey, ...] = ()
    gone: tuple[ObjectKey, ...] = ()
    """Of ours, and confirmed absent."""
    kept: tuple[ObjectKey, ...] = ()
    """Jobs that ended and whose object went: never run again."""
    left_fields: tuple[tuple[ObjectKey, tuple[FieldChange, ...]], ...] = ()
    """Fields that we declared once, do not any more, and that stay because another manager owns them too."""
    unknown: tuple[Manifest, ...] = ()
    """Wished, but what is there could not be found out: what depends on them waits."""
    commit: str = ""
    """The commit of the rendered tree."""
    notices: tuple[str, ...] = ()
    """What people should know and nobody has to do."""
    records: Mapping[ObjectKey, Record] = field(default_factory=dict, repr=False)
    """The inventory as it is known after planning, before any write."""

    @property
    def is_empty(self) -> bool:
        return not (self.actions or self.held or self.problems)
