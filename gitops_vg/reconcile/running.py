"""What runs, and what has ended, because of an object: the reason why it must not simply be deleted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gitops_vg.objects import GroupKind, ObjectKey, key_of

Live = Mapping[str, Any]
VOLCANO_JOB = GroupKind("batch.volcano.sh", "Job")
_BATCH_JOB = GroupKind("batch", "Job")
_BUSY = frozenset({"Pending", "Inqueue", "Running", "Restarting", "Completing", "Aborting", "Terminating"})
_OVER = frozenset({"Completed", "Failed", "Terminated", "Aborted"})
_BINDING = "ResourceBinding"


def phase(body: Live) -> str:
    """The phase of a Volcano Job, "" for anything else and for one that nobody has reported on."""
    state = (body.get("status") or {}).get("state")
    return str(state.get("phase", "")) if isinstance(state, Mapping) else ""


def ended(body: Live) -> str:
    """How a job ended, "" while it has not and for what is no job."""
    kind = _kind(body)
    if kind == VOLCANO_JOB:
        return phase(body) if phase(body) in _OVER else ""
    if kind == _BATCH_JOB:
        conditions = (body.get("status") or {}).get("conditions") or ()
        true = {item.get("type") for item in conditions if item.get("status") == "True"}
        return next((name for name in ("Complete", "Failed") if name in true), "")
    return ""


def work(body: Live) -> str:
    """What runs because of this object, as its status says; "" for nothing."""
    status, kind = body.get("status") or {}, _kind(body)
    if kind == VOLCANO_JOB:
        return f"phase {phase(body)}" if phase(body) in _BUSY else ""
    if body.get("kind") == "Queue":
        jobs = (status.get("running") or 0) + (status.get("inqueue") or 0)
        return f"{jobs} jobs in it" if jobs else ""
    active = status.get("active")
    if isinstance(active, list):
        active = len(active)
    if active and not ended(body):
        return f"{active} active"
    if ready := status.get("readyReplicas"):
        return f"{ready} ready replicas"
    return f"{status['replicas']} replicas, none ready" if status.get("replicas") else ""


def is_untold(body: Live) -> bool:
    """A job whose status is empty: in the control plane a refused update empties it while the job runs on."""
    return _kind(body) == VOLCANO_JOB and not phase(body)


def work_untold(binding: Live | None) -> str:
    """What may run of a job without a status, by its binding."""
    clusters = ((binding or {}).get("spec") or {}).get("clusters") or ()
    names = ", ".join(sorted(target["name"] for target in clusters))
    return f"sent to {names}, which has not said how it is" if names else ""


def binding_key(key: ObjectKey) -> ObjectKey:
    """The binding that Karmada makes for a template: `<name>-<kind>`, without its group."""
    name = f"{key.name}-{key.kind}".lower().replace(":", ".")
    kind = _BINDING if key.namespace else f"Cluster{_BINDING}"
    return ObjectKey("work.karmada.io", kind, key.namespace, name)


def _kind(body: Live) -> GroupKind | None:
    return key_of(body).group_kind if body.get("apiVersion") and body.get("kind") else None
