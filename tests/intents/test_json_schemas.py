"""The published schemas say the same as the models, and are current."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from intents_folder import Folder
from jsonschema import Draft202012Validator

from gitops_vg.intents import json_schemas
from gitops_vg.intents.files import intent_files
from gitops_vg.intents.yaml import read_documents

SCHEMAS = json_schemas()
DIGEST = "sha256:" + "0" * 64
TASKS = "tasks: [{name: main, image: 'train:1'}]"


def valid(kind: str, data: Any) -> bool:
    checker = Draft202012Validator.FORMAT_CHECKER
    return Draft202012Validator(SCHEMAS[kind], format_checker=checker).is_valid(data)


def sample_documents(root: Path) -> Iterator[dict[str, Any]]:
    for file in intent_files(root)[0]:
        documents, _ = read_documents((root / file).read_text(), file=str(file))
        yield from (one.data for one in documents if one.data["apiVersion"].startswith("gitops-vg.io"))


def test_there_is_a_schema_for_each_of_the_seven_kinds() -> None:
    assert sorted(SCHEMAS) == [
        "Approval", "Cluster", "Fleet", "PlacementPolicy", "PriorityClass", "Queue", "Workload",
    ]  # fmt: skip


@pytest.mark.parametrize("kind", SCHEMAS)
def test_a_schema_is_one_that_editors_understand(kind: str) -> None:
    Draft202012Validator.check_schema(SCHEMAS[kind])
    text = json.dumps(SCHEMAS[kind])
    for keyword in ("prefixItems", "unevaluatedProperties", "$dynamicRef", "dependentSchemas"):
        assert f'"{keyword}"' not in text


@pytest.mark.parametrize("kind", SCHEMAS)
def test_the_written_schemas_are_current(kind: str, repository_root: Path) -> None:
    written = json.loads((repository_root / f"schemas/{kind.lower()}.json").read_text())

    assert written == SCHEMAS[kind], "run `make docs`"


def test_the_sample_fleet_is_valid_by_its_schemas(repository_root: Path) -> None:
    kinds = set()
    for data in sample_documents(repository_root):
        assert valid(data["kind"], data), data["metadata"]
        kinds.add(data["kind"])
    assert {"Fleet", "Cluster", "Queue", "PlacementPolicy", "PriorityClass", "Workload"} <= kinds


CASES = [
    ("Queue", "{weight: 2}"), ("Queue", '{weight: "2"}'), ("Queue", "{weight: true}"), ("Queue", "{weight: 0}"),
    ("Queue", "{weight: 65536}"), ("Queue", "{wieght: 2}"), ("Queue", "{reclaimable: 1}"), ("Queue", "{parent: ''}"),
    ("Queue", "{capability: {cpu: 1.5}}"), ("Queue", "{capability: {cpu: '1.5'}}"), ("Queue", "{capability: [cpu]}"),
    ("Queue", "{capability: {cpu: null}}"), ("Queue", "{dequeueStrategy: lifo}"), ("Queue", "{dequeue_strategy: fifo}"),
    ("Queue", "null"), ("Queue", "[]"), ("Queue", "{protect: null}"), ("Queue", "{priority: -1}"),
    ("Cluster", "{headroom: {cpu: 10%}}"), ("Cluster", "{headroom: {cpu: 10}}"), ("Cluster", "{headroom: {cpu: 101%}}"),
    ("Cluster", "{colocation: {ready: 'true'}}"), ("Cluster", "{nodePools: [{name: a}]}"), ("Cluster", "{os: windows}"),
    ("Fleet", "{capacity: {refresh: 15}}"), ("Fleet", "{capacity: {refresh: 15s}}"), ("Fleet", "{batch: {max: 0}}"),
    ("Fleet", "{capacity: {cacheTTL: 15s}}"), ("Fleet", "{capacity: {cacheTtl: 15s}}"),
    ("Fleet", "{deletes: {maxPercent: 101}}"), ("Fleet", "{protect: Queue}"), ("Fleet", "{protect: [5]}"),
    ("PriorityClass", "{value: 5}"), ("PriorityClass", "{}"), ("PriorityClass", "{value: 1000000001}"),
    ("PlacementPolicy", "{clusters: {count: 2-3}}"), ("PlacementPolicy", "{clusters: {count: 0-3}}"),
    ("PlacementPolicy", "{clusters: {where: {colocation: true}}}"), ("PlacementPolicy", "{tolerate: [{value: x}]}"),
    ("PlacementPolicy", "{spread: country}"), ("PlacementPolicy", "{selects: {qos: batch}}"),
    ("Workload", f"{{job: {{{TASKS}}}}}"), ("Workload", "{job: {tasks: []}}"), ("Workload", "{job: {}}"),
    ("Workload", f"{{job: {{gang: 2, {TASKS}}}}}"), ("Workload", f"{{job: {{gang: some, {TASKS}}}}}"),
    ("Workload", f"{{job: {{gang: true, {TASKS}}}}}"), ("Workload", f"{{job: {{plugins: {{svc: []}}, {TASKS}}}}}"),
    ("Workload", f"{{job: {{plugins: {{svc: x}}, {TASKS}}}}}"), ("Workload", "{service: {ports: [0]}}"),
    ("Workload", "{service: {ports: [8080]}}"), ("Workload", "{service: {env: {A: 1}}}"),
    ("Workload", "{service: {replicas: -1}}"), ("Workload", "{service: {template: {anything: [1, {a: b}]}}}"),
    ("Workload", "{manifests: {inline: [5]}}"), ("Workload", "{placement: {mode: two}}"), ("Workload", "{qos: null}"),
    ("Workload", "{schedule: 5, job: {tasks: [{name: a, image: b}]}}"),
    ("Approval", f"{{plan: '{DIGEST}', reason: x, expires: '2030-01-01'}}"),
    ("Approval", f"{{plan: '{DIGEST}', reason: x, expires: someday}}"),
    ("Approval", f"{{plan: '{DIGEST}', reason: '', expires: '2030-01-01'}}"),
    ("Approval", "{plan: 'sha256:00', reason: x, expires: '2030-01-01'}"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "spec"), CASES)
def test_schema_and_model_agree(folder: Folder, kind: str, spec: str) -> None:
    file = "gitops-vg.yaml" if kind == "Fleet" else "workloads/x.yaml"
    path = folder.intent(kind, "x", spec, file=file)
    documents, problems = read_documents(path.read_text(), file=file)
    assert problems == ()

    assert valid(kind, documents[0].data) == (folder.findings() == [])
