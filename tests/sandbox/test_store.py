"""The store: versions, history and what a process that died leaves on disk."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitops_vg.apis import catalog
from gitops_vg.objects import GroupKind
from gitops_vg.sandbox import StateInUse
from gitops_vg.sandbox.store import Event, Store, VersionTooNew, VersionTooOld

_KIND = catalog().of(GroupKind("", "ConfigMap"))
assert _KIND is not None
KIND = _KIND


def body(name: str, value: str = "") -> dict[str, object]:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": "n"},
        "data": {"v": value},
    }


STEPS = st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["put", "remove"])), max_size=25)


def play(store: Store, steps: list[tuple[str, str]]) -> dict[int, list[object]]:
    """Do the steps; the objects at each version."""
    seen = {store.version: store.items(KIND)}
    for number, (name, step) in enumerate(steps):
        if step == "put":
            store.put(KIND, body(name, str(number)))
        elif store.get(KIND, "n", name) is not None:
            store.remove(KIND, "n", name)
        seen[store.version] = store.items(KIND)
    return seen


@settings(max_examples=60, deadline=None)
@given(steps=STEPS)
def test_every_version_can_be_listed_as_it_was(steps):
    store = Store()

    seen = play(store, steps)

    assert {version: store.items_at(KIND, version) for version in seen} == seen


@settings(max_examples=60, deadline=None)
@given(steps=STEPS)
def test_whoever_replays_the_events_from_any_version_has_what_is_stored(steps):
    store = Store()
    seen = play(store, steps)

    for version, items in seen.items():
        copy = {item["metadata"]["name"]: item for item in items}
        for event in store.since(KIND, version):
            copy[event.object["metadata"]["name"]] = event.object
            if event.type == "DELETED":
                del copy[event.object["metadata"]["name"]]
        assert [copy[name] for name in sorted(copy)] == store.items(KIND)


def test_versions_that_were_forgotten_or_never_reached_are_refused():
    store = Store()
    first = store.version
    store.put(KIND, body("a"))
    store.forget_history()

    with pytest.raises(VersionTooOld):
        store.since(KIND, first)
    with pytest.raises(VersionTooOld):
        store.items_at(KIND, first)
    with pytest.raises(VersionTooNew):
        store.since(KIND, store.version + 1)


def test_what_a_reader_holds_never_changes():
    store = Store()
    held = store.put(KIND, body("a", "1"))
    before = json.dumps(held)

    store.put(KIND, body("a", "2"))
    store.remove(KIND, "n", "a")

    assert json.dumps(held) == before


def test_the_bytes_of_an_object_follow_its_version():
    store = Store()
    first = store.put(KIND, body("a", "1"))
    assert json.loads(store.encoded(KIND, first)) == first

    second = store.put(KIND, body("a", "2"))

    assert json.loads(store.encoded(KIND, second)) == second
    assert json.loads(store.encoded(KIND, first)) == first


def test_a_subscriber_that_left_is_told_nothing():
    store, seen = Store(), list[Event]()
    leave = store.subscribe(seen.append)
    store.put(KIND, body("a"))
    leave()
    leave()

    store.put(KIND, body("b"))

    assert [event.object["metadata"]["name"] for event in seen] == ["a"]


def test_a_restart_goes_on_after_the_last_version_even_when_that_was_a_removal(tmp_path: Path):
    store = Store(path=tmp_path / "state")
    store.put(KIND, body("a", "1"))
    store.put(KIND, body("b", "2"))
    store.remove(KIND, "n", "b")
    last, kept = store.version, store.items(KIND)
    store.close()

    again = Store(path=tmp_path / "state")

    assert (again.version, again.items(KIND)) == (last, kept)
    assert again.since(KIND, last) == []
    with pytest.raises(VersionTooOld):
        again.since(KIND, last - 1)
    again.close()


def test_one_state_belongs_to_one_process_at_a_time(tmp_path: Path):
    store = Store(path=tmp_path / "state")

    with pytest.raises(StateInUse, match="another process uses it"):
        Store(path=tmp_path / "state")

    store.close()
    Store(path=tmp_path / "state").close()


def test_a_file_that_is_no_state_is_named_and_left_alone(tmp_path: Path):
    path = tmp_path / "state"
    path.write_text("not a database, but long enough to look at" * 40)
    before = path.read_bytes()

    with pytest.raises(StateInUse, match="state: file is not a database"):
        Store(path=path)

    assert path.read_bytes() == before
