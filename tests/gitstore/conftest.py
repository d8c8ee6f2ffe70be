from __future__ import annotations

from pathlib import Path

import pytest
from gitstore_fleet import fleet_repository, git

from gitops_vg.gitstore import Repository


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    """A fleet's repository, nothing published yet."""
    return fleet_repository(tmp_path / "fleet")


@pytest.fixture
def remote(tmp_path: Path, repository: Repository) -> Path:
    """A bare remote named origin."""
    bare = tmp_path / "origin.git"
    git(tmp_path, "init", "--quiet", "--bare", "--initial-branch=main", str(bare))
    git(repository.root, "remote", "add", "origin", str(bare))
    git(repository.root, "push", "--quiet", "--set-upstream", "origin", "main")
    return bare
