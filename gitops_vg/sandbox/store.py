"""Objects of one API server: by name, with versions, history for watches, and optionally on disk.

Stored objects are never changed in place: whoever changes one puts a new one, so readers may hold
what they got. All access happens in the one event loop.
"""

from __future__ import annotations

import json
import sqlite3
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from gitops_vg.apis.catalog import Kind
from gitops_vg.objects import GroupKind

Object = dict[str, Any]
EventType = Literal["ADDED", "MODIFIED", "DELETED"]
Name = tuple[str, str]
"""Namespace ("" for cluster-scoped kinds) and name."""

_FIRST_VERSION = 100
"""Versions below are those of a start-up that nobody saw: a watch from there is too old, as on a real server."""

HISTORY = 20_000
"""Events that are kept for watches which start from an older version."""


class VersionTooOld(Exception):
    """The history does not reach back to this version: list again."""


class VersionTooNew(Exception):
    """Nothing has this version yet: whoever names it saw another server."""


class StateInUse(Exception):
    """The state on disk cannot be used: another process has it, or it is no state of ours."""


@dataclass(frozen=True)
class Event:
    """One change; `old` is None for an added object."""

    type: EventType
    kind: Kind
    object: Object
    old: Object | None
    version: int


Subscriber = Callable[[Event], None]


class Store:
    """All objects of one API server. `path` names an SQLite file that outlives the process."""

    def __init__(self, *, path: Path | None = None) -> None:
        self._objects: dict[GroupKind, dict[Name, Object]] = {}
        self._encoded: dict[GroupKind, dict[Name, bytes]] = {}
        self._history: deque[Event] = deque(maxlen=HISTORY)
        self._subscribers: list[Subscriber] = []
        self._oldest = _FIRST_VERSION
        self.version = _FIRST_VERSION
        self._disk = _Disk(path) if path is not None else None
        if self._disk is not None:
            for group_kind, name, body in self._disk.load():
                self._objects.setdefault(group_kind, {})[name] = body
            self.version = max(self.version, self._disk.version())
            self._oldest = self.version

    def get(self, kind: Kind, namespace: str, name: str) -> Object | None:
        """The stored object; it must not be changed."""
        return self._objects.get(kind.group_kind, {}).get((namespace if kind.namespaced else "", name))

    def items(self, kind: Kind, *, namespace: str = "") -> list[Object]:
        """All objects of a kind, by namespace and name."""
        known = self._objects.get(kind.group_kind, {})
        return [known[name] for name in sorted(known) if not namespace or name[0] == namespace]

    def items_at(self, kind: Kind, version: int, *, namespace: str = "") -> list[Object]:
        """All objects of a kind as they were at `version`, by namespace and name. Raises VersionTooOld."""
        if version < self._oldest:
            raise VersionTooOld
        known = dict(self._objects.get(kind.group_kind, {}))
        for event in reversed(self._history):
            if event.version <= version:
                break
            if event.kind is not kind:
                continue
            if event.old is None:
                known.pop(name_of(kind, event.object), None)
            else:
                known[name_of(kind, event.object)] = event.old
        return [known[name] for name in sorted(known) if not namespace or name[0] == namespace]

    def count(self, kind: Kind) -> int:
        return len(self._objects.get(kind.group_kind, {}))

    def encoded(self, kind: Kind, body: Object) -> bytes:
        """The object's JSON, made once a version."""
        name = name_of(kind, body)
        cache = self._encoded.setdefault(kind.group_kind, {})
        if self._objects.get(kind.group_kind, {}).get(name) is not body:
            return _encode(body)
        text = cache.get(name)
        if text is None:
            text = cache[name] = _encode(body)
        return text

    def put(self, kind: Kind, body: Object) -> Object:
        """Store an object under its name with the next version; tell everybody."""
        self.version += 1
        body = {**body, "metadata": {**body["metadata"], "resourceVersion": str(self.version)}}
        name = name_of(kind, body)
        known = self._objects.setdefault(kind.group_kind, {})
        old = known.get(name)
        known[name] = body
        self._encoded.get(kind.group_kind, {}).pop(name, None)
        if self._disk is not None:
            self._disk.put(kind.group_kind, name, body, version=self.version)
        self._tell(Event("MODIFIED" if old is not None else "ADDED", kind, body, old, self.version))
        return body

    def remove(self, kind: Kind, namespace: str, name: str) -> Object:
        """Drop an object that is there; its last state carries the version of the removal."""
        self.version += 1
        key = (namespace if kind.namespaced else "", name)
        old = self._objects[kind.group_kind].pop(key)
        self._encoded.get(kind.group_kind, {}).pop(key, None)
        last = {**old, "metadata": {**old["metadata"], "resourceVersion": str(self.version)}}
        if self._disk is not None:
            self._disk.remove(kind.group_kind, key, version=self.version)
        self._tell(Event("DELETED", kind, last, old, self.version))
        return last

    def subscribe(self, callback: Subscriber) -> Callable[[], None]:
        """Call `callback` with every event from now on; returns what ends that."""
        self._subscribers.append(callback)
        return lambda: self._subscribers.remove(callback) if callback in self._subscribers else None

    def since(self, kind: Kind, version: int) -> list[Event]:
        """Events of a kind after `version`. Raises VersionTooOld, VersionTooNew."""
        if version > self.version:
            raise VersionTooNew
        if version < self._oldest:
            raise VersionTooOld
        return [event for event in self._history if event.version > version and event.kind == kind]

    def _tell(self, event: Event) -> None:
        if len(self._history) == HISTORY:
            self._oldest = self._history[0].version
        self._history.append(event)
        for subscriber in tuple(self._subscribers):
            subscriber(event)

    def forget_history(self) -> None:
        """Compact: watches from older versions have to list again."""
        self._history.clear()
        self._oldest = self.version

    def close(self) -> None:
        if self._disk is not None:
            self._disk.close()


def _encode(body: Object) -> bytes:
    """JSON that begins with the type, so that a list can leave it out."""
    head = {name: body[name] for name in ("apiVersion", "kind") if name in body}
    return json.dumps({**head, **body}, separators=(",", ":")).encode()


def name_of(kind: Kind, body: Object) -> Name:
    metadata = body["metadata"]
    return (metadata.get("namespace", "") if kind.namespaced else "", metadata["name"])


class _Disk:
    """One SQLite file; every change is a transaction, so a kill loses nothing that was answered.

    The version is stored with each change: after a restart it goes on, and never names two states.
    """

    def __init__(self, path: Path) -> None:
        self._connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=0.5)
        try:
            # Two servers on one state would tell each other nothing of their writes.
            self._connection.execute("PRAGMA locking_mode=EXCLUSIVE")
            self._connection.execute("PRAGMA journal_mode=WAL")
            self._connection.execute("PRAGMA synchronous=NORMAL")
            self._connection.execute(
                "CREATE TABLE IF NOT EXISTS objects (api_group TEXT, kind TEXT, namespace TEXT, name TEXT, body TEXT, "
                "PRIMARY KEY (api_group, kind, namespace, name))"
            )
            self._connection.execute("CREATE TABLE IF NOT EXISTS version (id INTEGER PRIMARY KEY, version INTEGER)")
            self._connection.execute("INSERT OR IGNORE INTO version VALUES (1, 0)")
        except sqlite3.DatabaseError as error:
            self._connection.close()
            why = "another process uses it" if "locked" in str(error) else str(error)
            raise StateInUse(f"{path.name}: {why}") from error

    def load(self) -> Iterator[tuple[GroupKind, Name, Object]]:
        rows = self._connection.execute("SELECT api_group, kind, namespace, name, body FROM objects")
        for group, kind, namespace, name, body in rows:
            yield GroupKind(group, kind), (namespace, name), json.loads(body)

    def version(self) -> int:
        """The version of the last change."""
        (version,) = self._connection.execute("SELECT version FROM version").fetchone()
        return int(version)

    def put(self, group_kind: GroupKind, name: Name, body: Object, *, version: int) -> None:
        row = (*group_kind, *name, json.dumps(body, separators=(",", ":")))
        self._change("INSERT OR REPLACE INTO objects VALUES (?, ?, ?, ?, ?)", row, version)

    def remove(self, group_kind: GroupKind, name: Name, *, version: int) -> None:
        where = "api_group=? AND kind=? AND namespace=? AND name=?"
        self._change(f"DELETE FROM objects WHERE {where}", (*group_kind, *name), version)

    def _change(self, statement: str, values: tuple[str, ...], version: int) -> None:
        self._connection.execute("BEGIN")
        self._connection.execute(statement, values)
        self._connection.execute("UPDATE version SET version=?", (version,))
        self._connection.execute("COMMIT")

    def close(self) -> None:
        self._connection.close()
