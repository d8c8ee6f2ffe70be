"""Two publishers at once, and remotes: nobody's commit is lost, nothing is forced."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from gitstore_fleet import BRANCH, Files, commit_by_hand, files, git, published, tree_of

from gitops_vg.errors import GitError, GitUnreachable, RaceLost
from gitops_vg.gitstore import RenderedTree, Repository, publish


def clone(remote: Path, folder: Path) -> Repository:
    git(remote.parent, "clone", "--quiet", str(remote), str(folder))
    return Repository.open(folder)


def commit_of(remote: Path) -> str:
    return git(remote, "rev-parse", BRANCH)


def test_a_commit_that_comes_first_is_rendered_upon(repository: Repository) -> None:
    published(repository, files("shop"))
    seen: list[set[str]] = []

    def render(tree: RenderedTree | None) -> Files:
        assert tree is not None
        seen.append(set(tree.lock))
        if len(seen) == 1:
            published(Repository.open(repository.root), files("shop", "cart"))
        return files(*{"shop", "search"}, *(name.partition("/")[2] for name in tree.lock))

    publish(repository, branch=BRANCH, remote=None, source="x" * 40, subject="Render", render=render)

    assert seen == [{"web/shop"}, {"web/shop", "web/cart"}]
    assert set(tree_of(repository).lock) == {"web/shop", "web/cart", "web/search"}


def test_of_publishers_in_parallel_none_loses_its_change(repository: Repository) -> None:
    published(repository, files("shop"))
    names = [f"work-{index}" for index in range(4)]
    failures: list[BaseException] = []

    def one(name: str) -> None:
        mine = Repository.open(repository.root)

        def render(tree: RenderedTree | None) -> Files:
            assert tree is not None
            return files(name, *(key.partition("/")[2] for key in tree.lock))

        try:
            publish(mine, branch=BRANCH, remote=None, source="x" * 40, subject=f"Render {name}", render=render)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=one, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)

    assert failures == []
    assert set(tree_of(repository).lock) == {"web/shop", *(f"web/{name}" for name in names)}
    assert git(repository.root, "rev-list", "--count", BRANCH) == "5"


def test_who_comes_second_every_time_gives_up_and_says_so(repository: Repository) -> None:
    published(repository, files("shop"))
    count = 0

    def render(_: RenderedTree | None) -> Files:
        nonlocal count
        count += 1
        published(Repository.open(repository.root), files("shop", f"other-{count}"))
        return files("shop", "mine")

    with pytest.raises(RaceLost, match="moved 3 times"):
        publish(
            repository, branch=BRANCH, remote=None, source="x" * 40, subject="Render", render=render, attempts=3
        )  # fmt: skip

    assert "web/other-3" in tree_of(repository).lock


def test_with_a_remote_the_commit_is_pushed(repository: Repository, remote: Path) -> None:
    result = published(repository, remote="origin")

    assert result.pushed
    assert commit_of(remote) == result.commit


def test_nothing_new_is_not_pushed_again(repository: Repository, remote: Path) -> None:
    published(repository, remote="origin")

    assert not published(repository, remote="origin").pushed


def test_a_clone_continues_where_another_one_stopped(repository: Repository, remote: Path, tmp_path: Path) -> None:
    published(repository, files("shop"), remote="origin")
    other = clone(remote, tmp_path / "other")

    published(other, files("shop", "cart"), remote="origin")
    result = published(repository, files("shop", "cart"), remote="origin")

    assert result.commit == ""
    assert repository.branch_commit(BRANCH) == commit_of(remote)
    assert git(remote, "rev-list", "--count", BRANCH) == "2"


def test_a_lost_push_race_is_rendered_again_on_top(repository: Repository, remote: Path, tmp_path: Path) -> None:
    published(repository, files("shop"), remote="origin")
    other = clone(remote, tmp_path / "other")
    calls = 0

    def render(tree: RenderedTree | None) -> Files:
        nonlocal calls
        calls += 1
        assert tree is not None
        if calls == 1:
            published(other, files("shop", "cart"), remote="origin")
        return files("mine", *(key.partition("/")[2] for key in tree.lock))

    result = publish(repository, branch=BRANCH, remote="origin", source="x" * 40, subject="Render", render=render)

    assert calls == 2
    assert result.pushed
    assert commit_of(remote) == result.commit == repository.branch_commit(BRANCH)
    assert set(tree_of(repository).lock) == {"web/shop", "web/cart", "web/mine"}


def test_a_remote_that_is_down_keeps_the_commit_for_the_next_time(
    repository: Repository, remote: Path, tmp_path: Path
) -> None:
    published(repository, files("shop"), remote="origin")
    before = commit_of(remote)

    def render(_: RenderedTree | None) -> Files:
        remote.rename(tmp_path / "away")
        return files("shop", "cart")

    with pytest.raises(GitUnreachable):
        publish(repository, branch=BRANCH, remote="origin", source="x" * 40, subject="Render", render=render)
    (tmp_path / "away").rename(remote)
    assert commit_of(remote) == before

    result = published(repository, files("shop", "cart"), remote="origin")

    assert (result.commit, result.pushed) == ("", True)
    assert commit_of(remote) == repository.branch_commit(BRANCH)


def test_a_remote_that_refuses_is_no_race(repository: Repository, remote: Path) -> None:
    hook = remote / "hooks/pre-receive"
    hook.write_text("#!/bin/sh\necho 'branch is protected' >&2\nexit 1\n")
    hook.chmod(0o755)

    with pytest.raises(GitError, match=r"origin refused the push of rendered: .*hook declined") as raised:
        published(repository, remote="origin")

    assert not isinstance(raised.value, RaceLost)
    assert "the next publish pushes it" in raised.value.hint


def test_commits_of_people_that_only_exist_here_are_not_dropped(
    repository: Repository, remote: Path, tmp_path: Path
) -> None:
    published(repository, files("shop"), remote="origin")
    other = clone(remote, tmp_path / "other")
    published(other, files("shop", "cart"), remote="origin")
    commit_by_hand(repository, {"note.md": "mine"})
    mine = repository.branch_commit(BRANCH)

    with pytest.raises(GitError, match="have diverged, and the local commits are not gitops-vg's"):
        published(repository, files("shop"), remote="origin")

    assert repository.branch_commit(BRANCH) == mine


def test_our_own_commit_on_top_does_not_hide_that_of_a_person(
    repository: Repository, remote: Path, tmp_path: Path
) -> None:
    published(repository, files("shop"), remote="origin")
    other = clone(remote, tmp_path / "other")
    published(other, files("shop", "cart"), remote="origin")
    commit_by_hand(repository, {"note.md": "mine"})
    published(repository, files("shop", "search"))

    with pytest.raises(GitError, match="have diverged"):
        published(repository, files("shop"), remote="origin")


def test_our_own_unpushed_commit_gives_way_to_the_remote(repository: Repository, remote: Path, tmp_path: Path) -> None:
    published(repository, files("shop"), remote="origin")
    other = clone(remote, tmp_path / "other")
    published(other, files("shop", "cart"), remote="origin")
    published(repository, files("shop", "search"))

    published(repository, files("shop", "mine"), remote="origin")

    assert git(remote, "rev-list", "--count", BRANCH) == "3"
    assert set(tree_of(repository).lock) == {"web/shop", "web/mine"}


@pytest.mark.parametrize("broken", [{"MANIFEST.json": None}, {"settings.json": "{}"}])
def test_a_damaged_branch_of_the_remote_does_not_replace_the_whole_one_here(
    repository: Repository, remote: Path, tmp_path: Path, broken: dict[str, str | None]
) -> None:
    published(repository, files("shop"), remote="origin")
    mine = repository.branch_commit(BRANCH)
    other = clone(remote, tmp_path / "other")
    git(other.root, "branch", BRANCH, f"origin/{BRANCH}")
    commit_by_hand(other, broken)
    git(other.root, "push", "--quiet", "origin", BRANCH)

    with pytest.raises(GitError, match=r"is no rendered tree|is not whole"):
        published(repository, files("shop", "cart"), remote="origin")

    assert repository.branch_commit(BRANCH) == mine


def test_a_branch_that_was_forced_to_something_else_is_refused(
    repository: Repository, remote: Path, tmp_path: Path
) -> None:
    published(repository, files("shop"), remote="origin")
    mine = repository.branch_commit(BRANCH)
    git(repository.root, "push", "--quiet", "--force", "origin", f"main:{BRANCH}")

    with pytest.raises(GitError, match="is no rendered tree"):
        published(repository, files("shop", "cart"), remote="origin")

    assert repository.branch_commit(BRANCH) == mine
    assert commit_of(remote) == git(repository.root, "rev-parse", "main")


def test_a_branch_of_the_remote_that_was_taken_back_is_brought_forward_again(
    repository: Repository, remote: Path
) -> None:
    first = published(repository, files("shop"), remote="origin")
    second = published(repository, files("shop", "cart"), remote="origin")
    git(repository.root, "push", "--quiet", "--force", "origin", f"{first.commit}:refs/heads/{BRANCH}")

    result = published(repository, files("shop", "cart"), remote="origin")

    assert (result.commit, result.pushed) == ("", True)
    assert commit_of(remote) == second.commit


@pytest.mark.parametrize("name", ["upstream", "../origin.git", "ext::sh -c id", "--upload-pack=id", "https://x/y", ""])
def test_only_a_remote_of_the_repository_is_spoken_to(repository: Repository, remote: Path, name: str) -> None:
    with pytest.raises(GitError, match="is no remote of this repository") as raised:
        repository.push(name, BRANCH)

    assert "the remotes are origin" in raised.value.hint


def test_a_password_in_an_address_is_never_shown(repository: Repository) -> None:
    git(repository.root, "remote", "add", "origin", "https://ada:hunter2@127.0.0.1:1/fleet.git")

    with pytest.raises(GitUnreachable) as raised:
        published(repository, remote="origin")

    assert "hunter2" not in f"{raised.value.message} {raised.value.hint}"


def test_a_fresh_clone_sees_what_the_remote_has(repository: Repository, remote: Path, tmp_path: Path) -> None:
    result = published(repository, files("shop"), remote="origin")
    fresh = clone(remote, tmp_path / "fresh")

    assert fresh.latest(BRANCH, remote="origin") == result.commit
    assert fresh.latest(BRANCH, remote=None) is None
    assert fresh.branch_commit(BRANCH) is None


def test_the_latest_is_ours_while_it_is_not_pushed_and_theirs_after_that(
    repository: Repository, remote: Path, tmp_path: Path
) -> None:
    published(repository, files("shop"), remote="origin")
    unpushed = published(repository, files("shop", "cart"))
    assert repository.latest(BRANCH, remote="origin") == unpushed.commit
    other = clone(remote, tmp_path / "other")
    theirs = published(other, files("shop", "search"), remote="origin")

    assert repository.latest(BRANCH, remote="origin") == theirs.commit
    assert repository.branch_commit(BRANCH) == unpushed.commit
