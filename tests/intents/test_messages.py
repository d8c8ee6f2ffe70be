"""A wrong value is one sentence that shows it, and one that says what to write instead."""

from __future__ import annotations

import pytest
from intents_folder import Folder

TASKS = "tasks: [{name: main, image: 'train:1'}]"


@pytest.mark.parametrize(
    ("kind", "spec", "message", "fix"),
    [
        ("Queue", '{weight: "2"}', 'spec.weight: "2" is not a whole number', "write it without quotes: 2"),
        ("Queue", "{weight: true}", "spec.weight: true is not a whole number", "write a whole number"),
        ("Queue", "{weight: 0}", "spec.weight: 0 is less than 1", "write 1 or more"),
        ("Queue", "{weight: 70000}", "spec.weight: 70000 is more than 65535", "write 65535 or less"),
        ("Queue", "{wieght: 2}", "there is no field wieght in spec", "did you mean weight?"),
        ("Queue", "[1]", "spec: a list is not a map", "write a map"),
        ("Queue", "{capability: {nvidia.com/gpu: true}}",
         'spec.capability["nvidia.com/gpu"]: true is not text or a whole number', "write text or a whole number"),
        ("Queue", "{capability: {cpu: 1.5}}", "spec.capability.cpu: 1.5 is a float, and floats lose digits",
         "write a whole number, or quotes around it"),
        ("Queue", "{dequeueStrategy: lifo}", "spec.dequeueStrategy: lifo is not one of fifo or traverse",
         "write one of fifo or traverse"),
        ("Cluster", "{os: windows}", "spec.os: windows is not linux", "write linux"),
        ("Cluster", "{colocation: {ready: 'true'}}", 'spec.colocation.ready: "true" is not true or false',
         "write it without quotes: true"),
        ("Cluster", "{headroom: {cpu: 10}}", "spec.headroom.cpu: 10 is not text", 'write quotes: "10"'),
        ("Workload", f"{{job: {{gang: some, {TASKS}}}}}", "spec.job.gang: some is not all or none or a whole number",
         "write all or none or a whole number"),
        ("Workload", "{job: {tasks: []}}", "spec.job.tasks is empty", "write at least one"),
        ("Workload", "{job: {tasks: [{image: x}]}}", "spec.job.tasks[0].name is missing", "write name"),
        ("Workload", "{service: {ports: [0]}}", "spec.service.ports[0]: 0 is less than 1", "write 1 or more"),
        ("Workload", "{service: {on_evict: x}}", "there is no field on_evict in spec.service", ""),
    ],
)  # fmt: skip
def test_a_wrong_value(folder: Folder, kind: str, spec: str, message: str, fix: str) -> None:
    folder.intent(kind, "x", spec)

    finding = folder.only()

    if message:
        assert finding.message == message
        assert fix in finding.fix


def test_a_value_that_may_be_a_secret_is_not_shown(folder: Folder) -> None:
    folder.intent("Workload", "x", "{service: {env: {PIN: 12345, CODE: 1.5}}}")

    for finding in folder.findings():
        assert "12345" not in finding.message + finding.fix
        assert "1.5" not in finding.message + finding.fix


def test_every_wrong_field_is_its_own_finding(folder: Folder) -> None:
    folder.intent("Workload", "x", "{qos: fast, job: {gang: some, tasks: [{nme: a}, {name: B}]}}")

    assert [finding.field for finding in folder.findings()] == [
        "spec.qos", "spec.job.gang", "spec.job.tasks[0].name", "spec.job.tasks[0].nme", "spec.job.tasks[1].name",
    ]  # fmt: skip


def test_a_long_value_is_cut(folder: Folder) -> None:
    folder.intent("Queue", "x", f"{{parent: {'A' * 5000}}}")

    assert len(folder.only().message) < 200
