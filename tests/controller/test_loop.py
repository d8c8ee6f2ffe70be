"""What the loop does after which change, and after which failure."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pytest

from gitops_vg.controller.batching import Batches, Cause, Change
from gitops_vg.controller.loop import Loop, Published, Synced
from gitops_vg.controller.metrics import Heartbeat, Metrics
from gitops_vg.errors import GuardError, InputError, Unavailable


@dataclass
class Stages:
    """A fleet in memory: publishing makes a new rendered commit of each new source commit."""

    source: str = "s1"
    rendered: str = ""
    done: list[str] = field(default_factory=list)
    fail_publish: Exception | None = None
    fail_sync: list[Exception] = field(default_factory=list)

    def source_commit(self) -> str:
        return self.source

    def rendered_commit(self) -> str:
        return self.rendered

    def publish(self) -> Published:
        self.done.append(f"publish {self.source}")
        if self.fail_publish is not None:
            raise self.fail_publish
        new = f"r-{self.source}"
        changed, self.rendered = new != self.rendered, new
        return Published(commit=new if changed else "", pending=0)

    def sync(self) -> Synced:
        self.done.append(f"sync {self.rendered}")
        if self.fail_sync:
            raise self.fail_sync.pop(0)
        return Synced(actions={"create": 1}, held=0, drifted=0)


@dataclass
class Running:
    stages: Stages
    loop: Loop
    batches: Batches
    heartbeat: Heartbeat

    def until(self, condition: Callable[[], bool]) -> None:
        deadline = threading.Event()
        for _ in range(500):
            if condition():
                return
            deadline.wait(0.01)
        raise AssertionError(f"never came true; done: {self.stages.done}")


@pytest.fixture
def stages() -> Stages:
    return Stages()


@pytest.fixture
def running(stages: Stages, monkeypatch: pytest.MonkeyPatch) -> Iterator[Running]:
    monkeypatch.setattr("gitops_vg.controller.loop._FIRST_PAUSE", 0.01)
    batches = Batches(window=0.01, limit=50)
    heartbeat = Heartbeat(patience=30)
    loop = Loop(stages, batches=batches, metrics=Metrics(), heartbeat=heartbeat)
    loop._pause = 0.01
    thread = threading.Thread(target=loop.run)
    thread.start()
    yield Running(stages, loop, batches, heartbeat)
    loop.stop()
    thread.join(timeout=5)
    assert not thread.is_alive()


def test_the_first_cycle_publishes_and_syncs(running: Running) -> None:
    running.until(lambda: running.heartbeat.problem == "")

    assert running.stages.done == ["publish s1", "sync r-s1"]


def test_a_new_source_commit_is_published_and_applied(running: Running) -> None:
    running.until(lambda: running.heartbeat.problem == "")

    running.stages.source = "s2"
    running.loop.look()

    running.until(lambda: "sync r-s2" in running.stages.done)


def test_looking_without_news_does_nothing(running: Running) -> None:
    running.until(lambda: running.heartbeat.problem == "")
    before = list(running.stages.done)

    for _ in range(5):
        running.loop.look()
    threading.Event().wait(0.1)

    assert running.stages.done == before


def test_a_live_change_syncs_without_publishing(running: Running) -> None:
    running.until(lambda: running.heartbeat.problem == "")
    running.stages.done.clear()

    running.batches.put(Change(Cause.LIVE, "Queue ai-training"))

    running.until(lambda: bool(running.stages.done))
    assert running.stages.done == ["sync r-s1"]


def test_a_server_that_is_down_is_tried_again(running: Running) -> None:
    running.until(lambda: running.heartbeat.problem == "")
    running.stages.fail_sync = [Unavailable("karmada-apiserver did not answer"), Unavailable("still not")]
    running.stages.done.clear()

    running.batches.put(Change(Cause.LIVE, "x"))

    running.until(lambda: running.stages.done.count("sync r-s1") >= 3)
    running.until(lambda: running.heartbeat.problem == "")


@pytest.mark.parametrize(
    "failure",
    [InputError("3 errors in the intents", findings=()), GuardError("12 deletes held", digest="sha256:0")],
)
def test_a_wrong_source_keeps_the_committed_state_held(running: Running, failure: Exception) -> None:
    running.until(lambda: running.heartbeat.problem == "")
    running.stages.fail_publish = failure
    running.stages.source = "s2"

    running.loop.look()
    running.until(lambda: running.heartbeat.problem != "")
    running.stages.done.clear()
    running.batches.put(Change(Cause.LIVE, "x"))
    running.until(lambda: "sync r-s1" in running.stages.done)

    assert running.stages.rendered == "r-s1"
    assert running.heartbeat.problem == str(failure)
