"""Watches a folder, and looks again by itself: events are only hints.

Events on a single file miss renames and ConfigMap swaps, queues overflow and network mounts
send none; so the folder is watched, and whoever is told compares content for himself. A slow
poll covers what no event announces.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

from watchdog.events import FileSystemEvent, FileSystemEventHandler
from watchdog.observers import Observer

_QUIET_EVENTS = frozenset({"opened", "closed", "closed_no_write"})


class FolderWatch(FileSystemEventHandler):
    """Calls `changed` after events below `folder`, and every `poll` seconds whatever happens."""

    def __init__(self, folder: Path, *, changed: Callable[[], None], poll: float) -> None:
        self._folder = folder
        self._changed = changed
        self._poll = poll
        self._stop = threading.Event()
        self._observer = Observer()
        self._poller = threading.Thread(target=self._keep_looking, name="folder-poll", daemon=True)

    def on_any_event(self, event: FileSystemEvent) -> None:
        if event.event_type not in _QUIET_EVENTS:
            self._changed()

    def _keep_looking(self) -> None:
        while not self._stop.wait(self._poll):
            self._changed()

    def __enter__(self) -> FolderWatch:
        self._observer.schedule(self, str(self._folder), recursive=True)
        self._observer.start()
        self._poller.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._observer.stop()
        self._observer.join()
        self._poller.join()
