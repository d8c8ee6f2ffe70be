"""Publishing: one commit on the rendered branch, nothing else touched, nobody's files lost."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from gitstore_fleet import BRANCH, commit_by_hand, files, git, published, tree_of

from gitops_vg.errors import GitError, GuardError
from gitops_vg.gitstore import Repository, publish


def test_the_first_publication_is_a_commit_without_parents(repository: Repository) -> None:
    result = published(repository)

    assert git(repository.root, "rev-list", "--count", BRANCH) == "1"
    assert result.commit == git(repository.root, "rev-parse", BRANCH)
    assert "manifests/web/deployment.apps/shop.yaml" in result.added
    assert (result.changed, result.removed, result.pushed) == ((), (), False)


def test_what_was_published_reads_back_as_it_was(repository: Repository) -> None:
    published(repository)

    tree = tree_of(repository)

    assert {str(manifest.key) for manifest in tree.manifests} >= {"Deployment.apps web/shop", "Service web/shop"}
    assert tree.lock["web/shop"].assignments == {"one": 2}
    assert tree.settings.fleet == "test"
    assert tree.source == repository.source_commit()
    assert tree.snapshot is not None
    assert tree.snapshot.cluster["one"].allocatable == {"cpu": 8000}
    assert tree.foreign == ()


def test_every_owned_path_has_its_sha256_in_the_manifest(repository: Repository) -> None:
    published(repository)

    listed = json.loads(git(repository.root, "show", f"{BRANCH}:MANIFEST.json"))

    paths = set(git(repository.root, "ls-tree", "-r", "--name-only", BRANCH).splitlines())
    assert set(listed["files"]) == paths - {"MANIFEST.json"}
    assert listed["source"] == repository.source_commit()
    assert listed["policies"] == "sha256:policies"


def test_the_commit_says_in_trailers_where_it_comes_from(repository: Repository) -> None:
    published(repository)

    trailers = git(repository.root, "log", "-1", "--format=%(trailers:only,unfold)", BRANCH)

    keys = [line.partition(":")[0] for line in trailers.splitlines()]
    assert keys == ["Source-Commit", "Tool-Version", "Snapshot-Digest", "Placement-Digest", "Policy-Digest"]
    assert f"Source-Commit: {repository.source_commit()}" in trailers


def test_the_same_files_again_make_no_commit(repository: Repository) -> None:
    first = published(repository)

    again = published(repository)

    assert again.commit == ""
    assert git(repository.root, "rev-parse", BRANCH) == first.commit


def test_moved_capacity_alone_makes_no_commit_and_keeps_the_committed_snapshot(repository: Repository) -> None:
    published(repository, files("shop", free=8000))

    again = published(repository, files("shop", free=4000))

    assert again.commit == ""
    snapshot = tree_of(repository).snapshot
    assert snapshot is not None
    assert snapshot.cluster["one"].allocatable == {"cpu": 8000}


def test_a_decision_takes_the_capacity_it_was_made_from_along(repository: Repository) -> None:
    published(repository, files("shop", free=8000))

    again = published(repository, files("shop", "cart", free=4000))

    assert "snapshot.json" in again.changed


def test_what_left_the_intents_leaves_the_branch(repository: Repository) -> None:
    published(repository, files("shop", "cart"))

    result = published(repository, files("shop"))

    assert "manifests/web/deployment.apps/cart.yaml" in result.removed
    assert "placements.lock.yaml" in result.changed
    assert "cart" not in git(repository.root, "ls-tree", "-r", "--name-only", BRANCH)


def test_files_of_people_in_the_branch_are_left_alone_and_named(repository: Repository) -> None:
    published(repository)
    commit_by_hand(repository, {"README of ours.md": "why", 'notes/"quoted" näme.txt': "x"})

    published(repository, files("shop", "cart"))

    assert tree_of(repository).foreign == ("README of ours.md", 'notes/"quoted" näme.txt')
    assert git(repository.root, "show", f"{BRANCH}:README of ours.md") == "why"


@pytest.mark.parametrize(
    "path",
    [
        "manifests/web/deployment.apps/cart.yaml",
        "manifests/web/propagationpolicy.policy.karmada.io/cart.yaml/notes.md",
        "manifests/api",
    ],
)
def test_a_file_of_people_is_never_replaced(repository: Repository, path: str) -> None:
    published(repository)
    commit_by_hand(repository, {path: "mine"})
    new = {**files("shop", "cart"), "manifests/api/service/cart.yaml": b"apiVersion: v1\n"}

    with pytest.raises(GitError, match=f"has {re.escape(path)}, which gitops-vg did not write"):
        published(repository, new)

    assert git(repository.root, "show", f"{BRANCH}:{path}") == "mine"


def test_the_working_tree_and_its_index_stay_as_they_are(repository: Repository) -> None:
    (repository.root / "workloads/shop.yaml").write_text("edited")
    git(repository.root, "add", "workloads/shop.yaml")
    (repository.root / "workloads/new.yaml").write_text("untracked")
    before = git(repository.root, "status", "--porcelain")

    published(repository)

    assert git(repository.root, "status", "--porcelain") == before
    assert git(repository.root, "rev-parse", "--abbrev-ref", "HEAD") == "main"


def test_a_detached_head_publishes_as_well(repository: Repository) -> None:
    git(repository.root, "checkout", "--quiet", "--detach")

    assert published(repository).commit


def test_a_branch_that_somebody_works_on_is_refused(repository: Repository, tmp_path: Path) -> None:
    published(repository)
    git(repository.root, "worktree", "add", "--quiet", str(tmp_path / "elsewhere"), BRANCH)

    with pytest.raises(GitError, match=r"rendered is checked out in .*/elsewhere"):
        published(repository, files("cart"))


def test_a_branch_of_something_else_is_never_written_to(repository: Repository) -> None:
    git(repository.root, "branch", BRANCH)

    with pytest.raises(GitError, match="is no rendered tree") as raised:
        published(repository)

    assert "rendered.branch" in raised.value.hint


@pytest.mark.parametrize("name", ["", "-f", "two words", "a..b", "x.lock", "a:b", "refs/*", "@{u}"])
def test_a_name_that_no_branch_can_have_is_refused(repository: Repository, name: str) -> None:
    with pytest.raises(GitError, match="no name of a branch"):
        published(repository, branch=name)


def test_a_branch_may_have_folders_in_its_name(repository: Repository) -> None:
    assert published(repository, branch="env/prod").commit == git(repository.root, "rev-parse", "env/prod")


def test_a_render_that_is_stopped_leaves_nothing_behind(repository: Repository) -> None:
    first = published(repository)

    def stopped(_: object) -> dict[str, bytes]:
        raise GuardError("not published", digest="sha256:x")

    with pytest.raises(GuardError):
        publish(repository, branch=BRANCH, remote=None, source="x", subject="x", render=stopped)

    assert git(repository.root, "rev-parse", BRANCH) == first.commit


def test_a_hook_of_the_repository_never_runs(repository: Repository) -> None:
    for name in ("reference-transaction", "post-update", "pre-commit"):
        hook = repository.root / ".git/hooks" / name
        hook.write_text("#!/bin/sh\nexit 1\n")
        hook.chmod(0o755)

    assert published(repository).commit


def test_a_caller_inside_a_hook_of_another_repository_does_not_lead_astray(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other"
    git(tmp_path, "init", "--quiet", str(other))
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(other))
    monkeypatch.setenv("GIT_INDEX_FILE", str(other / ".git/index"))

    opened = Repository.open(repository.root)
    published(opened)

    assert opened.branch_commit(BRANCH)
    assert opened.source_state().dirty == ()


def test_a_repository_of_the_sha256_format_works_the_same(tmp_path: Path) -> None:
    folder = tmp_path / "wide"
    git(tmp_path, "init", "--quiet", "--object-format=sha256", str(folder))
    (folder / "gitops-vg.yaml").write_text("kind: Fleet\n")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "-m", "intents")
    wide = Repository.open(folder)

    published(wide, files("shop", "cart"))
    published(wide, files("shop"))

    assert len(wide.branch_commit(BRANCH) or "") == 64
    assert tree_of(wide).lock.keys() == {"web/shop"}
