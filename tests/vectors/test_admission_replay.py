"""Verdicts of Karmada's and Volcano's own admission code: the embedded one gives the same ones."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from gitops_vg.apis import catalog
from gitops_vg.apis.structural import default, prune
from gitops_vg.sandbox.api import Api, Write
from gitops_vg.sandbox.builtin import install_builtin
from gitops_vg.sandbox.karmada.admission import Admission
from gitops_vg.sandbox.karmada.volcano_admission import (
    changed_job_complaint,
    deleted_queue_complaint,
    mutated_job,
    mutated_queue,
    new_job_complaint,
    queue_complaint,
)
from gitops_vg.sandbox.status import StatusError
from gitops_vg.sandbox.store import Store

SHARED = Path(__file__).resolve().parents[2].parent / "shared" / "vectors"
POLICIES = {"PropagationPolicy", "ClusterPropagationPolicy", "OverridePolicy", "ClusterOverridePolicy", "Cluster"}

pytestmark = [
    pytest.mark.shared,
    pytest.mark.skipif(not SHARED.is_dir(), reason="the recorded verdicts are not beside this project"),
]


def _cases(name: str) -> list[dict[str, Any]]:
    return json.loads((SHARED / name).read_text(encoding="utf-8"))


# ---------------------------------------------------------------- Karmada, through a whole API server


def _answer(case: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """The server's refusal ("" for none), and the object that was stored."""
    api = Api(catalog(), Store())
    install_builtin(api)
    Admission(api).register()
    body, old = case.get("object"), case.get("old")
    some = body or old or {}
    kind = api.kind(some["apiVersion"].rpartition("/")[0], case["kind"])
    namespace = some["metadata"].get("namespace", "")
    if kind.namespaced and api.find(api.kind("", "Namespace"), "", namespace) is None:
        created = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
        api.create(api.kind("", "Namespace"), created)
    if old is not None:
        stored = copy.deepcopy(old)
        stored["metadata"] = {"uid": "u", **stored["metadata"]}
        stored["metadata"].pop("resourceVersion", None)
        if kind.schema is not None and case["kind"] != "Cluster":
            stored, _ = prune(kind.schema, default(kind.schema, stored))
        api.store.put(kind, stored)
    strict = Write(validation="Strict")
    try:
        if case["operation"] == "DELETE":
            return "", api.delete(kind, namespace, some["metadata"]["name"])
        assert body is not None
        body = copy.deepcopy(body)
        body["metadata"].pop("resourceVersion", None)
        if old is None:
            return "", api.create(kind, body, namespace=namespace, write=strict)
        return "", api.update(kind, body, namespace=namespace, name=old["metadata"]["name"], write=strict)
    except StatusError as error:
        return error.message, {}


def _stored(body: Mapping[str, Any]) -> dict[str, Any]:
    """What a recording keeps of a stored object."""
    kept = {key: copy.deepcopy(body[key]) for key in ("apiVersion", "kind", "metadata", "spec") if key in body}
    for key in ("uid", "resourceVersion", "creationTimestamp", "generation", "managedFields"):
        kept["metadata"].pop(key, None)
    labels = kept["metadata"].get("labels") or {}
    for key in labels:
        if key.endswith("permanent-id"):
            labels[key] = "<generated>"
    return kept


@pytest.fixture(scope="module")
def karmada() -> list[tuple[dict[str, Any], str, dict[str, Any]]]:
    cases = [
        case for case in _cases("karmada_admission.json") if case["kind"] in POLICIES or case["operation"] == "DELETE"
    ]
    return [(case, *_answer(case)) for case in cases]


def test_karmada_refuses_what_the_real_one_refuses(karmada):
    different = [
        case["id"]
        for case, refusal, _ in karmada
        if bool(refusal) is (case.get("overall", case["verdict"]) == "allowed")
    ]

    assert len(karmada) == 798
    assert len(different) <= 1, different


def test_karmada_stores_what_the_real_one_stores(karmada):
    kept = [
        (case, body)
        for case, refusal, body in karmada
        if not refusal and case["operation"] == "CREATE" and case.get("mutated")
    ]

    different = [case["id"] for case, body in kept if _stored(body) != _stored(case["mutated"])]

    assert len(kept) > 200
    assert len(different) <= 2, different


def test_karmada_refuses_in_the_words_of_the_webhook(karmada):
    """Where the schema of the kind has nothing to say before it: a real server checks that first."""
    told = [
        (case, refusal)
        for case, refusal, _ in karmada
        if case["verdict"] == "denied" and refusal.startswith("admission webhook") and case["kind"] in POLICIES
    ]

    different = [case["id"] for case, refusal in told if not refusal.endswith(case["message"])]

    assert len(told) > 120
    assert len(different) <= 2, different


# ---------------------------------------------------------------- Volcano, its webhooks alone


def _volcano(case: Mapping[str, Any]) -> str:
    queues = (case.get("context") or {}).get("queues") or []
    named = {queue["metadata"]["name"]: queue for queue in queues}

    def children(name: str) -> int:
        return sum(1 for queue in queues if queue["spec"].get("parent") == name)

    body = (case.get("crd") or {}).get("defaulted") or case.get("object")
    match (case["kind"], case["operation"]):
        case ("Queue", "DELETE"):
            name = case["old"]["metadata"]["name"]
            return deleted_queue_complaint(name, children=children(name))
        case ("Queue", "CREATE"):
            fresh = mutated_queue({key: value for key, value in body.items() if key != "status"})
            return queue_complaint(fresh, old=None, queues=queues)
        case ("Queue", "UPDATE"):
            return queue_complaint({**body, "status": case["old"].get("status")}, old=case["old"], queues=queues)
        case ("Job", "CREATE"):
            return new_job_complaint(mutated_job(body), find_queue=named.get, children=children)
    return changed_job_complaint(body, old=case["old"])


_SIMULATED: Mapping[str, Callable[[str], bool]] = {
    "Queue": lambda rule: rule.startswith("queue.") and "hierarchy" not in rule,
    "Job": lambda rule: rule.startswith(("job.update.immutable", "job.queue", "job.minAvailable", "job.base")),
}
"""Rules that the sandbox sets out to follow; docs/fidelity.md names the others."""


def _followed() -> Iterator[tuple[dict[str, Any], str]]:
    for case in _cases("volcano_admission.json"):
        follows = _SIMULATED.get(case["kind"])
        if follows and follows(case["rule"]) and case["verdict"] != "decode-error" and case.get("stage") != "mutating":
            yield case, _volcano(case)


def test_volcano_refuses_jobs_and_queues_as_the_real_webhooks_do():
    found = list(_followed())

    different = [case["id"] for case, complaint in found if bool(complaint) is (case["verdict"] == "allowed")]

    assert len(found) > 300
    assert len(different) <= 17, different
