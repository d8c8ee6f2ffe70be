"""Deployments, StatefulSets and batch/v1 Jobs in a member: their pods and their status.

Simple on purpose: no ReplicaSets, no rolling update (pods of an older template are replaced at
once), no failures. Volcano and batch CronJobs are stored and start nothing.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gitops_vg.objects import GroupKind, ObjectKey, key_of
from gitops_vg.sandbox.karmada.control import Body, Objects, Queue
from gitops_vg.sandbox.karmada.division import fnv1a
from gitops_vg.sandbox.karmada.volcano_jobs import POD
from gitops_vg.sandbox.store import Event

MANAGER = "kube-controller-manager"
HASH_LABEL = "pod-template-hash"
_COUNT_FIELD = {
    GroupKind("apps", "Deployment"): "replicas",
    GroupKind("apps", "StatefulSet"): "replicas",
    GroupKind("batch", "Job"): "parallelism",
}


class Services:
    """Keeps as many pods as wanted, and tells how many are ready."""

    def __init__(self, objects: Objects, *, now: Callable[[], str]) -> None:
        self._objects = objects
        self._now = now
        self._owners: Queue[ObjectKey] = Queue("services", self._reconcile)
        self.queues = (self._owners,)

    def on_event(self, event: Event) -> None:
        if event.kind.group_kind in _COUNT_FIELD and event.type != "DELETED":
            self._owners.add(key_of(event.object))
        elif event.kind.group_kind == POD:
            for owner in event.object["metadata"].get("ownerReferences") or []:
                kind = GroupKind(owner["apiVersion"].rpartition("/")[0], owner["kind"])
                if kind in _COUNT_FIELD:
                    self._owners.add(ObjectKey(*kind, event.object["metadata"]["namespace"], owner["name"]))

    def _reconcile(self, key: ObjectKey) -> float | None:
        owner = self._objects.get(key)
        if owner is None or owner["metadata"].get("deletionTimestamp"):
            return None
        owned = self._objects.owned(owner, kind="Pod")
        pods = [pod for pod in owned if not pod["metadata"].get("deletionTimestamp")]
        if key.kind == "Job":
            self._run(owner, pods)
        else:
            self._serve(owner, pods)
        return None

    def _serve(self, owner: Body, pods: list[Body]) -> None:
        wanted = owner["spec"].get("replicas", 1)
        print_ = _template_hash(owner)
        current = [pod for pod in pods if (pod["metadata"].get("labels") or {}).get(HASH_LABEL) == print_]
        for pod in pods:
            if pod not in current or current.index(pod) >= wanted:
                self._objects.delete(key_of(pod), manager=MANAGER)
        current = current[:wanted]
        names = {pod["metadata"]["name"] for pod in current}
        index = 0
        while len(current) < wanted:
            name = _pod_name(owner, print_, index)
            index += 1
            if name not in names:
                current.append(self._objects.create(_pod(owner, name=name, print_=print_), manager=MANAGER))
        self._report(owner, current)

    def _report(self, owner: Body, pods: Sequence[Body]) -> None:
        ready = sum(1 for pod in pods if (pod.get("status") or {}).get("phase") == "Running")
        status: Body = {
            "observedGeneration": owner["metadata"].get("generation", 1),
            "replicas": len(pods),
            "updatedReplicas": len(pods),
            "readyReplicas": ready,
            "availableReplicas": ready,
            "unavailableReplicas": len(pods) - ready,
        }
        if owner["kind"] == "StatefulSet":
            status["currentReplicas"] = status.pop("unavailableReplicas") * 0 + len(pods)
        status = {name: value for name, value in status.items() if value}
        available = {
            "type": "Available",
            "status": "True" if ready == len(pods) else "False",
            "reason": "MinimumReplicasAvailable" if ready == len(pods) else "MinimumReplicasUnavailable",
        }
        known: Body = next(iter((owner.get("status") or {}).get("conditions") or []), {})
        moved = (known.get("status") == available["status"] and known.get("lastTransitionTime")) or self._now()
        if owner["kind"] == "Deployment":
            status["conditions"] = [{**available, "lastTransitionTime": moved}]
        if status != (owner.get("status") or {}):
            self._objects.update({**owner, "status": status}, manager=MANAGER, status=True)

    def _run(self, owner: Body, pods: list[Body]) -> None:
        done = sum(1 for pod in pods if (pod.get("status") or {}).get("phase") == "Succeeded")
        wanted = owner["spec"].get("completions") or owner["spec"].get("parallelism", 1)
        limit = owner["spec"].get("parallelism", 1)
        active = len(pods) - done
        names = {pod["metadata"]["name"] for pod in pods}
        index = 0
        while active < min(limit, wanted - done):
            name = _pod_name(owner, "job", index)
            index += 1
            if name not in names:
                self._objects.create(_pod(owner, name=name, print_=""), manager=MANAGER)
                active += 1
        status: Body = {"startTime": (owner.get("status") or {}).get("startTime") or self._now()}
        status |= {name: value for name, value in (("active", active), ("succeeded", done)) if value}
        if done >= wanted:
            ended = (owner.get("status") or {}).get("completionTime") or self._now()
            status["completionTime"] = ended
            status["conditions"] = [{"type": "Complete", "status": "True", "lastTransitionTime": ended}]
        if status != (owner.get("status") or {}):
            self._objects.update({**owner, "status": status}, manager=MANAGER, status=True)


def _template_hash(owner: Mapping[str, Any]) -> str:
    return f"{fnv1a(json.dumps(owner['spec']['template'], sort_keys=True)):x}"


def _pod_name(owner: Mapping[str, Any], print_: str, index: int) -> str:
    name = owner["metadata"]["name"]
    return f"{name}-{index}" if owner["kind"] == "StatefulSet" else f"{name}-{print_}-{index}"


def _pod(owner: Mapping[str, Any], *, name: str, print_: str) -> Body:
    template = owner["spec"]["template"]
    metadata = copy.deepcopy(template.get("metadata") or {})
    labels = {**(metadata.get("labels") or {}), **({HASH_LABEL: print_} if print_ else {})}
    reference = {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": owner["metadata"]["namespace"],
            "labels": labels,
            "annotations": metadata.get("annotations") or {},
            "ownerReferences": [reference],
        },
        "spec": copy.deepcopy(template["spec"]),
    }
