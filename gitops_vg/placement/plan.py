"""A Plan: for every workload where it runs and why, and why not elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property

from gitops_vg.intents.models import Mode
from gitops_vg.quantities import Amounts

Assignments = Mapping[str, int]
"""Cluster → replicas. A gang has one cluster; work that is copied whole has 1 for each cluster."""


@dataclass(frozen=True)
class Reason:
    """Why: a code of the closed vocabulary (placement/reasons.py) and one clause for people."""

    code: str
    text: str


class State(StrEnum):
    """`placed`: new or moved; `kept`: as the previous plan had it; `pending`: runs nowhere."""

    PLACED = "placed"
    KEPT = "kept"
    PENDING = "pending"


@dataclass(frozen=True)
class Decision:
    """One workload's outcome. `rejected` has a reason for every cluster that was not chosen."""

    workload: str
    mode: Mode
    state: State
    assignments: Assignments
    reason: Reason
    rejected: Mapping[str, Reason] = field(default_factory=dict)
    queue: str = ""
    replicas: int = 0


@dataclass(frozen=True)
class QueueUse:
    """A queue after the plan: what its placed work requests."""

    queue: str
    used: Amounts
    guarantee: Amounts
    capability: Amounts


@dataclass(frozen=True)
class Plan:
    """Decisions in order of workload, queues in the order in which they were served."""

    snapshot_digest: str
    decisions: tuple[Decision, ...]
    queues: tuple[QueueUse, ...] = ()
    warnings: tuple[str, ...] = ()

    @cached_property
    def decision(self) -> dict[str, Decision]:
        return {decision.workload: decision for decision in self.decisions}


@dataclass(frozen=True)
class LockEntry:
    """One committed decision: mode, assignments (empty while pending), and the reason in one line."""

    mode: Mode
    assignments: Assignments
    reason: str = ""


PlacementLock = Mapping[str, LockEntry]
"""The committed decisions of the last plan, by workload key."""
