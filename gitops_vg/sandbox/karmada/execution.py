"""From Work to member and back: objects are PUT, kept as the Work says, and their status is read.

An object that a member changes or loses is restored; what a member refuses stands in the Work.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any

from gitops_vg.objects import GroupKind, ObjectKey, key_of
from gitops_vg.sandbox.karmada.control import MANAGER, Body, Objects, Queue, set_condition
from gitops_vg.sandbox.karmada.detector import WORK_GROUP
from gitops_vg.sandbox.karmada.interpreter import healthy, pruned, reflected_status, retained
from gitops_vg.sandbox.karmada.members import Member
from gitops_vg.sandbox.karmada.policies import CLUSTER, NAMESPACED, claim_keys
from gitops_vg.sandbox.karmada.works import CONFLICT_RESOLUTION, FINALIZER, MANAGED, NAMESPACE_PREFIX, merged_metadata
from gitops_vg.sandbox.status import StatusError
from gitops_vg.sandbox.store import Event

NOT_READY_PAUSE = 0.5
"""Seconds until a Work for an unreachable member is tried again."""

_WORKS = GroupKind(WORK_GROUP, "Work")
_DISPATCHING = {
    "type": "Dispatching",
    "status": "True",
    "reason": "Dispatching",
    "message": "Work is being dispatched to member clusters.",
}
_SUSPENDED = {
    "type": "Dispatching",
    "status": "False",
    "reason": "SuspendDispatching",
    "message": "Work dispatching is in a suspended state.",
}
_APPLIED = {
    "type": "Applied",
    "status": "True",
    "reason": "AppliedSuccessful",
    "message": "Manifest has been successfully applied",
}
_OWN_PREFIXES = ("work.karmada.io/", "resourcebinding.karmada.io/", "clusterresourcebinding.karmada.io/")


class Execution:
    """Carries every Work to its member and the member's status back into the Work."""

    def __init__(
        self, objects: Objects, members: Mapping[str, Member], *, now: Callable[[], str], reflect_after: float
    ) -> None:
        self._objects = objects
        self._members = members
        self._now = now
        self._reflect_after = reflect_after
        self._versions: dict[tuple[str, ObjectKey], str] = {}
        self._works: Queue[ObjectKey] = Queue("execution", self._sync)
        self._statuses: Queue[ObjectKey] = Queue("work-status", self._reflect)
        self.queues = (self._works, self._statuses)

    def on_event(self, event: Event) -> None:
        """A Work that is new, changed its spec or is ending."""
        key = key_of(event.object)
        if key.group != WORK_GROUP or key.kind != "Work" or event.type == "DELETED":
            return
        if event.old is None or event.old["metadata"]["generation"] != event.object["metadata"]["generation"]:
            self._works.add(key)

    def on_member_event(self, event: Event) -> None:
        """An object that a Work put there came, changed or went."""
        annotations = event.object["metadata"].get("annotations") or {}
        if "work.karmada.io/name" in annotations and "work.karmada.io/namespace" in annotations:
            namespace, name = annotations["work.karmada.io/namespace"], annotations["work.karmada.io/name"]
            after = self._reflect_after if event.type == "ADDED" else 0.0
            self._statuses.add(ObjectKey(WORK_GROUP, "Work", namespace, name), after=after)

    def wake(self, cluster: str) -> None:
        """Try everything of a member that came back."""
        for work in self._objects.list(_WORKS, namespace=NAMESPACE_PREFIX + cluster):
            self._works.add(key_of(work))

    # ------------------------------------------------------------------ Work → member

    def _sync(self, key: ObjectKey) -> float | None:
        work = self._objects.get(key)
        if work is None:
            return None
        member = self._members.get(key.namespace.removeprefix(NAMESPACE_PREFIX))
        if work["metadata"].get("deletionTimestamp"):
            return self._end(work, member)
        if member is None:
            return None
        if not member.reachable:
            return NOT_READY_PAUSE
        if work["spec"].get("suspendDispatching"):
            self._set(work, _SUSPENDED)
            return None
        work = self._set(work, _DISPATCHING)
        try:
            for manifest in work["spec"]["workload"]["manifests"]:
                self._put(member, manifest)
        except StatusError as error:
            words = f"Failed to apply all manifests (0/1): {error.message}"
            failed = {"type": "Applied", "status": "False", "reason": "AppliedFailed", "message": words}
            self._set(work, failed)
            raise
        self._set(work, _APPLIED)
        self._statuses.add(key, after=self._reflect_after)
        return None

    def _put(self, member: Member, manifest: Mapping[str, Any]) -> None:
        key = key_of(manifest)
        desired: Body = copy.deepcopy(dict(manifest))
        observed = member.objects.get(key)
        if observed is None:
            self._record(member, member.objects.create(desired, manager=MANAGER))
            return
        if (observed["metadata"].get("labels") or {}).get(MANAGED) != "true" and not _overwrites(desired):
            where = f"{key.namespace}/{key.name}"
            message = (
                f"resource(kind={key.kind}, {where}) already exists in the cluster {member.name} and the "
                f"{CONFLICT_RESOLUTION} strategy value is empty, Karmada will not manage this resource"
            )
            raise StatusError(0, "AlreadyExists", message)
        desired = retained(merged_metadata(desired, observed), observed)
        if _same(desired, observed):
            self._record(member, observed)
        else:
            self._record(member, member.objects.update(desired, manager=MANAGER))

    def _record(self, member: Member, body: Body) -> None:
        self._versions[member.name, key_of(body)] = _version(body)

    # ------------------------------------------------------------------ the end of a Work

    def _end(self, work: Body, member: Member | None) -> float | None:
        if member is not None:
            if not member.reachable:
                return NOT_READY_PAUSE
            for manifest in work["spec"]["workload"]["manifests"]:
                self._take_back(member, manifest, keep=bool(work["spec"].get("preserveResourcesOnDeletion")))
        finalizers = [item for item in work["metadata"].get("finalizers") or [] if item != FINALIZER]
        metadata = {**work["metadata"], "finalizers": finalizers}
        self._objects.update({**work, "metadata": metadata}, manager=MANAGER)
        return None

    def _take_back(self, member: Member, manifest: Mapping[str, Any], *, keep: bool) -> None:
        key = key_of(manifest)
        observed = member.objects.get(key)
        self._versions.pop((member.name, key), None)
        if observed is None or (observed["metadata"].get("labels") or {}).get(MANAGED) != "true":
            return
        if not keep:
            member.objects.delete(key)
            return
        metadata = dict(observed["metadata"])
        for part in ("labels", "annotations"):
            kept = {name: value for name, value in (metadata.pop(part, None) or {}).items() if not _is_own(name)}
            if kept:
                metadata[part] = kept
        member.objects.update({**observed, "metadata": metadata}, manager=MANAGER)

    # ------------------------------------------------------------------ member → Work

    def _reflect(self, key: ObjectKey) -> float | None:
        work = self._objects.get(key)
        member = self._members.get(key.namespace.removeprefix(NAMESPACE_PREFIX))
        if work is None or member is None or not member.reachable or work["metadata"].get("deletionTimestamp"):
            return None
        manifest = work["spec"]["workload"]["manifests"][0]
        observed = member.objects.get(key_of(manifest))
        if observed is None or observed["metadata"].get("deletionTimestamp"):
            if (member.name, key_of(manifest)) in self._versions and not work["spec"].get("suspendDispatching"):
                self._works.add(key)
            return None
        if (observed["metadata"].get("labels") or {}).get(MANAGED) != "true":
            return None
        if not work["spec"].get("suspendDispatching") and self._drifted(member, manifest, observed):
            self._put(member, manifest)
            observed = member.objects.get(key_of(manifest)) or observed
        self._store_status(work, observed)
        return None

    def _drifted(self, member: Member, desired: Mapping[str, Any], observed: Mapping[str, Any]) -> bool:
        """Whether the member's object changed since we put it, or carries other labels than it should."""
        version = _version(observed)
        if self._versions.get((member.name, key_of(observed))) != version:
            return True
        if not version.startswith("gen:"):
            return False
        seen, wanted = observed["metadata"], desired["metadata"]
        return any(
            not (wanted.get(part) or {}).items() <= (seen.get(part) or {}).items() for part in ("labels", "annotations")
        )

    def _store_status(self, work: Body, observed: Mapping[str, Any]) -> None:
        key = key_of(observed)
        identifier = {
            "group": key.group,
            "kind": key.kind,
            "name": key.name,
            "namespace": key.namespace,
            "ordinal": 0,
            "resource": "",
            "version": observed["apiVersion"].rpartition("/")[2],
        }
        entry: Body = {"identifier": identifier, "health": healthy(observed)}
        found = reflected_status(observed)
        if found is not None:
            entry["status"] = found
        for name in ("group", "namespace"):
            if not identifier[name]:
                del identifier[name]
        status = copy.deepcopy(work.get("status") or {})
        if status.get("manifestStatuses") != [entry]:
            status["manifestStatuses"] = [entry]
            self._objects.update({**work, "status": status}, manager=MANAGER, status=True)

    def _set(self, work: Body, condition: Mapping[str, Any]) -> Body:
        status = copy.deepcopy(work.get("status") or {})
        if not set_condition(status, condition, now=self._now()):
            return work
        return self._objects.update({**work, "status": status}, manager=MANAGER, status=True)


def _overwrites(desired: Mapping[str, Any]) -> bool:
    return bool((desired["metadata"].get("annotations") or {}).get(CONFLICT_RESOLUTION) == "overwrite")


def _version(body: Mapping[str, Any]) -> str:
    """What tells that an object changed: its generation, or its version where it has none."""
    generation = body["metadata"].get("generation")
    return f"gen:{generation}" if generation else f"rv:{body['metadata']['resourceVersion']}"


def _same(desired: Mapping[str, Any], observed: Mapping[str, Any]) -> bool:
    return bool(pruned(desired) == pruned(observed))


def _is_own(key: str) -> bool:
    claims = {name for kind in (NAMESPACED, CLUSTER) for keys in claim_keys(kind) for name in keys}
    ours = key.startswith(_OWN_PREFIXES) or key.startswith("resourcetemplate.karmada.io/")
    return key == MANAGED or key in claims or (ours and key != "resourcetemplate.karmada.io/deletion-protected")
