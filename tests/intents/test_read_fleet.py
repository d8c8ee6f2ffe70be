"""Reading a fleet: every problem of every file at once, nothing outside its folder, nothing in silence."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from intents_folder import Folder

from gitops_vg.findings import Severity
from gitops_vg.intents import read_fleet
from gitops_vg.intents.yaml import MAX_BYTES

JOB = "{queue: research, job: {tasks: [{name: main, image: 'train:1'}]}}"
CONFIG = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\n"


def test_the_sample_fleet_is_read_without_findings(repository_root: Path) -> None:
    result = read_fleet(repository_root)

    assert result.findings == ()
    assert result.intents is not None
    assert [cluster.name for cluster in result.intents.clusters] == ["cluster-1", "cluster-2", "cluster-3"]
    assert "ml/bert-training" in result.intents.workload
    assert [body["kind"] for body in result.intents.workload["web/legacy"].raw] == [
        "ConfigMap", "Service", "Deployment",
    ]  # fmt: skip


def test_all_errors_of_all_files_are_reported_at_once(folder: Folder) -> None:
    folder.intent("Queue", "a", "{wieght: 1}", file="policies/a.yaml")
    folder.intent("Queue", "b", "{weight: x}", file="policies/b.yaml")
    folder.write("clusters/c.yaml", "a: [")
    folder.write("workloads/d.yml", b"\xff\xfe\x00a")

    result = folder.read()

    assert result.intents is None
    assert [(finding.at.file, finding.code) for finding in result.findings] == [
        ("clusters/c.yaml", "GVG104"),
        ("policies/a.yaml", "GVG112"),
        ("policies/b.yaml", "GVG114"),
        ("workloads/d.yml", "GVG103"),
    ]


def test_a_folder_without_a_fleet_is_no_empty_fleet(tmp_path: Path) -> None:
    for root in (tmp_path, tmp_path / "absent"):
        result = read_fleet(root)

        assert result.intents is None
        assert [finding.code for finding in result.findings] == ["GVG116"]


def test_a_broken_fleet_file_is_one_problem_not_two(folder: Folder) -> None:
    folder.write("gitops-vg.yaml", "apiVersion: gitops-vg.io/v1alpha1\nkind: Fleet\nmetadata: {nam: demo}\n")

    assert {finding.code for finding in folder.findings()} == {"GVG112", "GVG113"}


def test_everything_beside_the_four_places_is_ignored(folder: Folder) -> None:
    folder.write("README.yaml", "a: [")
    folder.write("workloads/.hidden.yaml", "a: [")
    folder.write("workloads/.cache/x.yaml", "a: [")
    folder.write("workloads/notes.txt", "a: [")

    assert folder.findings() == []


@pytest.mark.parametrize(
    ("content", "code", "line", "column"),
    [
        (b"\x7fELF\x00\x01", "GVG103", 1, 1),
        (b"a: b\nc: \xff\n", "GVG103", 2, 4),
        (b"a" * (MAX_BYTES + 1), "GVG102", 1, 1),
        (b"- a\n- b\n", "GVG111", 1, 1),
        (b"just text\n", "GVG111", 1, 1),
        (b"apiVersion: gitops-vg.io/v1\nkind: Queue\n", "GVG111", 1, 13),
        (b"apiVersion: gitops-vg.io/v1alpha1\nkind: Wrkload\n", "GVG111", 2, 7),
        (b"apiVersion: gitops-vg.io/v1alpha1\nkind: {a: b}\n", "GVG111", 2, 7),
        (b"apiVersion: gitops-vg.io/v1alpha1\n", "GVG111", 1, 1),
        (b"kind: Queue\nmetadata: {name: a}\n", "GVG111", 1, 1),
    ],
)
def test_a_file_that_is_no_intent_is_refused_with_its_place(
    folder: Folder, content: bytes, code: str, line: int, column: int
) -> None:
    folder.write("workloads/x.yaml", content)

    finding = folder.only()

    assert (finding.code, finding.at.line, finding.at.column) == (code, line, column)
    assert folder.read().intents is None


def test_a_byte_order_mark_is_tolerated(folder: Folder) -> None:
    folder.write(
        "policies/q.yaml", b"\xef\xbb\xbf" + b"apiVersion: gitops-vg.io/v1alpha1\nkind: Queue\nmetadata: {name: q}\n"
    )

    assert folder.findings() == []


@pytest.mark.parametrize("content", ["", "# nothing\n", "---\n", "---\n# a\n---\n"])
def test_an_emptied_file_is_a_warning(folder: Folder, content: str) -> None:
    folder.write("workloads/x.yaml", content)

    finding = folder.only()

    assert (finding.code, finding.severity) == ("GVG121", Severity.WARNING)
    assert folder.read().intents is not None


def test_a_folder_named_like_a_file_is_refused(folder: Folder) -> None:
    (folder.root / "workloads/x.yaml").mkdir(parents=True)

    assert folder.only().code == "GVG101"


def test_a_pipe_is_refused_without_waiting_for_it(folder: Folder) -> None:
    (folder.root / "workloads").mkdir()
    os.mkfifo(folder.root / "workloads/x.yaml")

    assert folder.only().code == "GVG101"


@pytest.mark.parametrize("target", ["nowhere", "x.yaml"])
def test_a_link_to_nothing_or_itself_is_refused(folder: Folder, target: str) -> None:
    (folder.root / "workloads").mkdir()
    (folder.root / "workloads/x.yaml").symlink_to(target)

    assert folder.only().code == "GVG101"


def test_a_link_out_of_the_folder_is_refused(folder: Folder, tmp_path_factory: pytest.TempPathFactory) -> None:
    outside = tmp_path_factory.mktemp("outside") / "secret.yaml"
    outside.write_text("token: hidden")
    (folder.root / "workloads").mkdir()
    (folder.root / "workloads/x.yaml").symlink_to(outside)

    finding = folder.only()

    assert finding.code == "GVG110"
    assert "hidden" not in str(finding)


def test_a_link_within_the_folder_is_followed(folder: Folder) -> None:
    folder.intent("Queue", "research", "{weight: 2}", file="shared/queue.yaml")
    (folder.root / "policies").mkdir()
    (folder.root / "policies/queue.yaml").symlink_to("../shared/queue.yaml")

    result = folder.read()

    assert result.findings == ()
    assert result.intents is not None
    assert "research" in result.intents.queue


def test_a_linked_folder_is_not_skipped_in_silence(folder: Folder) -> None:
    folder.intent("Queue", "research", "{weight: 2}", file="elsewhere/queue.yaml")
    (folder.root / "policies").mkdir()
    (folder.root / "policies/team").symlink_to("../elsewhere")

    assert folder.only().code == "GVG110"


def test_an_unreadable_file_is_refused(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    unreadable = folder.write("workloads/x.yaml", "a: b")
    opened = Path.open

    def denied(path: Path, *arguments: Any) -> Any:
        if path == unreadable:
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return opened(path, *arguments)

    monkeypatch.setattr(Path, "open", denied)

    finding = folder.only()

    assert finding.code == "GVG101"
    assert "Permission denied" in finding.message


def test_a_folder_that_cannot_be_searched_is_no_empty_folder(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    closed = folder.write("policies/deep/y.yaml", "a: b").parent
    scanned = os.scandir

    def denied(path: Any = ".") -> Any:
        if Path(path) == closed:
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return scanned(path)

    monkeypatch.setattr(os, "scandir", denied)

    finding = folder.only()

    assert (finding.code, finding.at.file) == ("GVG101", "policies/deep")
    assert folder.read().intents is None


def test_two_sources_for_one_intent_name_both_places(folder: Folder) -> None:
    folder.intent("Queue", "research", "{weight: 2}", file="policies/a.yaml")
    folder.intent("Queue", "research", "{weight: 3}", file="policies/b.yaml")

    finding = folder.only()

    assert finding.code == "GVG115"
    assert str(finding.at) == "policies/b.yaml:3:18"
    assert "policies/a.yaml:3:18" in finding.message


def test_one_name_in_two_namespaces_or_kinds_is_fine(folder: Folder) -> None:
    folder.intent("Workload", "x", JOB, file="workloads/1.yaml", namespace="a")
    folder.intent("Workload", "x", JOB, file="workloads/2.yaml", namespace="b")
    folder.intent("Queue", "x", "{weight: 2}", file="policies/x.yaml")

    assert folder.findings() == []


def test_the_default_namespace_counts_as_one(folder: Folder) -> None:
    folder.intent("Workload", "x", JOB, file="workloads/1.yaml")
    folder.intent("Workload", "x", JOB, file="workloads/2.yaml", namespace="default")

    assert folder.only().code == "GVG115"


def test_an_approval_takes_its_day_as_people_write_it(folder: Folder) -> None:
    digest = "sha256:" + "0" * 64
    for day in ("2026-12-08", '"2026-12-08"'):
        folder.intent("Approval", "a", f"{{plan: '{digest}', reason: moved, expires: {day}}}", file="policies/a.yaml")

        result = folder.read()

        assert result.findings == ()
        assert result.intents is not None
        assert result.intents.approvals[0].spec.expires.isoformat() == "2026-12-08"


@pytest.mark.parametrize("day", ["soon", "2026-13-01", "20261208", "true", '"2026-12-08T00:00:00"', "[1]"])
def test_an_approval_refuses_what_is_no_day(folder: Folder, day: str) -> None:
    digest = "sha256:" + "0" * 64
    folder.intent("Approval", "a", f"{{plan: '{digest}', reason: moved, expires: {day}}}", file="policies/a.yaml")

    finding = folder.only()

    assert finding.code in ("GVG109", "GVG114")
    assert finding.field == "spec.expires"


# ---------------------------------------------------------------- raw manifests


def test_raw_files_are_read_beside_the_workload_and_are_no_intents(folder: Folder) -> None:
    folder.intent("Workload", "legacy", "{manifests: {files: [legacy/*.yaml]}}", namespace="web")
    folder.write("workloads/legacy/a.yaml", CONFIG + "---\n" + CONFIG.replace("settings", "more"))

    result = folder.read()

    assert result.findings == ()
    assert result.intents is not None
    (workload,) = result.intents.workloads
    assert [body["metadata"]["name"] for body in workload.raw] == ["settings", "more"]
    assert str(workload.raw_at(1, ("metadata", "name"))) == "workloads/legacy/a.yaml:7:18"


def test_an_object_that_no_workload_refers_to_is_a_finding(folder: Folder) -> None:
    folder.write("workloads/legacy/a.yaml", CONFIG)

    assert folder.only().code == "GVG117"


@pytest.mark.parametrize(
    ("pattern", "code"),
    [
        ("none/*.yaml", "GVG118"), ("''", "GVG118"), ("'**x'", "GVG118"), ("'a\\0'", "GVG118"), (".", "GVG118"),
        ("../*.yaml", "GVG110"), ("/etc/passwd", "GVG110"), ("a/../../b", "GVG110"),
    ],
)  # fmt: skip
def test_a_pattern_that_leads_nowhere_or_out_is_refused(folder: Folder, pattern: str, code: str) -> None:
    folder.intent("Workload", "legacy", f"{{manifests: {{files: [{pattern}]}}}}")

    assert folder.only().code == code


def test_a_pattern_must_not_match_intents(folder: Folder) -> None:
    folder.intent("Workload", "legacy", "{manifests: {files: ['*.yaml']}}")

    assert folder.only().code == "GVG111"


def test_a_linked_raw_file_must_not_lead_out(folder: Folder, tmp_path_factory: pytest.TempPathFactory) -> None:
    outside = tmp_path_factory.mktemp("outside")
    (outside / "a.yaml").write_text(CONFIG)
    folder.intent("Workload", "legacy", "{manifests: {files: ['raw/*.json', 'raw/*/*.yaml']}}")
    (folder.root / "workloads/raw").mkdir()
    (folder.root / "workloads/raw/a.json").symlink_to(outside / "a.yaml")
    (folder.root / "workloads/raw/team").symlink_to(outside)

    assert {finding.code for finding in folder.findings()} == {"GVG110"}
    assert folder.read().intents is None


@pytest.mark.parametrize(
    "body",
    ["{kind: ConfigMap}", "{apiVersion: v1, kind: ConfigMap}", "{apiVersion: v1, kind: ConfigMap, metadata: {}}",
     "{apiVersion: v1, kind: ConfigMap, metadata: {name: 5}}", "{apiVersion: 1, kind: ConfigMap, metadata: {name: a}}",
     "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: 5}}"],
)  # fmt: skip
def test_a_raw_object_needs_a_kind_and_a_name(folder: Folder, body: str) -> None:
    folder.intent("Workload", "legacy", f"{{manifests: {{inline: [{body}]}}}}")

    assert folder.only().code == "GVG111"


@pytest.mark.parametrize("field", ["data", "stringData"])
def test_the_value_of_a_secret_is_refused_and_never_shown(folder: Folder, field: str) -> None:
    folder.intent("Workload", "legacy", "{manifests: {files: [raw/*.yaml]}}")
    secret = f"apiVersion: v1\nkind: Secret\nmetadata: {{name: token}}\n{field}: {{token: aHVudGVyMg}}\n"
    folder.write("workloads/raw/secret.yaml", secret)

    finding = folder.only()

    assert finding.code == "GVG119"
    assert "aHVudGVyMg" not in str(finding)


def test_a_secret_without_values_is_taken(folder: Folder) -> None:
    folder.intent("Workload", "legacy", "{manifests: {inline: [{apiVersion: v1, kind: Secret, metadata: {name: a}}]}}")

    assert folder.findings() == []


def test_problems_of_a_file_that_two_workloads_use_are_reported_once(folder: Folder) -> None:
    folder.intent("Workload", "a", "{manifests: {files: [raw/*.yaml]}}")
    folder.intent("Workload", "b", "{manifests: {files: [raw/x.yaml]}}")
    folder.write("workloads/raw/x.yaml", "kind: ConfigMap\napiVersion: v1\nmetadata: {}\n")

    assert [finding.code for finding in folder.findings()] == ["GVG111"]


@given(
    content=st.one_of(st.binary(max_size=200), st.text(max_size=200).map(lambda text: text.encode("utf-8", "replace")))
)
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_bytes_make_reading_fail(make_folder: Callable[[], Folder], content: bytes) -> None:
    folder = make_folder()
    folder.write("workloads/x.yaml", content)

    for finding in folder.read().findings:
        assert finding.at.file in ("workloads/x.yaml", "gitops-vg.yaml")
        assert finding.at.line >= 1
        assert finding.at.column >= 1
        assert finding.fix
