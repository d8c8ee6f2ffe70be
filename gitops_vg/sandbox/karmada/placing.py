"""The schedulers and kubelets of a member: pods get nodes, run, and end after their time.

Gangs go whole or not at all, in the order of priority and age; single pods go where they fit.
"""

from __future__ import annotations

import copy
import uuid
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from gitops_vg.objects import GroupKind, ObjectKey, key_of
from gitops_vg.sandbox.karmada.control import Body, Objects, Queue
from gitops_vg.sandbox.karmada.fitting import Room
from gitops_vg.sandbox.karmada.resources import Quantities, canonical, parse_quantity, pod_requests, takes_room
from gitops_vg.sandbox.karmada.volcano_jobs import GROUP_ANNOTATION, POD, POD_GROUP
from gitops_vg.sandbox.store import Event

SCHEDULER = "vc-scheduler"
KUBELET = "kubelet"
QUEUE = GroupKind("scheduling.volcano.sh", "Queue")
_PASS = "pass"
_SETTLE = 0.2
"""Period of the scheduler in seconds (Volcano's own is one): a burst of news is one pass."""


@dataclass
class _Ledger:
    """Minimum amounts of the groups that were let in, in all and by queue, against what the cluster has."""

    limits: Quantities
    total: Quantities = field(default_factory=dict)
    queues: dict[str, Quantities] = field(default_factory=dict)

    def add(self, need: Quantities, *, queue: str) -> None:
        for amounts in (self.total, self.queues.setdefault(queue, {})):
            for name, value in need.items():
                amounts[name] = amounts.get(name, Fraction(0)) + value

    def admits(self, need: Quantities, *, queue: str, capability: Mapping[str, str]) -> bool:
        mine = self.queues.get(queue, {})
        return all(
            self.total.get(name, Fraction(0)) + value <= self.limits.get(name, Fraction(0))
            for name, value in need.items()
        ) and all(
            mine.get(name, Fraction(0)) + need.get(name, Fraction(0)) <= parse_quantity(text)
            for name, text in capability.items()
        )


class Placing:
    """One scheduling pass whenever something may fit now, and the life of pods after it."""

    def __init__(self, objects: Objects, *, now: Callable[[], str], job_seconds: float) -> None:
        self._objects = objects
        self._now = now
        self._job_seconds = job_seconds
        self._passes: Queue[str] = Queue("placing", self._pass)
        self._ends: Queue[tuple[ObjectKey, str]] = Queue("kubelet", self._finish)
        self.queues = (self._passes, self._ends)

    def on_event(self, event: Event) -> None:
        kind = event.kind.group_kind
        if kind == POD:
            if event.type == "DELETED" or not takes_room(event.object):
                self._passes.add(_PASS, after=_SETTLE)
            elif event.old is None or not takes_room(event.old):
                self._started(event.object)
        elif kind in (POD_GROUP, GroupKind("", "Node"), QUEUE) and _matters(event):
            self._passes.add(_PASS, after=_SETTLE)

    def _started(self, pod: Mapping[str, Any]) -> None:
        """A pod of a job ends well after its time; a service's runs on."""
        if pod["spec"].get("restartPolicy") in ("OnFailure", "Never"):
            self._ends.add((key_of(pod), pod["metadata"]["uid"]), after=self._job_seconds)

    def _finish(self, item: tuple[ObjectKey, str]) -> float | None:
        key, uid = item
        pod = self._objects.get(key)
        if pod is None or pod["metadata"]["uid"] != uid or not takes_room(pod):
            return None
        status = copy.deepcopy(pod.get("status") or {})
        status["phase"] = "Succeeded"
        status.pop("containerStatuses", None)
        self._objects.update({**pod, "status": status}, manager=KUBELET, status=True)
        return None

    # ------------------------------------------------------------------ a pass

    def _pass(self, _: str) -> float | None:
        nodes, pods = self._objects.list(GroupKind("", "Node")), self._objects.list(POD)
        room = Room.of(nodes, pods)
        groups: dict[ObjectKey, list[Body]] = {}
        waiting = []
        for pod in pods:
            if pod["metadata"].get("deletionTimestamp"):
                continue
            name = (pod["metadata"].get("annotations") or {}).get(GROUP_ANNOTATION)
            if name:
                key = ObjectKey(POD_GROUP.group, POD_GROUP.kind, pod["metadata"]["namespace"], name)
                groups.setdefault(key, []).append(pod)
            elif not pod["spec"].get("nodeName") and (pod.get("status") or {}).get("phase") in (None, "Pending"):
                waiting.append(pod)
        ordered = self._in_order()
        ledger = _Ledger(limits=_offered(nodes))
        for group in ordered:
            if (group.get("status") or {}).get("phase") in ("Inqueue", "Running"):
                ledger.add(_minimum(group), queue=group["spec"].get("queue", "default"))
        for group in ordered:
            members = groups.get(key_of(group), [])
            group = self._enqueue(group, ledger)
            if (group.get("status") or {}).get("phase") in ("Inqueue", "Running"):
                self._place_gang(group, members, room)
        for pod in waiting:
            self._place_one(pod, room)
        self._account()
        return None

    def _in_order(self) -> list[Body]:
        """PodGroups that are not over, by priority, then by age."""
        open_ = [
            group for group in self._objects.list(POD_GROUP) if (group.get("status") or {}).get("phase") != "Completed"
        ]
        return sorted(
            open_,
            key=lambda group: (
                -self._priority(group["spec"].get("priorityClassName", "")),
                group["metadata"]["creationTimestamp"],
                group["metadata"]["name"],
            ),
        )

    def _priority(self, name: str) -> int:
        found = self._objects.get(ObjectKey("scheduling.k8s.io", "PriorityClass", "", name)) if name else None
        return 0 if found is None else int(found["value"])

    def _enqueue(self, group: Body, ledger: _Ledger) -> Body:
        """A group is let in when the whole cluster and its queue could hold its minimum beside those let in."""
        phase = (group.get("status") or {}).get("phase", "")
        if phase in ("Inqueue", "Running"):
            return group
        name = group["spec"].get("queue", "default")
        queue = self._objects.get(ObjectKey(QUEUE.group, QUEUE.kind, "", name))
        capability = ((queue or {}).get("spec") or {}).get("capability") or {}
        need = _minimum(group)
        fits = ledger.admits(need, queue=name, capability=capability)
        wanted = "Inqueue" if fits else "Pending"
        if fits:
            ledger.add(need, queue=name)
        if wanted == phase:
            return group
        return self._store_group(group, {**(group.get("status") or {}), "phase": wanted})

    def _place_gang(self, group: Body, members: Sequence[Body], room: Room) -> None:
        waiting = [pod for pod in members if not pod["spec"].get("nodeName")]
        if not waiting:
            return
        running = len(members) - len(waiting)
        trial = room.copy()
        # The largest pods first, so that they find the large holes.
        ordered = sorted(waiting, key=lambda pod: (-pod_requests(pod["spec"]).get("cpu", 0), pod["metadata"]["name"]))
        chosen = [(pod, node) for pod in ordered if (node := trial.place(pod))]
        if running + len(chosen) < group["spec"].get("minMember", 0):
            self._refuse(group, waiting, room)
            return
        room.free = trial.free
        for pod, node in chosen:
            self._bind(pod, node)
        status = {"phase": "Running", "running": running + len(chosen)}
        self._store_group(group, status)

    def _refuse(self, group: Body, waiting: Sequence[Body], room: Room) -> None:
        """Say in the group and in its pods why the gang waits."""
        words = {pod["metadata"]["name"]: room.reasons(pod) for pod in waiting}
        for pod in waiting:
            self._unschedulable(pod, words[pod["metadata"]["name"]])
        count, first = len(waiting), sorted(words)[0]
        message = (
            f"{count}/{count} tasks in gang unschedulable: pod group is not ready, {count} Pending, "
            f"{group['spec'].get('minMember', 0)} minAvailable; Pending: {count} Unschedulable. "
            f"Origin reason is {first}: {words[first]}"
        )
        status = copy.deepcopy(group.get("status") or {})
        known: Body = next(iter(status.get("conditions") or []), {})
        if known.get("message") == message:
            return
        status["conditions"] = [
            {
                "type": "Unschedulable",
                "status": "True",
                "reason": "NotEnoughResources",
                "message": message,
                "transitionID": str(uuid.uuid4()),
                "lastTransitionTime": self._now(),
            }
        ]
        self._store_group(group, status)

    def _place_one(self, pod: Body, room: Room) -> None:
        node = room.place(pod)
        if node:
            self._bind(pod, node)
        else:
            self._unschedulable(pod, room.reasons(pod))

    def _unschedulable(self, pod: Body, message: str) -> None:
        status = copy.deepcopy(pod.get("status") or {})
        condition = {
            "type": "PodScheduled",
            "status": "False",
            "lastProbeTime": None,
            "lastTransitionTime": self._now(),
            "reason": "Unschedulable",
            "message": message,
        }
        known: Body = next(iter(status.get("conditions") or []), {})
        if known.get("message") != message:
            status = {**status, "phase": "Pending", "conditions": [condition]}
            self._objects.update({**pod, "status": status}, manager=SCHEDULER, status=True)

    def _bind(self, pod: Body, node: str) -> None:
        """Give the pod its node; it runs at once."""
        bound = self._objects.update({**pod, "spec": {**pod["spec"], "nodeName": node}}, manager=SCHEDULER)
        now = self._now()
        ready = [
            {"type": name, "status": "True", "lastTransitionTime": now}
            for name in ("PodScheduled", "Initialized", "ContainersReady", "Ready")
        ]
        status = {"phase": "Running", "startTime": now, "conditions": ready}
        self._objects.update({**bound, "status": status}, manager=KUBELET, status=True)

    def _store_group(self, group: Body, status: Body) -> Body:
        # A PodGroup has no status subresource: its status is written like the rest.
        return self._objects.update({**group, "status": status}, manager=SCHEDULER)

    def _account(self) -> None:
        """Write to each queue what its pods take."""
        used: dict[str, Quantities] = {}
        counts: Counter[str] = Counter()
        for pod in self._objects.list(POD):
            queue = (pod["metadata"].get("labels") or {}).get("volcano.sh/queue-name")
            if queue and takes_room(pod):
                counts[queue] += 1
                for name, value in pod_requests(pod["spec"]).items():
                    amounts = used.setdefault(queue, {})
                    amounts[name] = amounts.get(name, Fraction(0)) + value
        for queue in self._objects.list(QUEUE):
            amounts = used.get(queue["metadata"]["name"], {})
            allocated = {
                name: canonical(amounts.get(name, Fraction(0)), binary=name == "memory")
                for name in sorted({"cpu", "memory", *amounts})
            }
            if counts[queue["metadata"]["name"]]:
                allocated["pods"] = str(counts[queue["metadata"]["name"]])
            status = {"reservation": {}, **(queue.get("status") or {}), "allocated": allocated}
            if status != queue.get("status") and (queue.get("status") or {}).get("state"):
                self._objects.update({**queue, "status": status}, manager=SCHEDULER, status=True)


def _matters(event: Event) -> bool:
    """Whether more than bookkeeping changed: our own status writes must not wake another pass."""
    if event.old is None or event.type == "DELETED":
        return True
    if event.object.get("spec") != event.old.get("spec"):
        return True
    if event.kind.group_kind == QUEUE:
        return bool((event.object.get("status") or {}).get("state") != (event.old.get("status") or {}).get("state"))
    if event.kind.group_kind == POD_GROUP:
        return (event.object.get("status") or {}).get("phase") == "Completed"
    return (event.object.get("status") or {}).get("allocatable") != (event.old.get("status") or {}).get("allocatable")


def _minimum(group: Mapping[str, Any]) -> Quantities:
    return {name: parse_quantity(text) for name, text in (group["spec"].get("minResources") or {}).items()}


def _offered(nodes: Sequence[Mapping[str, Any]]) -> Quantities:
    total: Quantities = {}
    for node in nodes:
        for name, text in ((node.get("status") or {}).get("allocatable") or {}).items():
            total[name] = total.get(name, Fraction(0)) + parse_quantity(text)
    return total
