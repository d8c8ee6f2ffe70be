"""Watches the live objects we own and tells when one changed in a way that may matter.

Status, resourceVersion and bookkeeping change all the time; what counts is the content that
somebody could have edited, and the end of a job. A watch that ends or expires starts again from a complete list.
"""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Protocol

import structlog

from gitops_vg.errors import Expired, GitopsVgError
from gitops_vg.objects import GroupKind, ObjectKey, key_of
from gitops_vg.reconcile.running import ended

_LOG = structlog.get_logger(__name__)
_VOLATILE = ("managedFields", "resourceVersion", "generation")
_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 30.0


class WatchEvent(Protocol):
    """One event of a watch."""

    @property
    def type(self) -> str: ...
    @property
    def object(self) -> Mapping[str, Any]: ...


class Watched(Protocol):
    """The part of an API server that a live watch needs."""

    def list_with_version(self, group_kind: GroupKind) -> tuple[list[dict[str, Any]], str]: ...
    def watch(self, group_kind: GroupKind, *, resource_version: str) -> Iterator[WatchEvent]: ...


def content_digest(body: Mapping[str, Any]) -> str:
    """A digest of what a person could have edited, and of how a job ended.

    The end counts because it has to be written down at once: a finished job whose object goes away before
    anybody saw it finished would be run again.
    """
    metadata = {name: value for name, value in body.get("metadata", {}).items() if name not in _VOLATILE}
    content = {name: value for name, value in body.items() if name != "status"} | {"metadata": metadata}
    content["ended"] = ended(dict(body))
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


class LiveWatch:
    """Watches `kinds`; calls `changed(key)` when an owned object's content differs from when it was last seen."""

    def __init__(
        self,
        server: Watched,
        *,
        kinds: Iterable[GroupKind],
        owned: Callable[[ObjectKey], bool],
        changed: Callable[[ObjectKey], None],
    ) -> None:
        self._server = server
        self._owned = owned
        self._changed = changed
        self._stop = threading.Event()
        # Daemon threads: a watch blocks in a read until its server ends it, and stopping must not wait for that.
        self._threads = [
            threading.Thread(target=self._keep_watching, args=(kind,), name=f"watch {kind}", daemon=True)
            for kind in sorted(set(kinds))
        ]

    def __enter__(self) -> LiveWatch:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()

    def _keep_watching(self, kind: GroupKind) -> None:
        seen: dict[ObjectKey, str] | None = None
        pause = _FIRST_PAUSE
        while not self._stop.is_set():
            started = time.monotonic()
            try:
                seen, version = self._list(kind, seen=seen)
                self._follow(kind, seen=seen, version=version)
            except GitopsVgError as error:
                if time.monotonic() - started > _LONGEST_PAUSE:
                    pause = _FIRST_PAUSE  # It went well for a while.
                # Too old a version is ordinary: the next list is the answer to it.
                if not isinstance(error, Expired):
                    _LOG.warning("watch interrupted", kind=str(kind), error=error.message, again_in=pause)
                self._stop.wait(pause)
                pause = min(pause * 2, _LONGEST_PAUSE)

    def _list(self, kind: GroupKind, *, seen: dict[ObjectKey, str] | None) -> tuple[dict[ObjectKey, str], str]:
        """Digests of all objects of the kind; what changed while nobody watched is told."""
        objects, version = self._server.list_with_version(kind)
        now = {key_of(body): content_digest(body) for body in objects}
        for key in (seen or {}).keys() | now.keys() if seen is not None else ():
            if seen.get(key) != now.get(key):  # type: ignore[union-attr]
                self._tell(key)
        return now, version

    def _follow(self, kind: GroupKind, *, seen: dict[ObjectKey, str], version: str) -> None:
        for event in self._server.watch(kind, resource_version=version):
            if self._stop.is_set():
                return
            key = key_of(event.object)
            digest = "" if event.type == "DELETED" else content_digest(event.object)
            if seen.get(key, "") != digest:
                seen[key] = digest
                self._tell(key)

    def _tell(self, key: ObjectKey) -> None:
        if not self._stop.is_set() and self._owned(key):
            self._changed(key)
