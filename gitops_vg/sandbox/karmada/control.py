"""How the controllers of the embedded control plane run: level-triggered, on one event loop.

A `Queue` holds keys whose object should be looked at; the same key waits only once, and a
failure brings it back after a growing pause. Controllers see API servers as `Objects`.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial
from typing import Any, Generic, TypeVar

from gitops_vg.apis.catalog import Kind
from gitops_vg.objects import GroupKind, ObjectKey, key_of
from gitops_vg.sandbox.api import Api
from gitops_vg.sandbox.status import StatusError
from gitops_vg.sandbox.store import Event

Body = dict[str, Any]
Key = TypeVar("Key", bound=Hashable)

MANAGER = "karmada-controller-manager"
SCHEDULER = "karmada-scheduler"

_log = logging.getLogger(__name__)


class Objects:
    """One API server as controllers see it, by name.

    What is returned belongs to the store: copy before changing. Every write raises StatusError
    when the server refuses it.
    """

    def __init__(self, api: Api) -> None:
        self.api = api

    def get(self, key: ObjectKey) -> Body | None:
        """The object, None when it (or its kind) is not there."""
        kind = self.api.catalog.of(key.group_kind)
        return None if kind is None else self.api.find(kind, key.namespace, key.name)

    def list(self, group_kind: GroupKind, *, namespace: str = "") -> Sequence[Body]:
        """All objects of a kind, none when it is not served."""
        kind = self.api.catalog.of(group_kind)
        return () if kind is None else self.api.list(kind, namespace=namespace)

    def owned(self, owner: Body, *, kind: str) -> Sequence[Body]:
        """Objects of that kind which name `owner` as their owner."""
        return [body for body in self.api.lifecycle.dependents(owner["metadata"]["uid"]) if body["kind"] == kind]

    def create(self, body: Body, *, manager: str) -> Body:
        return self.api.create(self._kind(body), body, namespace=key_of(body).namespace, manager=manager)

    def update(self, body: Body, *, manager: str, status: bool = False) -> Body:
        """Replace an object, or only its status."""
        subresource = "status" if status else ""
        namespace = key_of(body).namespace
        return self.api.update(self._kind(body), body, namespace=namespace, manager=manager, subresource=subresource)

    def delete(self, key: ObjectKey, *, manager: str = MANAGER) -> None:
        """Delete an object; one that is gone already is fine."""
        kind = self.api.kind(key.group, key.kind)
        try:
            self.api.delete(kind, key.namespace, key.name, manager=manager)
        except StatusError as error:
            if error.code != 404:
                raise

    def subscribe(self, listener: Callable[[Event], None]) -> Callable[[], None]:
        """Call `listener` with every change from now on; returns what ends that."""
        return self.api.store.subscribe(listener)

    def _kind(self, body: Body) -> Kind:
        key = key_of(body)
        return self.api.kind(key.group, key.kind)


class Pump:
    """Shares the event loop between controllers and the requests that it serves.

    Work runs in slices; between two slices the loop looks at its sockets.
    """

    SLICE = 0.002
    """Seconds of work in one go. A request passes about three turns of the loop."""

    def __init__(self) -> None:
        self._ready: deque[Callable[[], None]] = deque()
        self._running = False

    def push(self, work: Callable[[], None]) -> None:
        """Run `work` soon, after what was pushed before."""
        self._ready.append(work)
        if not self._running:
            self._running = True
            asyncio.get_running_loop().call_soon(self._run)

    def _run(self) -> None:
        loop = asyncio.get_running_loop()
        end = loop.time() + self.SLICE
        while self._ready and loop.time() < end:
            self._ready.popleft()()
        self._running = bool(self._ready)
        if self._running:
            loop.call_soon(self._run)


class Queue(Generic[Key]):
    """Keys to reconcile, one at a time between the requests that the loop serves.

    `reconcile` looks at one key; it returns seconds after which to look again, or None.
    """

    SLOWEST = 10.0
    """Longest pause between two tries of a key that fails, in seconds."""

    def __init__(self, name: str, reconcile: Callable[[Key], float | None]) -> None:
        self._name = name
        self._reconcile = reconcile
        self._waiting: dict[Key, asyncio.TimerHandle] = {}
        self._ready: set[Key] = set()
        self.pump = Pump()
        self._failures: dict[Key, int] = {}
        self._stopped = False

    def add(self, key: Key, *, after: float = 0.0) -> None:
        """Look at `key` after so many seconds; an earlier wish for the same key stands."""
        if self._stopped or key in self._ready:
            return
        if after <= 0:
            known = self._waiting.pop(key, None)
            if known is not None:
                known.cancel()
            self._push(key)
            return
        loop = asyncio.get_running_loop()
        due = loop.time() + after
        known = self._waiting.get(key)
        if known is not None:
            if known.when() <= due:
                return
            known.cancel()
        self._waiting[key] = loop.call_at(due, self._push, key)

    def _push(self, key: Key) -> None:
        self._waiting.pop(key, None)
        self._ready.add(key)
        self.pump.push(partial(self._run, key))

    def due(self, *, within: float) -> bool:
        """Whether a key is to be looked at in the next `within` seconds."""
        horizon = asyncio.get_running_loop().time() + within
        return bool(self._ready) or any(handle.when() <= horizon for handle in self._waiting.values())

    def stop(self) -> None:
        """Forget everything that waits."""
        self._stopped = True
        for handle in self._waiting.values():
            handle.cancel()
        self._waiting.clear()
        self._ready.clear()

    def _run(self, key: Key) -> None:
        if key not in self._ready:  # stopped meanwhile
            return
        self._ready.discard(key)
        try:
            again = self._reconcile(key)
        except StatusError as refusal:
            _log.debug("%s: %s: %s", self._name, key, refusal.message)
            again = self._pause(key)
        except Exception:
            # A defect of one reconciler must not stop the server that others talk to; it is told loudly.
            _log.exception("%s failed on %s", self._name, key)
            again = self._pause(key)
        else:
            self._failures.pop(key, None)
        if again is not None:
            self.add(key, after=again)

    def _pause(self, key: Key) -> float:
        tries = self._failures[key] = self._failures.get(key, 0) + 1
        return float(min(0.02 * 2**tries, self.SLOWEST))


def set_condition(status: Body, condition: Mapping[str, Any], *, now: str) -> bool:
    """Put a condition into `status["conditions"]`; its time moves only with its status. True when anything changed."""
    conditions = status.setdefault("conditions", [])
    for known in conditions:
        if known["type"] == condition["type"]:
            before = dict(known)
            if known["status"] != condition["status"]:
                known["lastTransitionTime"] = now
            known.update(condition)
            return bool(before != known)
    conditions.append({"lastTransitionTime": now, **condition})
    return True


def condition_of(body: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """The condition of that type, {} when there is none."""
    conditions = (body.get("status") or {}).get("conditions") or []
    return next((item for item in conditions if item["type"] == name), {})
