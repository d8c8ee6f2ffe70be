"""Our rules against the recorded verdicts of Volcano's own admission code: never laxer, and stricter only on purpose."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from gitops_vg.intents.fleet import Intents
from gitops_vg.intents.models import Fleet, Queue, Workload
from gitops_vg.rules import check

SHARED = Path(__file__).resolve().parents[2].parent / "shared"
VERDICTS = SHARED / "vectors/volcano_admission.json"
HEADER = {"apiVersion": "gitops-vg.io/v1alpha1"}
FLEET = Fleet.model_validate({**HEADER, "kind": "Fleet", "metadata": {"name": "demo"}})

pytestmark = [
    pytest.mark.shared,
    pytest.mark.skipif(not VERDICTS.exists(), reason="the recordings are not beside the project"),
]


def cases(kind: str, *prefixes: str) -> list[dict[str, Any]]:
    return [
        case
        for case in json.loads(VERDICTS.read_text())
        if case["kind"] == kind and case["operation"] == "CREATE" and case["rule"].startswith(prefixes)
    ]


def queue_intent(body: dict[str, Any]) -> Queue:
    """The intent that would be rendered as this queue."""
    spec = {key: value for key, value in body.get("spec", {}).items() if key != "guarantee" and value is not None}
    guarantee = body.get("spec", {}).get("guarantee", {}).get("resource")
    if guarantee is not None:
        spec["guarantee"] = guarantee
    return Queue.model_validate(
        {**HEADER, "kind": "Queue", "metadata": {"name": body["metadata"]["name"]}, "spec": spec}
    )


def refused(queues: list[dict[str, Any]]) -> bool:
    try:
        intents = [queue_intent(body) for body in queues if body["metadata"]["name"] not in ("root", "default")]
    except ValidationError:
        return True
    return any(finding.is_error for finding in check(Intents(fleet=FLEET, queues=tuple(intents))))


def guarantee_without_deserved(body: dict[str, Any]) -> bool:
    """What Volcano refuses and we render right: `deserved` is filled in from the guarantee."""
    spec = body["spec"]
    return any(key not in spec.get("deserved", {}) for key in spec.get("guarantee", {}).get("resource", {}))


QUEUE_RULES = ("queue.deserved", "queue.guarantee", "queue.tree", "queue.randomTree", "queue.quantity", "queue.weight")
STATEFUL = ("queue.tree.parentBusy", "queue.tree.lateParent")
"""Verdicts that depend on what runs, or on an order in time: intents know neither."""


def replayed() -> list[dict[str, Any]]:
    return [case for case in cases("Queue", *QUEUE_RULES) if case["rule"] not in STATEFUL]


def test_no_queue_that_volcano_refuses_passes_the_rules() -> None:
    laxer = [
        case["id"]
        for case in replayed()
        if case["overall"] == "denied"
        and "unknown field" not in case["message"]
        and not refused([*case["context"]["queues"], case["object"]])
        and not guarantee_without_deserved(case["object"])
    ]

    assert laxer == []


def test_queues_that_volcano_takes_pass_the_rules_but_for_quantities_that_cannot_be_meant() -> None:
    stricter = [
        case["id"]
        for case in replayed()
        if case["overall"] == "allowed"
        and not case["rule"].startswith("queue.quantity")
        and not refused(case["context"]["queues"])
        and case["object"]["spec"].get("parent") != "default"  # It belongs to Volcano; here it takes no children.
        and refused([*case["context"]["queues"], case["object"]])
    ]

    assert stricter == []


def cron_intent(body: dict[str, Any]) -> Workload:
    spec: dict[str, Any] = {"queue": "default", "job": {"tasks": [{"name": "a", "image": "x:1"}]}}
    spec["schedule"] = body["spec"].get("schedule", "")
    if "timeZone" in body["spec"]:
        spec["timeZone"] = body["spec"]["timeZone"]
    metadata = {"name": body["metadata"].get("name", "")}
    return Workload.model_validate({**HEADER, "kind": "Workload", "metadata": metadata, "spec": spec})


@pytest.mark.parametrize("case", cases("CronJob", "cronjob.schedule", "cronjob.timeZone", "cronjob.name") if VERDICTS.exists() else [], ids=lambda case: case["id"])  # fmt: skip
def test_schedules_zones_and_names_are_judged_as_volcano_judges_them(case: dict[str, Any]) -> None:
    try:
        workload = cron_intent(case["object"])
    except ValidationError:
        assert case["overall"] == "denied"
        return

    found = {finding.code for finding in check(Intents(fleet=FLEET, workloads=(workload,)))}

    assert bool(found & {"GVG303", "GVG304", "GVG315"}) == (case["overall"] == "denied"), (case["message"], found)
