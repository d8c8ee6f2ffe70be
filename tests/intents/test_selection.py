"""Which policies apply to a workload, and where the fields of an intent stand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from intents_folder import Folder

from gitops_vg.intents.source import Path, dotted, undotted

JOB = "queue: research, job: {tasks: [{name: main, image: 'train:1'}]}"


@pytest.mark.parametrize(
    ("selects", "selected"),
    [
        ("{}", False), ("{labels: {}}", False), ("{qos: null}", False), ("{qos: offline}", True),
        ("{qos: online}", False), ("{queue: research}", True), ("{namespace: ml}", True), ("{namespace: web}", False),
        ("{qos: offline, namespace: web}", False), ("{labels: {team: a}}", False),
    ],
)  # fmt: skip
def test_a_policy_selects_by_what_it_says_and_nothing_selects_nothing(
    folder: Folder, selects: str, selected: bool
) -> None:
    folder.intent("Workload", "train", f"{{{JOB}}}", namespace="ml")
    folder.intent("PlacementPolicy", "p", f"{{selects: {selects}}}", file="policies/p.yaml")

    intents = folder.read().intents

    assert intents is not None
    assert bool(intents.policies_of(intents.workload["ml/train"])) is selected


def test_a_workload_may_name_a_policy_that_does_not_select_it(folder: Folder) -> None:
    folder.intent("Workload", "train", f"{{{JOB}, placement: {{policy: p}}}}", namespace="ml")
    folder.intent("PlacementPolicy", "p", "{}", file="policies/p.yaml")

    intents = folder.read().intents

    assert intents is not None
    assert [policy.name for policy in intents.policies_of(intents.workload["ml/train"])] == ["p"]


def test_a_key_with_dots_has_its_place(folder: Folder) -> None:
    folder.intent("Queue", "q", "{capability: {nvidia.com/gpu: 5}}", file="policies/q.yaml")

    intents = folder.read().intents

    assert intents is not None
    (queue,) = intents.queues
    assert str(queue.source_at(("spec", "capability", "nvidia.com/gpu"))) == "policies/q.yaml:4:37"
    assert str(queue.source('spec.capability["nvidia.com/gpu"]')) == "policies/q.yaml:4:37"
    assert str(queue.source("spec.weight")) == "policies/q.yaml:4:1"


@given(st.lists(st.integers(0, 99) | st.text(min_size=1, max_size=8), max_size=5).map(tuple))
def test_a_dotted_path_leads_back(path: Path) -> None:
    assert undotted(dotted(path)) == path
