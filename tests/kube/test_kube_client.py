"""Reads are complete or fail, writes are told apart by what happened, and every failure has its class."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import pytest

from gitops_vg.errors import (
    AlreadyExists,
    ClusterError,
    Conflict,
    Denied,
    Expired,
    Forbidden,
    KindMissing,
    NotFound,
    Rejected,
    Unavailable,
    UsageError,
    VersionConflict,
)
from gitops_vg.kube import ApiServer, connect
from gitops_vg.kube.errors import error_of
from gitops_vg.objects import GroupKind, Manifest, ObjectKey
from gitops_vg.sandbox import Sandbox

CONFIG_MAPS = GroupKind("", "ConfigMap")
PATH = "/api/v1/configmaps"


def config_map(name: str, **data: str) -> Manifest:
    return Manifest(
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"}, "data": data}
    )


def test_get_is_none_only_for_a_proven_absence(server: ApiServer, sandbox: Sandbox) -> None:
    assert server.get(config_map("nothing").key) is None
    with pytest.raises(KindMissing):
        server.get(ObjectKey("nope.example", "Nope", "", "x"))
    sandbox.server.faults.fail("GET", "/api/v1/namespaces/default/configmaps/nothing", status=403)
    with pytest.raises(Forbidden):
        server.get(config_map("nothing").key)


def test_a_list_has_every_page(server: ApiServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gitops_vg.kube.client._PAGE", 3)
    for number in range(8):
        server.apply(config_map(f"page-{number}"))

    found = server.list(CONFIG_MAPS, namespace="default")

    names = [body["metadata"]["name"] for body in found if body["metadata"]["name"].startswith("page-")]
    assert names == [f"page-{number}" for number in range(8)]
    assert all(body["kind"] == "ConfigMap" for body in found)


def test_a_list_that_breaks_in_the_middle_is_no_list(
    server: ApiServer, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gitops_vg.kube.client._PAGE", 3)
    for number in range(8):
        server.apply(config_map(f"page-{number}"))
    sandbox.server.faults.fail("GET", PATH, page=2, status=500, times=10)

    with pytest.raises(Unavailable, match="list of ConfigMap"):
        server.list(CONFIG_MAPS)


def test_a_list_that_expires_starts_anew_once(
    server: ApiServer, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gitops_vg.kube.client._PAGE", 3)
    for number in range(8):
        server.apply(config_map(f"page-{number}"))
    sandbox.server.faults.fail("GET", PATH, page=2, status=410, times=1)
    assert len(server.list(CONFIG_MAPS)) >= 8

    sandbox.server.faults.fail("GET", PATH, page=2, status=410, times=5)
    with pytest.raises(Expired):
        server.list(CONFIG_MAPS)


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_passing_failure_is_tried_again(server: ApiServer, sandbox: Sandbox, status: int) -> None:
    sandbox.server.faults.fail("PATCH", "/api/v1/namespaces/default/configmaps/again", status=status, times=2)

    assert server.apply(config_map("again", k="1"))["data"] == {"k": "1"}


def test_a_server_that_keeps_failing_is_unavailable(server: ApiServer, sandbox: Sandbox) -> None:
    sandbox.server.faults.fail("PATCH", "/api/v1/namespaces/default/configmaps/never", status=503, times=50)

    with pytest.raises(Unavailable) as failure:
        server.apply(config_map("never"))

    assert failure.value.exit_code == 4


def test_a_create_is_never_sent_twice(server: ApiServer, sandbox: Sandbox) -> None:
    body = dict(config_map("once").body)
    sandbox.server.faults.drop("POST", "/api/v1/namespaces/default/configmaps", after=True)

    with pytest.raises(Unavailable):
        server.create(body)
    with pytest.raises(AlreadyExists):
        server.create(body)


def test_an_apply_whose_answer_was_lost_is_sent_again(server: ApiServer, sandbox: Sandbox) -> None:
    sandbox.server.faults.drop("PATCH", "/api/v1/namespaces/default/configmaps/lost", after=True)

    assert server.apply(config_map("lost", k="1"))["data"] == {"k": "1"}


def test_an_undeclared_field_is_rejected_at_once(server: ApiServer, sandbox: Sandbox) -> None:
    assert server.serves(CONFIG_MAPS)
    before = sandbox.server.requests

    with pytest.raises(Rejected, match=r"\.dta: field not declared in schema"):
        server.apply(Manifest({**config_map("typo").body, "dta": {}}))

    assert sandbox.server.requests == before + 1


def test_a_missing_namespace_is_not_found_and_a_bad_value_rejected(server: ApiServer) -> None:
    body = dict(config_map("x").body)
    with pytest.raises(NotFound, match='namespaces "nowhere" not found'):
        server.apply(Manifest({**body, "metadata": {"name": "x", "namespace": "nowhere"}}))
    queue = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": {"name": "q"}}
    with pytest.raises(Rejected, match="greater than or equal to 1"):
        server.apply(Manifest({**queue, "spec": {"weight": 0}}))


def test_a_conflict_carries_every_field_and_its_manager(server: ApiServer, sandbox: Sandbox) -> None:
    kind = sandbox.karmada.kind("", "ConfigMap")
    body = dict(config_map("shared", a="1", b="1").body)
    sandbox.call(lambda: sandbox.karmada.apply(kind, "default", "shared", body, manager="helm"))

    with pytest.raises(Conflict) as conflict:
        server.apply(config_map("shared", a="2", b="2"), force=False)

    assert {(item.path, item.manager) for item in conflict.value.conflicts} == {
        (".data.a", "helm"),
        (".data.b", "helm"),
    }


def test_a_delete_never_hits_a_namesake(server: ApiServer) -> None:
    live = server.apply(config_map("named"))

    with pytest.raises(VersionConflict):
        server.delete(config_map("named").key, uid="another")
    server.delete(config_map("named").key, uid=live["metadata"]["uid"])

    assert server.get(config_map("named").key) is None
    server.delete(config_map("named").key, uid=live["metadata"]["uid"])


def test_a_watch_lasts_over_connections_and_tells_when_it_is_too_old(
    server: ApiServer, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gitops_vg.kube.client._WATCH_SECONDS", 1)
    _, version = server.list_with_version(CONFIG_MAPS)
    seen: list[str] = []

    def follow() -> None:
        for event in server.watch(CONFIG_MAPS, resource_version=version):
            seen.append(event.object["metadata"]["name"])
            if len(seen) == 2:
                return

    watcher = threading.Thread(target=follow)
    watcher.start()
    server.apply(config_map("watched-1", k=str(time.time())))
    time.sleep(1.3)
    server.apply(config_map("watched-2", k=str(time.time())))
    watcher.join(timeout=10)

    assert seen == ["watched-1", "watched-2"]
    with pytest.raises(Expired):
        next(iter(server.watch(CONFIG_MAPS, resource_version="1")))


def test_a_member_is_not_taken_for_karmada() -> None:
    with Sandbox.start(karmada=False) as sandbox:
        member = connect(kubeconfig=str(sandbox.kubeconfig), context="cluster-1")

        with pytest.raises(KindMissing, match="not a karmada-apiserver") as failure:
            member.require_karmada()

        assert "--context" in failure.value.hint


def test_a_server_that_is_down_is_unavailable_and_names_the_address() -> None:
    with Sandbox.start(karmada=False, members=()) as sandbox:
        server = connect(kubeconfig=str(sandbox.kubeconfig))
        text = sandbox.kubeconfig.read_text()
        url = sandbox.url()
    assert text

    with pytest.raises(Unavailable, match=url) as failure:
        server.list(CONFIG_MAPS)

    assert "nothing listens there" in failure.value.message


def test_a_certificate_that_is_not_trusted_is_said(tmp_path: Path) -> None:
    with Sandbox.start(karmada=False, members=()) as sandbox, Sandbox.start(karmada=False, members=()) as other:
        config = tmp_path / "mixed"
        authority = next(line for line in other.kubeconfig.read_text().splitlines() if "authority" in line)
        own = next(line for line in sandbox.kubeconfig.read_text().splitlines() if "authority" in line)
        config.write_text(sandbox.kubeconfig.read_text().replace(own, authority))

        with pytest.raises(Unavailable, match="certificate is not trusted"):
            connect(kubeconfig=str(config)).list(CONFIG_MAPS)


@pytest.mark.parametrize(
    ("content", "context", "expected"),
    [
        (None, None, "no usable kubeconfig"),
        ("{not yaml: [", None, "cannot be read|no usable kubeconfig"),
        ("apiVersion: v1\nkind: Config\n", None, "no usable kubeconfig|cannot be read"),
    ],
)
def test_a_kubeconfig_that_cannot_be_used_is_a_usage_error(
    tmp_path: Path, content: str | None, context: str | None, expected: str
) -> None:
    path = tmp_path / "kubeconfig"
    if content is not None:
        path.write_text(content)

    with pytest.raises(UsageError, match=expected):
        connect(kubeconfig=str(path), context=context)


def test_an_unknown_context_is_named(sandbox: Sandbox) -> None:
    with pytest.raises(UsageError, match="has no context elsewhere"):
        connect(kubeconfig=str(sandbox.kubeconfig), context="elsewhere")


def status_body(**fields: Any) -> bytes:
    import json

    return json.dumps({"kind": "Status", "status": "Failure", **fields}).encode()


@pytest.mark.parametrize(
    ("status", "fields", "expected"),
    [
        (400, {"message": "bad", "reason": "BadRequest"}, Rejected),
        (401, {"message": "Unauthorized"}, Forbidden),
        (403, {"message": 'admission webhook "x" denied the request: no'}, Denied),
        (403, {"message": 'queues is forbidden: User "x" cannot delete'}, Forbidden),
        (404, {"message": 'queues "q" not found', "details": {"name": "q"}}, NotFound),
        (404, {"message": "the server could not find the requested resource"}, KindMissing),
        (409, {"message": "exists", "reason": "AlreadyExists"}, AlreadyExists),
        (409, {"message": "modified", "reason": "Conflict"}, VersionConflict),
        (410, {"message": "too old", "reason": "Expired"}, Expired),
        (415, {"message": "media"}, Rejected),
        (422, {"message": "invalid", "reason": "Invalid"}, Rejected),
        (429, {"message": "slow down"}, Unavailable),
        (500, {"message": "failed to create typed patch object (a/b): .x: field not declared in schema"}, Rejected),
        (500, {"message": "etcd"}, Unavailable),
        (503, {"message": "starting"}, Unavailable),
    ],
)
def test_every_answer_has_its_class(status: int, fields: dict[str, Any], expected: type[ClusterError]) -> None:
    error = error_of(status, status_body(**fields), {}, what="apply X")

    assert type(error) is expected
    assert error.message.startswith("apply X")


def test_an_answer_never_brings_a_secret_or_a_flood() -> None:
    leaked = error_of(400, status_body(message="bad Bearer abcdefghijklmnop.qrst token=supersecretvalue"), {}, what="x")
    flood = error_of(400, status_body(message="a" * 100_000), {}, what="x")
    page = error_of(502, b"<html>secret proxy page</html>", {}, what="x")

    assert "abcdefghijklmnop" not in leaked.message
    assert "supersecretvalue" not in leaked.message
    assert len(flood.message) < 1000
    assert "secret" not in page.message
