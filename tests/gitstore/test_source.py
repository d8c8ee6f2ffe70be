"""Intents come from commits: which one, whether something is uncommitted, and all of its files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from gitstore_fleet import BRANCH, fleet_repository, git, published, write

from gitops_vg.errors import GitError
from gitops_vg.gitstore import Repository, start_repository


def exported(repository: Repository, commit: str = "") -> dict[str, bytes]:
    with repository.export(commit or repository.source_commit()) as folder:
        return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_folder_in_no_repository_is_refused(tmp_path: Path) -> None:
    with pytest.raises(GitError, match="is in no Git repository") as raised:
        Repository.open(tmp_path)

    assert "git init" in raised.value.hint


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(GitError, match="there is no folder"):
        Repository.open(tmp_path / "nowhere")


def test_a_bare_repository_is_refused(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet", "--bare", "bare.git")

    with pytest.raises(GitError, match="bare repository"):
        Repository.open(tmp_path / "bare.git")


def test_a_repository_without_commits_is_refused(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet")

    with pytest.raises(GitError, match="no commit yet"):
        Repository.open(tmp_path).source_state()


def test_a_commit_is_seen_wherever_git_keeps_the_name_of_it(repository: Repository, tmp_path: Path) -> None:
    first = repository.source_commit()
    git(repository.root, "commit", "--quiet", "--allow-empty", "-m", "second")
    second = repository.source_commit()
    assert second == git(repository.root, "rev-parse", "HEAD") != first

    git(repository.root, "pack-refs", "--all")
    assert (repository.source_commit(), repository.branch_commit("main")) == (second, second)

    git(repository.root, "reset", "--quiet", "--hard", first)
    assert (repository.source_commit(), repository.branch_commit("main")) == (first, first)

    git(repository.root, "checkout", "--quiet", "--detach", second)
    assert (repository.source_commit(), repository.branch_commit("main")) == (second, first)

    git(repository.root, "worktree", "add", "--quiet", "--detach", str(tmp_path / "linked"), first)
    assert Repository.open(tmp_path / "linked").source_commit() == first

    git(repository.root, "branch", "--quiet", "--delete", "--force", "main")
    assert repository.branch_commit("main") is None


def test_a_name_that_leads_out_of_the_refs_is_no_commit(repository: Repository) -> None:
    commit = repository.source_commit()
    (repository.root / "elsewhere").write_text(commit)

    assert repository.resolve("refs/../../elsewhere") is None


def test_a_head_whose_commit_is_missing_is_damage_and_not_a_new_repository(repository: Repository) -> None:
    (repository.root / ".git/refs/heads/main").write_text("f" * 40 + "\n")

    with pytest.raises(GitError, match="HEAD names a commit that is not here"):
        repository.source_commit()


def test_a_repository_of_another_user_is_not_trusted(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")

    with pytest.raises(GitError, match="belongs to another user") as raised:
        Repository.open(repository.root)

    assert "safe.directory" in raised.value.hint


def test_a_folder_behind_a_link_is_the_folder(repository: Repository, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(repository.root)

    opened = Repository.open(tmp_path / "link")

    assert opened.root == repository.root
    assert published(opened).commit


def test_a_linked_worktree_publishes_into_its_repository(repository: Repository, tmp_path: Path) -> None:
    git(repository.root, "worktree", "add", "--quiet", "--detach", str(tmp_path / "linked"))

    result = published(Repository.open(tmp_path / "linked"))

    assert repository.branch_commit(BRANCH) == result.commit


def test_a_clean_fleet_has_nothing_uncommitted(repository: Repository) -> None:
    state = repository.source_state()

    assert state.commit == git(repository.root, "rev-parse", "HEAD")
    assert (state.dirty, state.ahead, state.behind) == ((), 0, 0)


def test_edited_new_renamed_and_deleted_files_of_the_fleet_are_uncommitted(repository: Repository) -> None:
    write(repository.root, {"gitops-vg.yaml": "edited", "policies/with space.yaml": "x", 'clusters/"q".yaml': "x"})
    git(repository.root, "mv", "workloads/shop.yaml", "workloads/store.yaml")

    assert set(repository.source_state().dirty) == {
        "gitops-vg.yaml", "policies/with space.yaml", 'clusters/"q".yaml', "workloads/shop.yaml", "workloads/store.yaml",
    }  # fmt: skip


def test_what_lies_beside_the_fleet_does_not_count_as_uncommitted(repository: Repository) -> None:
    write(repository.root, {"notes.txt": "x", "docs/page.md": "x"})

    assert repository.source_state().dirty == ()


def test_a_branch_that_left_its_upstream_is_counted(repository: Repository, remote: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "--quiet", str(remote), "other")
    git(tmp_path / "other", "commit", "--quiet", "--allow-empty", "-m", "theirs")
    git(tmp_path / "other", "push", "--quiet")
    git(repository.root, "commit", "--quiet", "--allow-empty", "-m", "mine")
    git(repository.root, "fetch", "--quiet")

    state = repository.source_state()

    assert (state.ahead, state.behind) == (1, 1)


def test_an_export_has_the_commit_and_not_the_working_tree(repository: Repository) -> None:
    write(repository.root, {"workloads/shop.yaml": "edited", "workloads/new.yaml": "new"})

    assert exported(repository) == {"gitops-vg.yaml": b"kind: Fleet\n", "workloads/shop.yaml": b"kind: Workload\n"}


def test_an_attribute_cannot_make_intents_vanish_from_an_export(repository: Repository) -> None:
    write(repository.root, {".gitattributes": "workloads/* export-ignore\n*.yaml export-subst\n"})
    git(repository.root, "add", "--all")
    git(repository.root, "commit", "--quiet", "-m", "attributes")

    assert "workloads/shop.yaml" in exported(repository)


def test_an_export_is_byte_for_byte(repository: Repository) -> None:
    raw = b"a: 1\r\nb: \xc3\xa4\n\xff"
    (repository.root / "workloads/odd name.yaml").write_bytes(raw)
    git(repository.root, "add", "--all")
    git(repository.root, "commit", "--quiet", "-m", "odd")

    assert exported(repository)["workloads/odd name.yaml"] == raw


def test_a_fleet_in_a_folder_of_its_repository_is_exported_alone(tmp_path: Path) -> None:
    outer = fleet_repository(tmp_path / "mono")
    write(outer.root, {"fleets/prod/gitops-vg.yaml": "kind: Fleet # prod\n", "fleets/prod/workloads/a.yaml": "a\n"})
    git(outer.root, "add", "--all")
    git(outer.root, "commit", "--quiet", "-m", "prod")
    write(outer.root, {"workloads/shop.yaml": "edited outside"})

    inner = Repository.open(outer.root / "fleets/prod")

    assert exported(inner) == {"gitops-vg.yaml": b"kind: Fleet # prod\n", "workloads/a.yaml": b"a\n"}
    assert inner.source_state().dirty == ()


def test_a_fleet_folder_that_was_never_committed_cannot_be_exported(repository: Repository) -> None:
    write(repository.root, {"fleets/new/gitops-vg.yaml": "kind: Fleet\n"})
    inner = Repository.open(repository.root / "fleets/new")

    with pytest.raises(GitError, match="has no folder fleets/new"), inner.export(inner.source_commit()):
        pass


def test_links_are_exported_as_links_and_nothing_is_written_through_them(
    repository: Repository, tmp_path: Path
) -> None:
    (tmp_path / "outside").mkdir()
    (repository.root / "workloads/out.yaml").symlink_to(tmp_path / "outside")
    (repository.root / "workloads/in.yaml").symlink_to("shop.yaml")
    git(repository.root, "add", "--all")
    git(repository.root, "commit", "--quiet", "-m", "links")

    with repository.export(repository.source_commit()) as folder:
        assert (folder / "workloads/in.yaml").read_text() == "kind: Workload\n"
        assert os.readlink(folder / "workloads/out.yaml") == str(tmp_path / "outside")
    assert list((tmp_path / "outside").iterdir()) == []


def test_a_new_repository_starts_with_everything_committed(tmp_path: Path) -> None:
    write(tmp_path / "new", {"gitops-vg.yaml": "kind: Fleet\n"})

    repository = start_repository(tmp_path / "new", message="Start")

    assert repository.source_state().dirty == ()
    with pytest.raises(GitError, match="is a repository already"):
        start_repository(tmp_path / "new", message="again")
