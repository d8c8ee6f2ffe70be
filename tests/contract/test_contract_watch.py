"""Watches: the embedded server and a real kube-apiserver answer alike."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest
from realserver import Endpoint, RawClient


def config_map(name: str, **data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def place(namespace: str, name: str = "") -> str:
    return f"/api/v1/namespaces/{namespace}/configmaps" + (f"/{name}" if name else "")


def test_a_watch_tells_what_happens_in_order(client: RawClient, namespace: str) -> None:
    version = client.get(place(namespace), fieldSelector="metadata.name=a")[1]["metadata"]["resourceVersion"]
    seen: list[tuple[str, str]] = []

    def follow() -> None:
        for event in client.watch(
            place(namespace), seconds=3, resourceVersion=version, fieldSelector="metadata.name=a"
        ):
            seen.append((event["type"], event["object"].get("data", {}).get("k", "")))

    watcher = threading.Thread(target=follow)
    watcher.start()
    time.sleep(0.3)
    client.request("POST", place(namespace), body=config_map("a", k="1"))
    client.request("POST", place(namespace), body=config_map("other"))
    client.request(
        "PATCH", place(namespace, "a"), body={"data": {"k": "2"}}, content_type="application/merge-patch+json"
    )
    client.request("DELETE", place(namespace, "a"))
    watcher.join(timeout=15)

    assert seen == [("ADDED", "1"), ("MODIFIED", "2"), ("DELETED", "2")]


def test_a_watch_continues_from_a_version(client: RawClient, namespace: str) -> None:
    _, first = client.request("POST", place(namespace), body=config_map("a", k="1"))
    client.request("POST", place(namespace), body=config_map("b", k="1"))

    events = list(client.watch(place(namespace), seconds=1, resourceVersion=first["metadata"]["resourceVersion"],
                               fieldSelector="metadata.name!=kube-root-ca.crt"))  # fmt: skip

    assert [(event["type"], event["object"]["metadata"]["name"]) for event in events] == [("ADDED", "b")]


def test_an_object_that_stops_to_fit_is_deleted_for_the_watcher(client: RawClient, namespace: str) -> None:
    body = config_map("a")
    body["metadata"]["labels"] = {"tier": "x"}
    _, made = client.request("POST", place(namespace), body=body)
    client.request("PATCH", place(namespace, "a"), body={"metadata": {"labels": {"tier": "y"}}},
                   content_type="application/merge-patch+json")  # fmt: skip

    events = list(client.watch(place(namespace), seconds=1, labelSelector="tier=x",
                               resourceVersion=made["metadata"]["resourceVersion"]))  # fmt: skip

    assert [event["type"] for event in events] == ["DELETED"]


def test_a_watch_ends_with_a_bookmark_when_asked(client: RawClient, namespace: str) -> None:
    version = client.get(place(namespace))[1]["metadata"]["resourceVersion"]

    events = list(client.watch(place(namespace), seconds=2, resourceVersion=version, allowWatchBookmarks="true",
                               fieldSelector="metadata.name=nothing"))  # fmt: skip

    assert {event["type"] for event in events} <= {"BOOKMARK"}
    assert all(int(event["object"]["metadata"]["resourceVersion"]) >= int(version) for event in events)


def test_a_version_that_is_too_old_is_a_410_inside_the_stream(
    client: RawClient, namespace: str, endpoint: Endpoint, request: pytest.FixtureRequest
) -> None:
    if "real" in request.node.name:
        pytest.skip("a server that has just started still reaches back to version 1; recorded of a real one instead")
    for number in range(3):
        client.request("POST", place(namespace), body=config_map(f"c{number}"))

    events = list(client.watch(place(namespace), seconds=2, resourceVersion="1"))

    assert events[0]["type"] == "ERROR"
    assert (events[0]["object"]["code"], events[0]["object"]["reason"]) == (410, "Expired")
