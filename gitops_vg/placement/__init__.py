"""Placement: where every workload runs and why, decided from intents, a Snapshot and the last lock.

Pure. Called by the pipeline before compiling; `plan` is the only way in.
"""

from gitops_vg.placement.engine import plan
from gitops_vg.placement.lock import lock_from_data, lock_of, lock_to_data
from gitops_vg.placement.plan import (
    Assignments,
    Decision,
    LockEntry,
    PlacementLock,
    Plan,
    QueueUse,
    Reason,
    State,
)

__all__ = [
    "Assignments",
    "Decision",
    "LockEntry",
    "PlacementLock",
    "Plan",
    "QueueUse",
    "Reason",
    "State",
    "lock_from_data",
    "lock_of",
    "lock_to_data",
    "plan",
]
