"""The command line as a whole: every outcome is one exit code and clear words."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import click
import pytest

from gitops_vg.cli import app as application
from gitops_vg.cli.app import COMMANDS, app, run
from gitops_vg.errors import (
    ClusterError,
    Conflict,
    FieldConflict,
    GitopsVgError,
    GitUnreachable,
    GuardError,
    InputError,
    Unavailable,
    UsageError,
)

PROGRAM = [sys.executable, "-c", "from gitops_vg.cli.app import main; main()"]


@pytest.mark.parametrize("arguments", [["bogus"], ["validate", "--bogus"], ["validate", "-o", "xml"], []])
def test_wrong_usage_is_64_and_names_the_help(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(arguments) == 64
    assert "--help" in capsys.readouterr().err


def test_a_misspelt_command_gets_a_suggestion(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explian"]) == 64
    assert "did you mean 'explain'?" in capsys.readouterr().err


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_with_an_example_and_both_formats(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([name, "--help"]) == 0
    text = capsys.readouterr().out
    assert f"Example: gitops-vg {name}" in text
    if name != "sandbox":
        assert "-o, --output [text|json]" in text


def test_help_imports_no_command_and_none_of_the_heavy_packages() -> None:
    probe = (
        "import sys\nfrom gitops_vg.cli.app import run\nrun(['--help'])\n"
        "heavy = {'kubernetes', 'pydantic', 'git', 'aiohttp', 'yaml', 'jsonschema'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    output = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True).stdout
    assert output.rstrip().endswith("[]")


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (UsageError("no"), 64),
        (InputError("no", findings=()), 1),
        (GuardError("no", digest="sha256:0"), 3),
        (GitUnreachable("no"), 4),
        (ClusterError("no"), 1),
        (Conflict("no", conflicts=(FieldConflict(".spec.replicas", "hpa"),)), 1),
        (Unavailable("no"), 4),
    ],
)
def test_each_error_has_its_exit_code_and_no_traceback(
    error: GitopsVgError, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fails(error, monkeypatch=monkeypatch)

    assert run(["validate"]) == code
    printed = capsys.readouterr().err
    assert "error: no" in printed
    assert "Traceback" not in printed


def test_a_guard_prints_its_reasons_and_the_digest_to_approve(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fails(GuardError("held", digest="sha256:abc", reasons=["Queue q is protected"], hint="commit an Approval"),
          monkeypatch=monkeypatch)  # fmt: skip

    run(["validate"])

    assert capsys.readouterr().err == (
        "error: held\n    Queue q is protected\n    plan sha256:abc\n    commit an Approval\n"
    )


def test_json_output_has_errors_as_json(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    fails(GuardError("held", digest="sha256:abc", reasons=["why"]), monkeypatch=monkeypatch)

    assert run(["validate", "-o", "json"]) == 3
    error = json.loads(capsys.readouterr().out)["error"]
    assert error["kind"] == "GuardError"
    assert error["digest"] == "sha256:abc"
    assert error["exitCode"] == 3


def test_a_defect_is_one_paragraph_and_debug_shows_the_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fails(ZeroDivisionError("division by zero"), monkeypatch=monkeypatch)

    assert run(["validate"]) == 1
    quiet = capsys.readouterr().err
    assert "internal error" in quiet
    assert "--debug" in quiet
    assert "Traceback" not in quiet
    run(["--debug", "validate"])
    assert "Traceback" in capsys.readouterr().err


def test_control_characters_of_a_message_never_reach_the_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fails(ClusterError("evil \x1b[2J name"), monkeypatch=monkeypatch)

    run(["validate"])

    assert "\x1b" not in capsys.readouterr().err


def test_a_reader_that_leaves_ends_the_program_quietly() -> None:
    script = f"{sys.executable} -c 'from gitops_vg.cli.app import main; main()' --help | true"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False)
    assert done.stderr == ""


def test_init_writes_a_fleet_that_validates_and_never_overwrites(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "My Fleet"

    assert run(["init", str(folder)]) == 0
    (folder / "clusters/one.yaml").write_text(
        "apiVersion: gitops-vg.io/v1alpha1\nkind: Cluster\nmetadata: {name: one}\n"
    )
    assert run(["validate", "-C", str(folder)]) == 0
    assert "my-fleet" in capsys.readouterr().out
    assert run(["init", str(folder)]) == 64


def fails(error: Exception, *, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make `validate` a command that raises `error`."""

    @click.command("validate")
    @click.option("-o", "output")
    @click.pass_obj
    def failing(session: application.Session, output: str | None) -> None:
        session.format = output or "text"
        raise error

    monkeypatch.setattr("gitops_vg.cli.validate.command", failing)
    assert app.get_command(click.Context(app), "validate") is failing
