"""Server-side apply and field ownership: the embedded server and a real kube-apiserver answer alike."""

from __future__ import annotations

from typing import Any

import pytest
from realserver import RawClient


def body_of(name: str, *, labels: dict[str, str] | None = None, **data: str) -> dict[str, Any]:
    metadata: dict[str, Any] = {"name": name}
    if labels is not None:
        metadata["labels"] = labels
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def path_of(namespace: str, name: str = "a") -> str:
    return f"/api/v1/namespaces/{namespace}/configmaps/{name}"


def owned_by(body: dict[str, Any], manager: str) -> Any:
    return next(
        (entry["fieldsV1"] for entry in body["metadata"].get("managedFields", []) if entry["manager"] == manager), None
    )


def test_apply_creates_and_owns_exactly_what_was_sent(client: RawClient, namespace: str) -> None:
    status, made = client.apply(path_of(namespace), body_of("a", labels={"app": "x"}, k="1"), manager="one")

    assert status == 201
    assert owned_by(made, "one") == {"f:data": {"f:k": {}}, "f:metadata": {"f:labels": {"f:app": {}}}}


def test_the_same_again_writes_nothing(client: RawClient, namespace: str) -> None:
    _, first = client.apply(path_of(namespace), body_of("a", k="1"), manager="one")

    status, second = client.apply(path_of(namespace), body_of("a", k="1"), manager="one")

    assert status == 200
    assert second["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]


def test_a_field_that_is_no_longer_applied_goes(client: RawClient, namespace: str) -> None:
    client.apply(path_of(namespace), body_of("a", k="1", gone="2"), manager="one")

    _, after = client.apply(path_of(namespace), body_of("a", k="1"), manager="one")

    assert after["data"] == {"k": "1"}


def test_a_field_of_two_owners_stays_when_one_drops_it(client: RawClient, namespace: str) -> None:
    client.apply(path_of(namespace), body_of("a", k="1", shared="2"), manager="one")
    client.apply(path_of(namespace), body_of("a", shared="2"), manager="two")

    _, after = client.apply(path_of(namespace), body_of("a", k="1"), manager="one")

    assert after["data"] == {"k": "1", "shared": "2"}
    assert owned_by(after, "two") == {"f:data": {"f:shared": {}}}


def test_without_force_a_conflict_names_fields_and_managers(client: RawClient, namespace: str) -> None:
    client.apply(path_of(namespace), body_of("a", k="1"), manager="one")
    client.request("PATCH", path_of(namespace), body={"data": {"u": "1"}}, content_type="application/merge-patch+json",
                   fieldManager="editor")  # fmt: skip

    status, failure = client.apply(path_of(namespace), body_of("a", k="9", u="9"), manager="two", force="false")

    assert (status, failure["reason"]) == (409, "Conflict")
    causes = {cause["field"]: cause["message"] for cause in failure["details"]["causes"]}
    assert causes == {".data.k": 'conflict with "one"', ".data.u": 'conflict with "editor" using v1'}


def test_force_takes_the_field_and_its_ownership(client: RawClient, namespace: str) -> None:
    client.apply(path_of(namespace), body_of("a", k="1", mine="1"), manager="one")

    _, after = client.apply(path_of(namespace), body_of("a", k="2"), manager="two")

    assert after["data"] == {"k": "2", "mine": "1"}
    assert owned_by(after, "one") == {"f:data": {"f:mine": {}}}
    assert owned_by(after, "two") == {"f:data": {"f:k": {}}}


def test_a_dry_run_answers_and_stores_nothing(client: RawClient, namespace: str) -> None:
    client.apply(path_of(namespace), body_of("a", k="1"), manager="one")

    status, dry = client.apply(path_of(namespace), body_of("a", k="2"), manager="one", dryRun="All")
    created, _ = client.apply(path_of(namespace, "b"), body_of("b", k="1"), manager="one", dryRun="All")

    assert (status, dry["data"]) == (200, {"k": "2"})
    assert client.get(path_of(namespace))[1]["data"] == {"k": "1"}
    assert created == 201
    assert client.get(path_of(namespace, "b"))[0] == 404


def test_dropping_our_last_label_drops_what_nobody_owns_and_keeps_what_others_own(
    client: RawClient, namespace: str
) -> None:
    client.apply(path_of(namespace), body_of("a", labels={"ours": "1"}, k="1"), manager="one")
    client.apply(path_of(namespace), body_of("a", labels={"theirs": "1"}), manager="two")

    _, after = client.apply(path_of(namespace), body_of("a", k="1"), manager="one")

    assert after["metadata"]["labels"] == {"theirs": "1"}


def test_keyed_lists_merge_item_by_item(client: RawClient, namespace: str) -> None:
    path = f"/apis/apps/v1/namespaces/{namespace}/deployments/web"

    def deployment(*containers: dict[str, Any]) -> dict[str, Any]:
        template = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": list(containers)}}
        return {
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"},
            "spec": {"selector": {"matchLabels": {"app": "web"}}, "template": template},
        }  # fmt: skip

    client.apply(path, deployment({"name": "web", "image": "web:1"}), manager="one")
    _, both = client.apply(
        path, deployment({"name": "web", "image": "web:1"}, {"name": "side", "image": "side:1"}), manager="two"
    )
    _, after = client.apply(path, deployment({"name": "web", "image": "web:2"}), manager="one")

    assert [container["name"] for container in both["spec"]["template"]["spec"]["containers"]] == ["web", "side"]
    images = {c["name"]: c["image"] for c in after["spec"]["template"]["spec"]["containers"]}
    assert images == {"web": "web:2", "side": "side:1"}


def test_lists_without_keys_are_owned_as_one(client: RawClient, namespace: str) -> None:
    path = f"/apis/batch.volcano.sh/v1alpha1/namespaces/{namespace}/jobs/j"

    def job(*tasks: str) -> dict[str, Any]:
        return {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": {"name": "j"},
                "spec": {"tasks": [{"name": name, "replicas": 1, "template": {}} for name in tasks]}}  # fmt: skip

    _, made = client.apply(path, job("a", "b"), manager="one")
    _, after = client.apply(path, job("c"), manager="two")

    assert owned_by(made, "one") == {"f:spec": {"f:tasks": {}}}
    assert [task["name"] for task in after["spec"]["tasks"]] == ["c"]
    assert owned_by(after, "one") is None


@pytest.mark.parametrize("validation", ["Strict", "Warn", "Ignore"])
def test_an_undeclared_field_is_a_final_500_whatever_was_asked(
    client: RawClient, namespace: str, validation: str
) -> None:
    body = {**body_of("a"), "dta": {"k": "1"}}

    status, failure = client.apply(path_of(namespace), body, fieldValidation=validation)

    assert status == 500
    assert failure["message"].startswith("failed to create typed patch object")
    assert ".dta: field not declared in schema" in failure["message"]


def test_duplicate_keys_of_a_list_are_refused(client: RawClient, namespace: str) -> None:
    template = {"metadata": {"labels": {"app": "w"}},
                "spec": {"containers": [{"name": "w", "image": "a"}, {"name": "w", "image": "b"}]}}  # fmt: skip
    body = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "w"},
            "spec": {"selector": {"matchLabels": {"app": "w"}}, "template": template}}  # fmt: skip

    status, failure = client.apply(f"/apis/apps/v1/namespaces/{namespace}/deployments/w", body)

    assert status == 500
    assert 'duplicate entries for key [name="w"]' in failure["message"]


def test_requests_that_are_no_apply(client: RawClient, namespace: str) -> None:
    apply = "application/apply-patch+yaml"
    managed = body_of("a")
    managed["metadata"]["managedFields"] = [
        {"manager": "x", "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1"}
    ]

    unnamed, failure = client.request("PATCH", path_of(namespace), body=body_of("a"), content_type=apply)

    assert (unnamed, failure["details"]["causes"][0]["field"]) == (422, "fieldManager")
    assert client.apply(path_of(namespace), managed)[0] == 400
    assert client.apply(path_of(namespace), body_of("other"))[0] == 400
    assert client.request("PATCH", path_of(namespace), body=b"a: [", content_type=apply, fieldManager="m")[0] == 400


def test_yaml_is_read_as_well(client: RawClient, namespace: str) -> None:
    text = b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  k: |\n    one\n    two\n"

    status, made = client.request("PATCH", path_of(namespace), body=text, content_type="application/apply-patch+yaml",
                                  fieldManager="m")  # fmt: skip

    assert (status, made["data"]["k"]) == (201, "one\ntwo\n")


def test_writers_own_what_they_change(client: RawClient, namespace: str) -> None:
    client.apply(path_of(namespace), body_of("a", k="1", other="1"), manager="one")

    _, after = client.request("PATCH", path_of(namespace), body={"data": {"k": "2"}}, fieldManager="editor",
                              content_type="application/merge-patch+json")  # fmt: skip

    assert owned_by(after, "editor") == {"f:data": {"f:k": {}}}
    assert owned_by(after, "one") == {"f:data": {"f:other": {}}}
