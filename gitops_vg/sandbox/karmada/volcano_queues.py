"""Volcano's queue controller in a member: the root and default queues, states and parents."""

from __future__ import annotations

from collections.abc import Callable

from gitops_vg.objects import ObjectKey, key_of
from gitops_vg.sandbox.karmada.control import Body, Objects, Queue
from gitops_vg.sandbox.karmada.placing import QUEUE
from gitops_vg.sandbox.store import Event

MANAGER = "vc-controller-manager"
STATE_MANAGER = "queue-controller"
_ADOPT_AFTER = 0.1
"""Seconds until a queue without a parent is given one. Real Volcano does it at once and so fights Karmada
for the field without end (79 writes a second were seen); ten a second show the same."""


class VolcanoQueues:
    """Opens queues and puts those without a parent under root."""

    def __init__(self, objects: Objects, *, now: Callable[[], str]) -> None:
        self._objects = objects
        self._now = now
        self._queues: Queue[ObjectKey] = Queue("volcano-queues", self._reconcile)
        self.queues = (self._queues,)

    def start(self) -> None:
        """Volcano brings two queues of its own."""
        for name, parent in (("root", ""), ("default", "root")):
            body: Body = {
                "apiVersion": "scheduling.volcano.sh/v1beta1",
                "kind": "Queue",
                "metadata": {"name": name},
                "spec": {"weight": 1, "reclaimable": name == "default", **({"parent": parent} if parent else {})},
            }
            if self._objects.get(key_of(body)) is None:
                self._objects.create(body, manager=MANAGER)

    def on_event(self, event: Event) -> None:
        if event.kind.group_kind == QUEUE and event.type != "DELETED":
            spec_changed = event.old is None or event.old.get("spec") != event.object.get("spec")
            if spec_changed:
                self._queues.add(key_of(event.object), after=0.0 if event.old is None else _ADOPT_AFTER)

    def _reconcile(self, key: ObjectKey) -> float | None:
        queue = self._objects.get(key)
        if queue is None:
            return None
        if not queue["spec"].get("parent") and key.name != "root":
            queue = self._objects.update({**queue, "spec": {**queue["spec"], "parent": "root"}}, manager=MANAGER)
        if not (queue.get("status") or {}).get("state"):
            kind = self._objects.api.kind(QUEUE.group, QUEUE.kind)
            body = {
                "apiVersion": queue["apiVersion"],
                "kind": "Queue",
                "metadata": {"name": key.name},
                "status": {"state": "Open"},
            }
            self._objects.api.apply(kind, "", key.name, body, manager=STATE_MANAGER, force=True, subresource="status")
        return None
