"""The commands on a real repository and a running control plane: results, exit codes, and bad surroundings."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gitops_vg.cli.app import run
from gitops_vg.demo import FLEET
from gitops_vg.gitstore import Repository, start_repository
from gitops_vg.kube import connect
from gitops_vg.objects import GroupKind
from gitops_vg.sandbox import KARMADA, Sandbox


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox.start(job_seconds=600) as running:
        server = connect(kubeconfig=str(running.kubeconfig), context=KARMADA)
        deadline = time.monotonic() + 15
        while time.monotonic() < deadline:
            clusters = server.list(GroupKind("cluster.karmada.io", "Cluster"))
            ready = [
                any(
                    c["type"] == "Ready" and c["status"] == "True" for c in body.get("status", {}).get("conditions", [])
                )
                for body in clusters
            ]
            if len(ready) == 3 and all(ready):
                break
            time.sleep(0.05)
        yield running


@pytest.fixture
def fleet(tmp_path: Path, repository_root: Path, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> Repository:
    """The sample fleet in a repository of its own, with the embedded control plane as its kubeconfig."""
    for name in FLEET:
        source = repository_root / name
        (shutil.copytree if source.is_dir() else shutil.copy)(source, tmp_path / name)  # type: ignore[operator]
    monkeypatch.setenv("KUBECONFIG", str(sandbox.kubeconfig))
    monkeypatch.chdir(tmp_path)
    return start_repository(tmp_path, message="intents")


def answer(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, Any]:
    """Exit code and decoded JSON output."""
    capsys.readouterr()
    code = run([*arguments, "-o", "json"])
    return code, json.loads(capsys.readouterr().out)


def test_the_whole_job_by_its_commands(fleet: Repository, capsys: pytest.CaptureFixture[str]) -> None:
    assert answer(["validate"], capsys) == (0, {"valid": True, "findings": []})

    code, capacity = answer(["capacity", "--save", "capacity.json"], capsys)
    assert code == 0
    first = capacity["clusters"][0]
    assert (first["name"], first["nodes"], first["capacity"]["kubernetes.io/batch-cpu"]) == ("cluster-1", 20, "320000")
    (fleet.root / "capacity.json").rename(fleet.root.parent / f"{fleet.root.name}.json")

    code, plan = answer(["plan"], capsys)
    assert code == 2
    decisions = {item["workload"]: item for item in plan["decisions"]}
    assert "cluster-2" not in decisions["web/shop"]["assignments"]
    assert sum(decisions["web/shop"]["assignments"].values()) == 12
    assert decisions["ml/llm-pretraining"]["state"] == "pending"
    assert set(decisions["ml/bert-training"]["rejected"]) == {"cluster-2", "cluster-3"}

    code, saved = answer(["plan", "--snapshot", f"../{fleet.root.name}.json"], capsys)
    assert (code, saved["decisions"]) == (2, plan["decisions"])

    code, why = answer(["explain", "bert-training"], capsys)
    assert (code, why["rejected"]["cluster-3"]["text"]) == (0, "not colocation-ready")

    code, published = answer(["publish"], capsys)
    assert (code, len(published["removed"])) == (0, 0)
    assert published["commit"]
    assert answer(["publish"], capsys)[1]["commit"] == ""
    assert answer(["plan"], capsys)[0] == 0

    code, manifests = answer(["compile", "--locked"], capsys)
    assert (code, len(manifests)) == (0, len([path for path in published["added"] if path.startswith("manifests/")]))

    assert answer(["diff"], capsys)[0] == 2
    code, synced = answer(["sync", "--wait", "30"], capsys)
    assert (code, synced["failures"], synced["unsettled"]) == (0, [], [])
    assert answer(["diff"], capsys)[0] == 0
    assert answer(["drift"], capsys)[0] == 0
    assert answer(["drift"], capsys)[1]["drifted"] == []

    subprocess.run(["git", "rm", "-q", "-r", "policies", "workloads"], check=True)
    fleet.commit_all("everything goes")
    code, stopped = answer(["publish"], capsys)
    assert code == 3
    assert stopped["error"]["digest"].startswith("sha256:")
    assert answer(["drift"], capsys)[1]["drifted"] == []


def test_text_output_is_for_people(fleet: Repository, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["plan"]) == 2
    text = capsys.readouterr().out
    assert "ml/llm-pretraining" in text
    assert "nowhere yet" in text
    assert "\x1b[" not in text
    assert run(["--color", "always", "plan"]) == 2
    assert "\x1b[" in capsys.readouterr().out
    assert run(["rules", "gvg105"]) == 0
    assert "wrong:" in capsys.readouterr().out
    assert run(["schema", "queue"]) == 0
    assert json.loads(capsys.readouterr().out)["title"].startswith("Queue")


@pytest.mark.parametrize("command", ["plan", "publish", "diff", "sync", "drift", "compile", "capacity"])
def test_wrong_intents_stop_every_command_and_change_nothing(
    fleet: Repository, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (fleet.root / "workloads/broken.yaml").write_text("kind: [unclosed\n")
    (fleet.root / "workloads/worse.yaml").write_bytes(b"\x00\x01binary")
    fleet.commit_all("broken")

    code, said = answer([command], capsys)

    assert code == 1
    assert {finding["file"] for finding in said["error"]["findings"]} == {
        "workloads/broken.yaml",
        "workloads/worse.yaml",
    }
    assert fleet.branch_commit("rendered") is None


@pytest.mark.parametrize("command", ["plan", "publish", "capacity"])
def test_a_control_plane_that_is_down_is_exit_4(
    fleet: Repository, command: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gitops_vg.kube.transport._FIRST_PAUSE", 0.01)
    with Sandbox.start(karmada=False, members=()) as gone:
        text = gone.kubeconfig.read_text()
    (fleet.root.parent / f"{fleet.root.name}-gone").write_text(text)

    code, said = answer([command, "--kubeconfig", f"../{fleet.root.name}-gone"], capsys)

    assert (code, said["error"]["kind"]) == (4, "Unavailable")
    assert fleet.branch_commit("rendered") is None


def test_a_member_is_not_a_control_plane(fleet: Repository, capsys: pytest.CaptureFixture[str]) -> None:
    code, said = answer(["plan", "--context", "cluster-1"], capsys)

    assert (code, said["error"]["kind"]) == (1, "KindMissing")
    assert "not a karmada-apiserver" in said["error"]["message"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["explain", "nobody"], "there is no workload nobody"),
        (["plan", "--snapshot", "missing.json"], "cannot be read"),
        (["plan", "--kubeconfig", "missing"], "no usable kubeconfig"),
        (["plan", "--context", "nowhere"], "has no context nowhere"),
        (["validate", "-C", "nowhere"], "there is no folder nowhere"),
        (["rules", "GVG999"], "there is no rule GVG999"),
        (["schema", "Nope"], "there is no kind of intent 'Nope'"),
        (["run", "--listen", "nonsense"], "no ADDRESS:PORT"),
        (["run", "--follow", "origin"], "no REMOTE/BRANCH"),
    ],
)
def test_wrong_arguments_are_exit_64(
    fleet: Repository, arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, said = answer(arguments, capsys)

    assert code == 64
    assert words in said["error"]["message"]


def test_outside_of_a_repository_planning_works_and_publishing_says_why_not(
    tmp_path: Path, repository_root: Path, sandbox: Sandbox, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    for name in FLEET:
        source = repository_root / name
        (shutil.copytree if source.is_dir() else shutil.copy)(source, tmp_path / name)  # type: ignore[operator]
    monkeypatch.setenv("KUBECONFIG", str(sandbox.kubeconfig))
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))

    assert answer(["plan", "-C", str(tmp_path)], capsys)[0] == 2
    code, said = answer(["publish", "-C", str(tmp_path)], capsys)

    assert (code, said["error"]["kind"]) == (1, "GitError")
    assert "in no Git repository" in said["error"]["message"]


def test_uncommitted_changes_are_not_published(fleet: Repository, capsys: pytest.CaptureFixture[str]) -> None:
    (fleet.root / "workloads/shop.yaml").write_text("")

    code, said = answer(["publish"], capsys)

    assert code == 1
    assert "uncommitted changes in workloads/shop.yaml" in said["error"]["message"]


def test_syncing_before_publishing_says_what_to_do(fleet: Repository, capsys: pytest.CaptureFixture[str]) -> None:
    code, said = answer(["sync"], capsys)

    assert (code, said["error"]["hint"]) == (1, "run `gitops-vg publish` first")


def test_a_rendered_branch_that_somebody_changed_is_refused_whole(
    fleet: Repository, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["publish"]) == 0
    blob = fleet.commit_files(
        parent=fleet.branch_commit("rendered"), changed={"settings.json": b"{}"}, removed=(), message="by hand"
    )
    fleet.move_branch("rendered", new=blob, old=fleet.branch_commit("rendered"))

    for command in ("sync", "diff", "drift"):
        code, said = answer([command], capsys)
        assert code == 1
        assert "settings.json was changed by somebody else" in said["error"]["message"]


def test_an_older_source_does_not_undo_what_a_newer_one_rendered(
    fleet: Repository, capsys: pytest.CaptureFixture[str]
) -> None:
    first = fleet.source_commit()
    path = fleet.root / "workloads/shop.yaml"
    path.write_text(path.read_text().replace("shop:2.3", "shop:2.4"))
    fleet.commit_all("newer")
    assert run(["publish"]) == 0
    subprocess.run(["git", "checkout", "-q", "-b", "older", first], check=True)

    code, said = answer(["publish"], capsys)

    assert code == 1
    assert "is not in the history of" in said["error"]["message"]
    assert run(["publish", "--any-history"]) == 0
