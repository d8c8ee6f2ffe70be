"""What the server answers to requests that are odd, large, wrong or many."""

from __future__ import annotations

import copy
import random
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from sandbox_client import CONFIG_MAPS, Client, config_map

from gitops_vg.sandbox import Sandbox
from gitops_vg.sandbox.server import MAX_BODY

DEPLOYMENT = {
    "apiVersion": "apps/v1", "kind": "Deployment",
    "metadata": {
        "name": "odd", "namespace": "default", "labels": {"a": "b"}, "annotations": {"c": "d"}, "finalizers": ["x/y"],
        "ownerReferences": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "uid": "u"}],
    },
    "spec": {
        "replicas": 1, "selector": {"matchLabels": {"a": "b"}},
        "template": {
            "metadata": {"labels": {"a": "b"}},
            "spec": {"containers": [{"name": "c", "image": "i", "env": [{"name": "x", "value": "y"}]}]},
        },
    },
}  # fmt: skip
NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {**DEPLOYMENT["metadata"], "namespace": None}, "spec": {}}
CLUSTER = {
    "apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster", "metadata": {"name": "odd"},
    "spec": {"syncMode": "Push", "taints": [{"key": "a", "effect": "NoExecute"}]},
}  # fmt: skip
ODD: tuple[Any, ...] = (None, 1, -1.5, True, "x", "", [], {}, [1], [{}], [None], {"a": {"b": None}}, [[]], 10**30)
PATCHES = ("apply-patch+yaml", "merge-patch+json", "strategic-merge-patch+json")


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from places(item, (*path, key))


def replaced(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    if not path:
        return new
    result = copy.deepcopy(value)
    parent = result
    for key in path[:-1]:
        parent = parent[key]
    parent[path[-1]] = new
    return result


@pytest.mark.parametrize(
    ("url", "body"),
    [
        ("/apis/apps/v1/namespaces/default/deployments", DEPLOYMENT),
        ("/api/v1/nodes", NODE),
        ("/apis/cluster.karmada.io/v1alpha1/clusters", CLUSTER),
    ],
)
def test_a_body_with_any_field_replaced_by_anything_is_stored_or_refused_in_words(client: Client, url, body):
    chosen = random.Random(7)
    client.request("POST", url, body)

    for path in places(body):
        for value in chosen.sample(ODD, 5):
            wrong = replaced(body, path, value)
            match chosen.choice(("POST", "PUT", *PATCHES)):
                case "POST":
                    code, answer = client.request("POST", url, wrong)
                case "PUT":
                    code, answer = client.request("PUT", f"{url}/odd", wrong)
                case patch:
                    media, target = f"application/{patch}", f"{url}/odd?fieldManager=z&force=true"
                    code, answer = client.request("PATCH", target, wrong, media=media)
            assert code < 500 or "failed to create typed patch" in answer["message"], (path, value, answer)
            assert code < 300 or answer["kind"] == "Status", (path, value, answer)

    assert client.request("GET", url)[0] == 200


@pytest.mark.parametrize(
    "raw", [b"\xff\xfe", b"{", b"a: [", b"&a [*a]", b"!!python/object:os.x {}", b"[" * 50_000, b'{"a":' * 5_000,
            b"\x00", b'{"data": NaN}', b"1: 2", b"? [a]\n: b"],
)  # fmt: skip
@pytest.mark.parametrize("media", ["json", "yaml", "apply-patch+yaml", "merge-patch+json", "json-patch+json"])
def test_what_is_no_object_is_a_bad_request(client: Client, raw, media):
    client.apply(config_map("a", x="1"))

    for method, path in (("PATCH", f"{CONFIG_MAPS}/a?fieldManager=z"), ("POST", CONFIG_MAPS)):
        code, answer = client.request(method, path, raw, media=f"application/{media}")
        assert 400 <= code < 500 or (raw == b"1: 2" and code in (200, 500)), answer
        assert answer["kind"] in ("Status", "ConfigMap")
    assert client.request("GET", f"{CONFIG_MAPS}/a")[1]["data"] == {"x": "1"}


def test_an_alias_bomb_is_refused_at_once(client: Client):
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]
    code, answer = client.request(
        "PATCH", f"{CONFIG_MAPS}/a?fieldManager=z", "\n".join(lines).encode(), media="application/apply-patch+yaml"
    )
    assert (code, answer["reason"]) == (400, "BadRequest")
    assert "excessive aliasing" in answer["message"]


def test_a_body_over_three_megabytes_is_refused_by_size(client: Client):
    code, answer = client.request("POST", CONFIG_MAPS, config_map("big", x="x" * MAX_BODY))
    client.close()  # The rest of the body is never read: the connection ends.

    assert (code, answer["reason"]) == (413, "RequestEntityTooLarge")
    assert client.request("GET", f"{CONFIG_MAPS}/big")[0] == 404


@pytest.mark.parametrize(
    ("path", "code"),
    [
        (f"{CONFIG_MAPS}?limit=x", 400),
        (f"{CONFIG_MAPS}?continue=zz", 400),
        (f"{CONFIG_MAPS}?labelSelector=a%20in%20(", 400),
        (f"{CONFIG_MAPS}?fieldSelector=data.x=1", 400),
        (f"{CONFIG_MAPS}?watch=1&timeoutSeconds=nan", 400),
        (f"{CONFIG_MAPS}?watch=1&resourceVersion=999999999", 504),
        ("/api/v1/namespaces/default/nothings", 404),
        ("/apis/nothing/v1/things", 404),
        ("/openapi/v3/apis/nothing/v1", 404),
    ],
)
def test_questions_that_make_no_sense_are_answered(client: Client, path, code):
    assert client.request("GET", path)[0] == code


@pytest.mark.parametrize(
    "options", [1, [], {"preconditions": 1}, {"preconditions": {"uid": 1}}, {"dryRun": 1}, {"dryRun": ["Some"]},
                {"propagationPolicy": "Sideways"}],
)  # fmt: skip
def test_a_deletion_with_wrong_options_deletes_nothing(client: Client, options):
    client.apply(config_map("a"))

    assert client.request("DELETE", f"{CONFIG_MAPS}/a", options)[0] == 400

    assert client.request("GET", f"{CONFIG_MAPS}/a")[0] == 200


def test_a_collection_of_all_namespaces_is_never_deleted(client: Client):
    client.apply(config_map("a"))

    assert client.request("DELETE", "/api/v1/configmaps")[0] == 405
    assert client.request("DELETE", "/api/v1/namespaces//configmaps")[0] == 405

    assert client.request("GET", f"{CONFIG_MAPS}/a")[0] == 200


def test_a_failure_of_our_own_is_a_status_and_the_server_lives_on(client: Client, sandbox: Sandbox, caplog):
    def broken(_: object) -> None:
        raise RuntimeError("a mistake of this server")

    sandbox.karmada.validating.append(broken)
    try:
        code, answer = client.request("POST", CONFIG_MAPS, config_map("a"))
    finally:
        sandbox.karmada.validating.remove(broken)

    assert (code, answer["reason"]) == (500, "InternalError")
    assert "a mistake of this server" in caplog.text
    assert client.request("POST", CONFIG_MAPS, config_map("a"))[0] == 201


def test_nobody_is_served_without_the_token(sandbox: Sandbox):
    stranger = Client(sandbox.server.port, "guessed")

    code, answer = stranger.request("GET", CONFIG_MAPS)

    assert (code, answer["reason"]) == (401, "Unauthorized")
    assert sandbox.token not in str(answer)
    stranger.close()


def test_concurrent_applies_of_one_object_lose_no_field(client: Client, sandbox: Sandbox):
    client.request("POST", CONFIG_MAPS, config_map("shared"))

    def work(number: int) -> None:
        own = Client(sandbox.server.port, sandbox.token)
        for turn in range(20):
            body = {**config_map("shared", **{f"k{number}": str(turn)})}
            assert own.apply(body, manager=f"m{number}")[0] == 200
        own.close()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert client.request("GET", f"{CONFIG_MAPS}/shared")[1]["data"] == {f"k{number}": "19" for number in range(4)}


def test_one_connection_serves_many_requests(client: Client):
    client.request("GET", "/version")
    socket = client.connection.sock

    for _ in range(20):
        client.request("GET", CONFIG_MAPS)

    assert client.connection.sock is socket
