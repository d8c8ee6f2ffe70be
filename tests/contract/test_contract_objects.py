"""Objects, lists, patches and deletes: the embedded server and a real kube-apiserver answer alike."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest
from realserver import RawClient


def config_map(name: str, **data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def until(condition: Callable[[], bool], seconds: float = 15) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.05)
    return False


def place(namespace: str, name: str = "") -> str:
    return f"/api/v1/namespaces/{namespace}/configmaps" + (f"/{name}" if name else "")


def test_discovery_in_both_forms(client: RawClient) -> None:
    aggregated = client.request(
        "GET", "/apis", headers={"Accept": "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"}
    )[1]
    plain = client.get("/apis")[1]
    resources = client.get("/apis/batch.volcano.sh/v1alpha1")[1]

    assert aggregated["kind"] == "APIGroupDiscoveryList"
    groups = {item["metadata"]["name"] for item in aggregated["items"]}
    assert {"batch.volcano.sh", "policy.karmada.io", "apps"} <= groups
    assert plain["kind"] == "APIGroupList"
    assert {"jobs", "jobs/status"} <= {resource["name"] for resource in resources["resources"]}
    assert client.get("/apis/nope.example/v1")[0] == 404


def test_create_gives_identity_and_a_second_create_conflicts(client: RawClient, namespace: str) -> None:
    status, body = client.request("POST", place(namespace), body=config_map("a", x="1"))
    again, failure = client.request("POST", place(namespace), body=config_map("a", x="1"))

    assert status == 201
    assert body["metadata"]["uid"]
    assert body["metadata"]["managedFields"][0]["operation"] == "Update"
    assert "generation" not in body["metadata"]
    assert (again, failure["reason"]) == (409, "AlreadyExists")
    assert failure["details"] == {"name": "a", "kind": "configmaps"}


def test_generate_name_makes_a_name(client: RawClient, namespace: str) -> None:
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "job-"}}

    status, made = client.request("POST", place(namespace), body=body)

    assert status == 201
    assert made["metadata"]["name"].startswith("job-")
    assert len(made["metadata"]["name"]) == len("job-") + 5


@pytest.mark.parametrize(
    ("method", "path", "code", "reason"),
    [
        ("GET", "configmaps/missing", 404, "NotFound"),
        ("DELETE", "configmaps/missing", 404, "NotFound"),
        ("POST", "configmaps/missing", 405, "MethodNotAllowed"),
    ],
)
def test_failures_are_status_objects(
    client: RawClient, namespace: str, method: str, path: str, code: int, reason: str
) -> None:
    status, body = client.request(method, f"/api/v1/namespaces/{namespace}/{path}")

    assert status == code
    assert (body["kind"], body["status"], body["reason"], body["code"]) == ("Status", "Failure", reason, code)


def test_lists_come_in_pages_that_fit_together(client: RawClient, namespace: str) -> None:
    for number in range(5):
        client.request("POST", place(namespace), body=config_map(f"c{number}"))

    first = client.get(
        place(namespace), limit="2", labelSelector="!nothing", fieldSelector="metadata.name!=kube-root-ca.crt"
    )[1]
    second = client.get(place(namespace), limit="2", **{"continue": first["metadata"]["continue"]},
                        labelSelector="!nothing", fieldSelector="metadata.name!=kube-root-ca.crt")[1]  # fmt: skip

    assert [item["metadata"]["name"] for item in first["items"]] == ["c0", "c1"]
    assert [item["metadata"]["name"] for item in second["items"]] == ["c2", "c3"]
    assert first["metadata"]["resourceVersion"] == second["metadata"]["resourceVersion"]
    assert client.get(place(namespace), limit="2", **{"continue": "nonsense"})[0] == 400


def test_selectors_choose_by_label_and_by_field(client: RawClient, namespace: str) -> None:
    for name, labels in (("a", {"tier": "x", "app": "1"}), ("b", {"tier": "y"}), ("c", {})):
        body = config_map(name)
        body["metadata"]["labels"] = labels
        client.request("POST", place(namespace), body=body)

    def names(**query: str) -> set[str]:
        return {item["metadata"]["name"] for item in client.get(place(namespace), **query)[1]["items"]} - {
            "kube-root-ca.crt"
        }

    assert names(labelSelector="tier in (x,y)") == {"a", "b"}
    assert names(labelSelector="tier=x,app") == {"a"}
    assert names(labelSelector="tier!=x") == {"b", "c"}
    assert names(labelSelector="!tier") == {"c"}
    assert names(fieldSelector="metadata.name=b") == {"b"}
    assert client.get(place(namespace), labelSelector="a in b")[0] == 400
    assert client.get(place(namespace), fieldSelector="data.x=1")[0] == 400


def test_replace_needs_the_version_it_was_read_at(client: RawClient, namespace: str) -> None:
    _, read = client.request("POST", place(namespace), body=config_map("a", x="1"))
    client.request("PUT", place(namespace, "a"), body={**read, "data": {"x": "2"}})

    status, failure = client.request("PUT", place(namespace, "a"), body={**read, "data": {"x": "3"}})

    assert (status, failure["reason"]) == (409, "Conflict")
    assert "the object has been modified" in failure["message"]


def test_delete_preconditions_protect_a_namesake(client: RawClient, namespace: str) -> None:
    client.request("POST", place(namespace), body=config_map("a"))
    options = {
        "apiVersion": "v1",
        "kind": "DeleteOptions",
        "preconditions": {"uid": "11111111-2222-3333-4444-555555555555"},
    }

    status, failure = client.request("DELETE", place(namespace, "a"), body=options)

    assert (status, failure["reason"]) == (409, "Conflict")
    assert "the UID in the precondition (11111111-2222-3333-4444-555555555555) does not match" in failure["message"]
    assert failure["details"] == {"name": "a", "kind": "ConfigMap"}
    assert client.get(place(namespace, "a"))[0] == 200


def test_merge_and_json_patches(client: RawClient, namespace: str) -> None:
    client.request("POST", place(namespace), body=config_map("a", x="1", y="2"))

    merged = client.request(
        "PATCH",
        place(namespace, "a"),
        body={"data": {"x": None, "z": "3"}},
        content_type="application/merge-patch+json",
    )[1]
    patched = client.request(
        "PATCH", place(namespace, "a"), content_type="application/json-patch+json",
        body=[{"op": "test", "path": "/data/y", "value": "2"}, {"op": "replace", "path": "/data/y", "value": "9"}],
    )[1]  # fmt: skip
    failed, _ = client.request(
        "PATCH", place(namespace, "a"), content_type="application/json-patch+json",
        body=[{"op": "test", "path": "/data/y", "value": "2"}],
    )  # fmt: skip

    assert merged["data"] == {"y": "2", "z": "3"}
    assert patched["data"] == {"y": "9", "z": "3"}
    assert failed == 422
    assert client.request("PATCH", place(namespace, "a"), body=b"<a/>", content_type="application/xml")[0] == 415


def test_strategic_patch_merges_containers_by_name_and_is_not_for_custom_kinds(
    client: RawClient, namespace: str
) -> None:
    path = f"/apis/apps/v1/namespaces/{namespace}/deployments"
    client.request("POST", path, body=deployment("web"))

    status, patched = client.request(
        "PATCH", f"{path}/web", content_type="application/strategic-merge-patch+json",
        body={"spec": {"template": {"spec": {"containers": [{"name": "web", "image": "web:2"}]}}}},
    )  # fmt: skip
    refused, _ = client.request(
        "PATCH",
        "/apis/scheduling.volcano.sh/v1beta1/queues/x",
        body={},
        content_type="application/strategic-merge-patch+json",
    )

    assert status == 200
    container = patched["spec"]["template"]["spec"]["containers"][0]
    assert (container["image"], container["env"]) == ("web:2", [{"name": "A", "value": "1"}])
    assert refused in (404, 415)


def deployment(name: str) -> dict[str, Any]:
    container = {"name": name, "image": f"{name}:1", "env": [{"name": "A", "value": "1"}]}
    return {
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name},
        "spec": {
            "replicas": 1, "selector": {"matchLabels": {"app": name}},
            "template": {"metadata": {"labels": {"app": name}}, "spec": {"containers": [container]}},
        },
    }  # fmt: skip


def test_generation_counts_specs_and_status_is_kept_apart(client: RawClient, namespace: str) -> None:
    path = f"/apis/batch.volcano.sh/v1alpha1/namespaces/{namespace}/jobs"
    body = {
        "apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": {"name": "j"},
        "spec": {"minAvailable": 1, "tasks": [{"name": "t", "replicas": 1, "template": {}}]},
        "status": {"running": 7},
    }  # fmt: skip
    _, made = client.request("POST", path, body=body)
    merge = "application/merge-patch+json"

    labelled = client.request("PATCH", f"{path}/j", body={"metadata": {"labels": {"a": "b"}}}, content_type=merge)[1]
    reported = client.request("PATCH", f"{path}/j/status", body={"status": {"running": 3}, "spec": {"minAvailable": 9}},
                              content_type=merge)[1]  # fmt: skip
    changed = client.request("PATCH", f"{path}/j", body={"spec": {"minAvailable": 2}, "status": {"running": 0}},
                             content_type=merge)[1]  # fmt: skip

    assert "status" not in made
    assert made["metadata"]["generation"] == labelled["metadata"]["generation"] == 1
    assert (reported["status"]["running"], reported["spec"]["minAvailable"]) == (3, 1)
    assert reported["metadata"]["generation"] == 1
    assert (changed["metadata"]["generation"], changed["status"]["running"]) == (2, 3)


def test_crd_defaults_are_written_and_unknown_fields_disappear(client: RawClient) -> None:
    body = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": {"name": "contract-defaults"},
            "spec": {"capability": {"cpu": "0.1"}, "guaranteed": {"cpu": 1}}}  # fmt: skip

    status, made = client.request("POST", "/apis/scheduling.volcano.sh/v1beta1/queues", body=body)
    strict, failure = client.request(
        "POST", "/apis/scheduling.volcano.sh/v1beta1/queues", body=body, fieldValidation="Strict"
    )
    client.request("DELETE", "/apis/scheduling.volcano.sh/v1beta1/queues/contract-defaults")

    assert status == 201
    assert made["spec"] == {"capability": {"cpu": "0.1"}, "dequeueStrategy": "traverse", "weight": 1}
    assert strict in (400, 409)
    assert 'unknown field "spec.guaranteed"' in failure["message"] or failure["reason"] == "AlreadyExists"


def test_a_broken_schema_names_every_field(client: RawClient) -> None:
    body = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": {"name": "contract-broken"},
            "spec": {"weight": 0, "priority": -1}}  # fmt: skip

    status, failure = client.request("POST", "/apis/scheduling.volcano.sh/v1beta1/queues", body=body)

    assert (status, failure["reason"]) == (422, "Invalid")
    assert {cause["field"] for cause in failure["details"]["causes"]} == {"spec.weight", "spec.priority"}
    assert "spec.weight in body should be greater than or equal to 1" in failure["message"]


def test_finalizers_hold_an_object_until_they_are_gone(client: RawClient, namespace: str) -> None:
    body = config_map("held")
    body["metadata"]["finalizers"] = ["example.com/wait"]
    client.request("POST", place(namespace), body=body)

    client.request("DELETE", place(namespace, "held"))
    held = client.get(place(namespace, "held"))[1]
    client.request("PATCH", place(namespace, "held"), body={"metadata": {"finalizers": None}},
                   content_type="application/merge-patch+json")  # fmt: skip

    assert held["metadata"]["deletionTimestamp"]
    assert client.get(place(namespace, "held"))[0] == 404


def test_dependents_go_with_their_owner(client: RawClient, namespace: str) -> None:
    _, owner = client.request("POST", place(namespace), body=config_map("owner"))
    child = config_map("child")
    child["metadata"]["ownerReferences"] = [
        {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["metadata"]["uid"]}
    ]
    client.request("POST", place(namespace), body=child)

    client.request("DELETE", place(namespace, "owner"), propagationPolicy="Background")

    assert until(lambda: client.get(place(namespace, "child"))[0] == 404)


def test_a_namespace_empties_itself_and_takes_nothing_new(client: RawClient, namespace: str) -> None:
    body = config_map("held")
    body["metadata"]["finalizers"] = ["example.com/wait"]
    client.request("POST", place(namespace), body=body)
    client.request("POST", place(namespace), body=config_map("free"))

    client.request("DELETE", f"/api/v1/namespaces/{namespace}")
    assert until(lambda: client.get(place(namespace, "free"))[0] == 404)
    refused, failure = client.request("POST", place(namespace), body=config_map("late"))
    client.request("PATCH", place(namespace, "held"), body={"metadata": {"finalizers": None}},
                   content_type="application/merge-patch+json")  # fmt: skip

    assert (refused, failure["reason"]) == (403, "Forbidden")
    assert failure["details"]["causes"][0]["reason"] == "NamespaceTerminating"
    assert until(lambda: client.get(f"/api/v1/namespaces/{namespace}")[0] == 404)


def test_nothing_is_created_in_a_namespace_that_is_not_there(client: RawClient) -> None:
    status, failure = client.request("POST", place("nowhere-at-all"), body=config_map("a"))

    assert (status, failure["message"]) == (404, 'namespaces "nowhere-at-all" not found')


def test_malformed_bodies_are_bad_requests(client: RawClient, namespace: str) -> None:
    assert client.request("POST", place(namespace), body=b"{not json")[0] == 400
    assert (
        client.request(
            "POST", place(namespace), body={"kind": "Secret", "apiVersion": "v1", "metadata": {"name": "a"}}
        )[0]
        == 400
    )
    elsewhere = config_map("a")
    elsewhere["metadata"]["namespace"] = "default"
    assert client.request("POST", place(namespace), body=elsewhere)[0] == 400
    assert client.request("POST", place(namespace), body=config_map("Not_A_Name"))[0] == 422
