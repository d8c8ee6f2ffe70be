"""The project as people meet it: what the pages promise exists, what must not be here is not."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import gitops_vg.errors as errors
from gitops_vg.cli.app import COMMANDS

PAGES = ("README.md", "CONTRIBUTING.md", "docs/architecture.md", "docs/limits.md", "docs/fidelity.md")


@pytest.mark.parametrize("page", PAGES)
def test_every_command_that_a_page_names_exists(repository_root: Path, page: str) -> None:
    text = (repository_root / page).read_text()

    for command in re.findall(r"(?:`|^    )gitops-vg ([a-z]+)", text, re.MULTILINE):
        assert command in COMMANDS, command
    makefile = (repository_root / "Makefile").read_text()
    for target in re.findall(r"`make ([a-z0-9-]+)`|^    make ([a-z0-9-]+)", text, re.MULTILINE):
        assert re.search(rf"^{target[0] or target[1]}:", makefile, re.MULTILINE), target


@pytest.mark.parametrize("page", PAGES)
def test_every_file_that_a_page_names_exists(repository_root: Path, page: str) -> None:
    text = (repository_root / page).read_text()
    named = re.findall(
        r"`((?:docs|tests|schemas|scripts|gitops_vg|policies|clusters|workloads)/[A-Za-z0-9_./-]*)`", text
    )

    missing = [
        name for name in named if not (repository_root / name).exists() and not name.startswith("policies/approvals")
    ]

    assert missing == []


def test_the_modules_that_the_architecture_names_hold_what_it_says(repository_root: Path) -> None:
    text = (repository_root / "docs/architecture.md").read_text()

    for module, name in re.findall(r"`([a-z_]+/[a-z_]+\.py): ([A-Za-z_.]+)`", text):
        source = (repository_root / "gitops_vg" / module).read_text()
        assert re.search(rf"(def|class) {name.split('.')[-1]}\b", source), f"{module}: {name}"


def test_every_error_is_in_the_tree_of_its_docstring() -> None:
    classes = {
        name
        for name, value in vars(errors).items()
        if isinstance(value, type) and issubclass(value, errors.GitopsVgError)
    }

    assert errors.__doc__ is not None
    assert {name for name in classes if not re.search(rf"\b{name}\b", errors.__doc__)} == set()
    for name in classes:
        documented = re.search(rf"{name} +([0-9]+) ", errors.__doc__)
        assert documented, name
        assert int(documented.group(1)) == getattr(errors, name).exit_code


def test_actions_are_pinned_and_may_do_nothing_by_default(repository_root: Path) -> None:
    for path in (repository_root / ".github/workflows").glob("*.yaml"):
        text = path.read_text()
        assert "\npermissions: {}\n" in text
        assert re.findall(r"uses: \S+@(?![0-9a-f]{40} )\S+", text) == []
