"""The placement lock: the decisions of a plan as they are committed, and read again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

from gitops_vg.errors import InputError
from gitops_vg.intents.models import Mode
from gitops_vg.placement.plan import Decision, LockEntry, PlacementLock, Plan, State
from gitops_vg.placement.reasons import WITHOUT_FIGURES, Code


def lock_of(plan: Plan) -> PlacementLock:
    """The decisions to commit, in order of workload.

    A kept decision keeps the reason it was made for, and a pending one has a reason without
    figures: the lock changes only when a decision does.
    """
    return {decision.workload: _entry(decision) for decision in plan.decisions}


def _entry(decision: Decision) -> LockEntry:
    reason = decision.reason.text
    if decision.state is State.PENDING:
        reason = WITHOUT_FIGURES[Code(decision.reason.code)]
    return LockEntry(mode=decision.mode, assignments=dict(decision.assignments), reason=reason)


def lock_to_data(lock: PlacementLock) -> dict[str, Any]:
    """Plain data in stable order, one workload a block."""
    return {
        workload: {
            "mode": entry.mode,
            "clusters": dict(sorted(entry.assignments.items())),
            "reason": entry.reason,
        }
        for workload, entry in sorted(lock.items())
    }


def lock_from_data(data: Any) -> PlacementLock:
    """Reads what `lock_to_data` gave. None and {} are the lock of a fleet that was never planned.

    Raises InputError for anything else: a lock that cannot be read must not look like an
    empty one, or everything would be placed anew.
    """
    if data is None:
        return {}
    if not isinstance(data, Mapping):
        raise _unreadable("it is not a mapping of workloads")
    return {str(workload): _entry_from(workload, entry) for workload, entry in sorted(data.items())}


def _entry_from(workload: object, entry: Any) -> LockEntry:
    if not isinstance(entry, Mapping):
        raise _unreadable(f"{workload} is not a mapping")
    mode: Any = entry.get("mode")
    clusters, reason = entry.get("clusters"), entry.get("reason", "")
    if mode not in get_args(Mode):
        raise _unreadable(f"{workload} has mode {mode!r}, which is none of {', '.join(get_args(Mode))}")
    if not isinstance(clusters, Mapping) or not all(
        isinstance(name, str) and type(count) is int and count >= 0 for name, count in clusters.items()
    ):
        raise _unreadable(f"clusters of {workload} are not numbers of replicas by cluster")
    if not isinstance(reason, str):
        raise _unreadable(f"the reason of {workload} is not text")
    return LockEntry(mode=mode, assignments=dict(sorted(clusters.items())), reason=reason)


def _unreadable(problem: str) -> InputError:
    return InputError(
        f"the placement lock cannot be read: {problem}",
        findings=(),
        hint="restore placements.lock.yaml from the last good commit of the rendered branch",
    )
