"""Keeps the control plane equal to the committed tree: plan, guard, execute, drift."""

from gitops_vg.reconcile.actions import Action, ActionKind, Problem, SyncPlan
from gitops_vg.reconcile.drift import BindingState, DriftReport, binding_states, find_drift
from gitops_vg.reconcile.execute import Failure, SyncResult, execute
from gitops_vg.reconcile.guard import over_budget
from gitops_vg.reconcile.plan import make_plan
from gitops_vg.reconcile.records import Inventory, Record, load, save
from gitops_vg.reconcile.settling import wait_for_bindings

__all__ = [
    "Action",
    "ActionKind",
    "BindingState",
    "DriftReport",
    "Failure",
    "Inventory",
    "Problem",
    "Record",
    "SyncPlan",
    "SyncResult",
    "binding_states",
    "execute",
    "find_drift",
    "load",
    "make_plan",
    "over_budget",
    "save",
    "wait_for_bindings",
]
