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
from gitops_vg.kube import ApiServer, Transport, connect
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


# ---------------------------------------------------------------- answers that must not be believed


class Scripted:
    """A transport that gives prepared answers by path, and keeps what was asked."""

    host = "https://scripted"

    def __init__(self, answers: dict[str, Any]) -> None:
        self.answers = answers
        self.asked: list[str] = []
        self.pauses: list[float] = []

    def request(self, method: str, path: str, **_: Any) -> Any:
        self.asked.append(f"{method} {path}")
        answer = self.answers[path]
        if isinstance(answer, Exception):
            raise answer
        return answer

    def lines(self, path: str, **_: Any) -> Any:
        self.asked.append(f"WATCH {path}")
        return iter(self.answers[f"watch {path}"].pop(0))

    def pause(self, seconds: float) -> None:
        self.pauses.append(seconds)


def groups(*items: dict[str, Any]) -> dict[str, Any]:
    return {"kind": "APIGroupDiscoveryList", "items": list(items)}


def group(name: str, *versions: str, kind: str, plural: str, freshness: str = "Current") -> dict[str, Any]:
    resource = {"resource": plural, "responseKind": {"kind": kind}, "scope": "Namespaced", "verbs": ["list", "get"]}
    return {
        "metadata": {"name": name},
        "versions": [
            {"version": version, "resources": [] if freshness == "Stale" else [resource], "freshness": freshness}
            for version in versions
        ],
    }


def test_a_group_that_does_not_answer_is_unknown_and_not_absent() -> None:
    stale = group("cluster.karmada.io", "v1alpha1", kind="Cluster", plural="clusters", freshness="Stale")
    server = ApiServer(Scripted({"/api": groups(), "/apis": groups(stale)}))  # type: ignore[arg-type]

    with pytest.raises(Unavailable, match=r"cluster\.karmada\.io does not answer"):
        server.list(GroupKind("cluster.karmada.io", "Cluster"))
    with pytest.raises(Unavailable):
        server.namespaced_kinds()
    assert not server.serves(GroupKind("other.io", "Kind"))


def test_a_404_of_a_type_that_is_served_proves_nothing() -> None:
    jobs = group("batch.volcano.sh", "v1alpha1", kind="Job", plural="jobs")
    missing = error_of(404, b"404 page not found", {}, what="list of Job")
    answers = {"/api": groups(), "/apis": groups(jobs), "/apis/batch.volcano.sh/v1alpha1/jobs": missing}
    kind = GroupKind("batch.volcano.sh", "Job")

    with pytest.raises(Unavailable, match="answers 404"):
        ApiServer(Scripted(answers)).list(kind)  # type: ignore[arg-type]

    server = ApiServer(Scripted(answers))  # type: ignore[arg-type]
    assert server.serves(kind)
    answers["/apis"] = groups()
    with pytest.raises(KindMissing):
        server.list(kind)


def test_a_manifest_goes_to_its_own_version_and_an_unserved_version_is_named() -> None:
    scaler = group("autoscaling", "v2", "v1", kind="HorizontalPodAutoscaler", plural="horizontalpodautoscalers")
    path = "/apis/autoscaling/v1/namespaces/ml/horizontalpodautoscalers/x"
    transport = Scripted({"/api": groups(), "/apis": groups(scaler), path: {"done": True}})
    server = ApiServer(transport)  # type: ignore[arg-type]
    body = {"apiVersion": "autoscaling/v1", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "x", "namespace": "ml"}}  # fmt: skip

    assert server.apply(Manifest(body)) == {"done": True}
    with pytest.raises(KindMissing, match="as autoscaling/v2, autoscaling/v1, not as autoscaling/v2beta2"):
        server.apply(Manifest({**body, "apiVersion": "autoscaling/v2beta2"}))


def test_a_server_that_ends_watches_at_once_is_not_asked_in_a_tight_loop() -> None:
    maps = {"metadata": {"name": ""}, "versions": group("", "v1", kind="ConfigMap", plural="configmaps")["versions"]}
    event = b'{"type": "ADDED", "object": {"metadata": {"name": "a", "resourceVersion": "7"}}}'
    transport = Scripted({"/api": groups(maps), "/apis": groups(), f"watch {PATH}": [[], [], [event]]})

    found = next(iter(ApiServer(transport).watch(CONFIG_MAPS, resource_version="1")))  # type: ignore[arg-type]

    assert found.object["metadata"]["name"] == "a"
    assert len(transport.pauses) == 2
    assert all(pause > 0.9 for pause in transport.pauses)


def test_the_value_of_a_secret_is_never_in_an_error(server: ApiServer) -> None:
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": "default"}}

    for bad in ({"data": {"p": {"hunter2": 1}}}, {"dta": "hunter2"}):
        with pytest.raises(ClusterError) as failure:
            server.apply(Manifest({**secret, **bad}))
        assert "hunter2" not in f"{failure.value} {failure.value.message} {failure.value.hint}"


def test_a_namespace_that_ends_is_waited_for_and_no_matter_of_permissions() -> None:
    message = 'configmaps "a" is forbidden: unable to create new content in namespace ml because it is being terminated'

    error = error_of(403, status_body(message=message, reason="Forbidden"), {}, what="apply ConfigMap ml/a")

    assert type(error) is Denied
    assert "wait" in error.hint


def test_certificates_that_are_none_are_a_usage_error(sandbox: Sandbox, tmp_path: Path) -> None:
    lines = sandbox.kubeconfig.read_text().splitlines()
    authority = next(line for line in lines if "certificate-authority" in line)
    indent = authority[: len(authority) - len(authority.lstrip())]
    path = tmp_path / "garbage"
    path.write_text(
        sandbox.kubeconfig.read_text().replace(authority, f"{indent}certificate-authority-data: bm90IGEgY2VydA==")
    )

    with pytest.raises(UsageError, match=r"certificates in .* cannot be used"):
        connect(kubeconfig=str(path))


@pytest.mark.parametrize("value", ["0", "1", "999999", "soon", "-5", ""])
def test_a_wish_to_wait_is_honoured_within_reason(value: str) -> None:
    slept: list[float] = []

    class Pool:
        def request(self, *_: Any, **__: Any) -> Any:
            return type("R", (), {"status": 429, "data": b"{}", "headers": {"Retry-After": value}})()

    transport = Transport(host="https://x", pool=Pool(), headers=dict, sleep=slept.append)

    with pytest.raises(Unavailable):
        transport.request("GET", "/x", what="read x")

    assert len(slept) == 3
    assert all(0 < pause <= 5 for pause in slept)
    if value == "1":
        assert slept == [1, 1, 1]


def test_a_plugin_that_fails_to_renew_a_token_is_told_without_its_words() -> None:
    def plugin() -> dict[str, str]:
        raise RuntimeError("token abcdefgh12345678 expired")

    transport = Transport(host="https://x", pool=None, headers=plugin)

    with pytest.raises(Forbidden) as failure:
        transport.request("GET", "/x", what="read x")

    assert "abcdefgh12345678" not in failure.value.message


def test_impersonation_is_sent_with_every_request() -> None:
    sent: list[dict[str, str]] = []

    class Pool:
        def request(self, *_: Any, headers: dict[str, str], **__: Any) -> Any:
            sent.append(headers)
            return type("R", (), {"status": 200, "data": b"{}", "headers": {}})()

    Transport(host="https://x", pool=Pool(), headers=dict, impersonate="team-a").request("GET", "/x", what="x")

    assert sent[0]["Impersonate-User"] == "team-a"
