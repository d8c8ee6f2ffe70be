"""Live objects are watched for what counts: edits, and the end of a job."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from gitops_vg.controller.live import LiveWatch, content_digest
from gitops_vg.errors import Expired
from gitops_vg.objects import GroupKind, ObjectKey

JOBS = GroupKind("batch.volcano.sh", "Job")
KEY = ObjectKey("batch.volcano.sh", "Job", "ml", "train")


def job(*, version: str = "1", phase: str = "Running", replicas: int = 1) -> dict[str, Any]:
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job",
        "metadata": {"name": "train", "namespace": "ml", "resourceVersion": version, "generation": 1},
        "spec": {"minAvailable": replicas}, "status": {"running": 1, "state": {"phase": phase}},
    }  # fmt: skip


@dataclass
class Event:
    type: str
    object: dict[str, Any]


@dataclass
class Server:
    """A list, and events that a test hands out."""

    items: list[dict[str, Any]] = field(default_factory=list)
    events: queue.Queue[Event | Exception] = field(default_factory=queue.Queue)
    listed: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))

    def list_with_version(self, group_kind: GroupKind) -> tuple[list[dict[str, Any]], str]:
        self.listed.release()
        return list(self.items), "1"

    def watch(self, group_kind: GroupKind, *, resource_version: str) -> Iterator[Event]:
        while True:
            event = self.events.get()
            if isinstance(event, Exception):
                raise event
            yield event


@pytest.fixture
def server() -> Server:
    return Server([job()])


@pytest.fixture
def told(server: Server) -> Iterator[queue.Queue[ObjectKey]]:
    changed: queue.Queue[ObjectKey] = queue.Queue()
    with LiveWatch(server, kinds=[JOBS], owned=lambda key: key == KEY, changed=changed.put):
        assert server.listed.acquire(timeout=5)
        yield changed
    server.events.put(Expired("end"))


def test_a_status_that_moves_is_nothing(server: Server, told: queue.Queue[ObjectKey]) -> None:
    server.events.put(Event("MODIFIED", job(version="2", phase="Pending")))
    server.events.put(Event("MODIFIED", job(version="3", replicas=2)))

    assert told.get(timeout=5) == KEY
    assert told.empty()


def test_the_end_of_a_job_is_told_at_once(server: Server, told: queue.Queue[ObjectKey]) -> None:
    server.events.put(Event("MODIFIED", job(version="2", phase="Completed")))

    assert told.get(timeout=5) == KEY


def test_a_deletion_is_told(server: Server, told: queue.Queue[ObjectKey]) -> None:
    server.events.put(Event("DELETED", job(version="2")))

    assert told.get(timeout=5) == KEY


def test_what_changed_while_nobody_watched_is_told_after_the_next_list(
    server: Server, told: queue.Queue[ObjectKey]
) -> None:
    server.items = [job(version="9", replicas=5)]
    server.events.put(Expired("too old"))

    assert told.get(timeout=5) == KEY


def test_objects_of_others_are_nothing(server: Server, told: queue.Queue[ObjectKey]) -> None:
    other = job(version="2", replicas=3)
    other["metadata"]["name"] = "theirs"
    server.events.put(Event("ADDED", other))
    server.events.put(Event("DELETED", job(version="3")))

    assert told.get(timeout=5) == KEY
    assert told.empty()


def test_bookkeeping_is_not_content() -> None:
    first, second = job(version="1"), job(version="2")
    second["metadata"] |= {"generation": 7, "managedFields": [{"manager": "x"}]}

    assert content_digest(first) == content_digest(second)
    assert content_digest(first) != content_digest(job(phase="Failed"))
