"""Lists in pages, tables, watches that end or get stuck, faults on order."""

from __future__ import annotations

import http.client
import json
import socket
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager

import pytest
from sandbox_client import CONFIG_MAPS, Client, config_map

from gitops_vg.sandbox import Sandbox

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"


def names(answer) -> list[str]:
    return [item["metadata"]["name"] for item in answer["items"]]


def test_pages_show_the_state_of_the_first_page_whatever_happens_meanwhile(client: Client):
    for name in "bdfh":
        client.apply(config_map(name, x="1"))
    _, first = client.request("GET", f"{CONFIG_MAPS}?limit=2")

    client.request("DELETE", f"{CONFIG_MAPS}/h")
    client.apply(config_map("f", x="2"))
    client.apply(config_map("g", x="1"))
    _, second = client.request("GET", f"{CONFIG_MAPS}?limit=2&continue={first['metadata']['continue']}")

    assert names(first) + names(second) == list("bdfh")
    assert second["items"][0]["data"] == {"x": "1"}
    assert second["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]


def test_a_page_of_a_list_that_was_forgotten_is_gone(client: Client, sandbox: Sandbox):
    for name in "abc":
        client.apply(config_map(name))
    _, first = client.request("GET", f"{CONFIG_MAPS}?limit=1")
    client.apply(config_map("d"))
    sandbox.call(sandbox.karmada.store.forget_history)

    code, answer = client.request("GET", f"{CONFIG_MAPS}?limit=1&continue={first['metadata']['continue']}")

    assert (code, answer["reason"]) == (410, "Expired")


@pytest.mark.parametrize(
    ("selector", "found"),
    [
        ("app=a", ["a"]),
        ("app!=a", ["b", "c"]),
        ("app in (a,c)", ["a", "c"]),
        ("app notin (a,c)", ["b"]),
        ("app", ["a", "b", "c"]),
        ("!app", []),
        ("app,app!=b", ["a", "c"]),
    ],
)
def test_labels_choose(client: Client, selector, found):
    for name in "abc":
        client.apply(config_map(name))

    _, answer = client.request("GET", f"{CONFIG_MAPS}?labelSelector={selector.replace(' ', '%20')}")

    assert names(answer) == found


def test_kubectl_gets_a_table_with_the_columns_of_the_kind(client: Client):
    client.apply(config_map("a", x="1", y="2"))

    _, table = client.request("GET", CONFIG_MAPS, accept=TABLE)

    assert [column["name"] for column in table["columnDefinitions"]] == ["Name", "Data", "Age"]
    assert [row["cells"][:2] for row in table["rows"]] == [["a", 2]]


@pytest.mark.parametrize("kind", ["Node", "Pod", "Service", "Deployment", "Work", "PodGroup", "Cluster", "Secret"])
def test_objects_with_nothing_in_them_have_their_row(kind, sandbox: Sandbox):
    from gitops_vg.sandbox.tables import as_table

    known = next(known for known in sandbox.karmada.catalog.kinds() if known.kind == kind)
    bare = {"metadata": {"name": "bare", "creationTimestamp": "2026-01-01T00:00:00Z"}}

    assert as_table(known, [bare], metadata={})["rows"][0]["cells"][0] == "bare"


def test_kubectl_finds_the_path_and_the_schema_of_every_kind(client: Client, sandbox: Sandbox):
    _, index = client.request("GET", "/openapi/v3")

    for kind in sandbox.karmada.catalog.kinds():
        place = f"apis/{kind.group}/{kind.version}" if kind.group else f"api/{kind.version}"
        _, document = client.request("GET", index["paths"][place]["serverRelativeURL"])
        scope = "/namespaces/{namespace}" if kind.namespaced else ""
        verb = document["paths"][f"/{place}{scope}/{kind.plural}/{{name}}"]["patch"]
        mark = {"group": kind.group, "version": kind.version, "kind": kind.kind}
        assert verb["x-kubernetes-group-version-kind"] == mark
        assert "fieldValidation" in [parameter["name"] for parameter in verb["parameters"]]
        assert any([mark] == schema["x-kubernetes-group-version-kind"]
                   for schema in document["components"]["schemas"].values())  # fmt: skip


@contextmanager
def watch(sandbox: Sandbox, query: str) -> Iterator[http.client.HTTPResponse]:
    connection = http.client.HTTPConnection("127.0.0.1", sandbox.server.port, timeout=10)
    connection.request("GET", f"{CONFIG_MAPS}?watch=1&{query}", headers={"Authorization": f"Bearer {sandbox.token}"})
    with closing(connection), connection.getresponse() as stream:
        yield stream


def test_a_deletion_reaches_a_watch_with_the_last_state(client: Client, sandbox: Sandbox):
    _, made = client.apply(config_map("a", x="1"))

    with watch(sandbox, f"resourceVersion={made['metadata']['resourceVersion']}&timeoutSeconds=5") as stream:
        client.request("DELETE", f"{CONFIG_MAPS}/a")
        event = json.loads(stream.readline())

    assert (event["type"], event["object"]["data"]) == ("DELETED", {"x": "1"})
    assert int(event["object"]["metadata"]["resourceVersion"]) > int(made["metadata"]["resourceVersion"])


def test_a_watch_ends_when_its_time_is_up(sandbox: Sandbox):
    start = time.monotonic()

    with watch(sandbox, "timeoutSeconds=1") as stream:
        assert stream.read() == b""

    assert 0.8 < time.monotonic() - start < 4


def test_a_watcher_that_never_reads_holds_up_nobody(client: Client, sandbox: Sandbox):
    ask = f"GET {CONFIG_MAPS}?watch=1 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {sandbox.token}\r\n\r\n"
    with (
        socket.create_connection(("127.0.0.1", sandbox.server.port)) as stuck,
        watch(sandbox, "timeoutSeconds=20") as reader,
    ):
        stuck.sendall(ask.encode())

        start = time.monotonic()
        for number in range(60):
            assert client.apply(config_map("large", x=f"{number:02}" * 50_000))[0] in (200, 201)
        seen = [json.loads(reader.readline())["object"]["data"]["x"][:2] for _ in range(60)]

        assert seen == [f"{number:02}" for number in range(60)]
        assert time.monotonic() - start < 8


def test_a_fault_strikes_as_often_as_ordered_and_where_ordered(client: Client, sandbox: Sandbox):
    faults = sandbox.server.faults
    faults.fail("PATCH", CONFIG_MAPS, status=429, times=2, retry_after=3)

    codes = [client.apply(config_map("a"))[0] for _ in range(3)]

    assert codes == [429, 429, 201]
    assert client.request("GET", CONFIG_MAPS)[0] == 200


def test_a_fault_can_wait_for_the_second_page(client: Client, sandbox: Sandbox):
    for name in "abc":
        client.apply(config_map(name))
    sandbox.server.faults.fail("GET", CONFIG_MAPS, status=500, page=2)

    code, first = client.request("GET", f"{CONFIG_MAPS}?limit=2")
    rest = client.request("GET", f"{CONFIG_MAPS}?limit=2&continue={first['metadata']['continue']}")

    assert (code, rest[0]) == (200, 500)


@pytest.mark.parametrize("after", [False, True])
def test_a_dropped_connection_leaves_the_work_done_or_not_as_ordered(client: Client, sandbox: Sandbox, after):
    sandbox.server.faults.drop("PATCH", CONFIG_MAPS, after=after)

    with pytest.raises((http.client.HTTPException, ConnectionError)):
        client.apply(config_map("a"))

    client.close()
    assert client.request("GET", f"{CONFIG_MAPS}/a")[0] == (200 if after else 404)


def test_a_delayed_answer_delays_no_other(client: Client, sandbox: Sandbox):
    client.apply(config_map("slow"))
    sandbox.server.faults.delay("GET", f"{CONFIG_MAPS}/slow", seconds=1.0)
    waiting = http.client.HTTPConnection("127.0.0.1", sandbox.server.port, timeout=10)
    waiting.request("GET", f"{CONFIG_MAPS}/slow", headers={"Authorization": f"Bearer {sandbox.token}"})

    start = time.monotonic()
    assert client.request("GET", CONFIG_MAPS)[0] == 200
    assert time.monotonic() - start < 0.8

    assert waiting.getresponse().status == 200
    waiting.close()
