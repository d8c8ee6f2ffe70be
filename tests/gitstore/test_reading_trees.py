"""A rendered tree is read whole or not at all: a damaged one never looks like a smaller world."""

from __future__ import annotations

import json
from hashlib import sha256

import pytest
from gitstore_fleet import BRANCH, commit_by_hand, files, git, published, tree_of

from gitops_vg.errors import GitError
from gitops_vg.gitstore import Repository

SHOP = "manifests/web/deployment.apps/shop.yaml"


def with_matching_digest(repository: Repository, path: str, text: str) -> None:
    """A forgery that also corrects MANIFEST.json."""
    listed = json.loads(git(repository.root, "show", f"{BRANCH}:MANIFEST.json"))
    listed["files"][path] = sha256(text.encode()).hexdigest()
    commit_by_hand(repository, {path: text, "MANIFEST.json": json.dumps(listed)})


def test_without_a_branch_there_is_no_tree(repository: Repository) -> None:
    assert repository.read_tree(f"refs/heads/{BRANCH}") is None


@pytest.mark.parametrize("path", [SHOP, "placements.lock.yaml", "settings.json", "approvals.json"])
def test_an_edited_file_makes_the_tree_unusable(repository: Repository, path: str) -> None:
    published(repository)
    commit_by_hand(repository, {path: "edited: true\n"})

    with pytest.raises(GitError, match=r"is not whole: .* was changed by somebody else"):
        tree_of(repository)


def test_a_removed_file_makes_the_tree_unusable(repository: Repository) -> None:
    published(repository)
    commit_by_hand(repository, {SHOP: None})

    with pytest.raises(GitError, match=r"shop\.yaml is missing"):
        tree_of(repository)


@pytest.mark.parametrize("text", ["", "[]", "{}", "null", '{"files": []}', "{broken", '{"files": {}}', "[" * 5000])
def test_a_broken_manifest_file_makes_the_tree_unusable(repository: Repository, text: str) -> None:
    published(repository)
    commit_by_hand(repository, {"MANIFEST.json": text})

    with pytest.raises(GitError, match="is not whole"):
        tree_of(repository)


@pytest.mark.parametrize(
    "text",
    ["", "[]\n", "a: b: c\n", "apiVersion: 5\nkind: Deployment\nmetadata: {name: shop}\n", "kind: Deployment\n",
     "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: other, namespace: web}\n"],
)  # fmt: skip
def test_content_that_is_no_manifest_of_its_path_makes_the_tree_unusable(repository: Repository, text: str) -> None:
    published(repository)
    with_matching_digest(repository, SHOP, text)

    with pytest.raises(GitError, match=r"is not whole: .*shop\.yaml cannot be read"):
        _ = tree_of(repository).manifests


def test_a_forged_manifest_stops_a_publication_too(repository: Repository) -> None:
    published(repository)
    with_matching_digest(repository, SHOP, "[]\n")
    tree = tree_of(repository)

    with pytest.raises(GitError, match=r"shop\.yaml cannot be read"):
        tree.replaced_by(files("shop"))


def test_of_a_tree_only_what_changes_or_goes_is_looked_at(repository: Repository) -> None:
    published(repository, files("shop", "cart"))
    new = files("shop")
    new[SHOP] += b"# changed\n"

    before = tree_of(repository).replaced_by(new)

    assert [str(manifest.key) for manifest in before] == [
        "Service web/cart", "Deployment.apps web/cart", "Deployment.apps web/shop",
        "PropagationPolicy.policy.karmada.io web/cart",
    ]  # fmt: skip


def test_a_lock_that_cannot_be_read_is_no_empty_lock(repository: Repository) -> None:
    published(repository)
    with_matching_digest(repository, "placements.lock.yaml", "web/shop: {mode: sometimes}\n")

    with pytest.raises(GitError, match="is not whole"):
        tree_of(repository)


def test_a_link_in_place_of_a_file_makes_the_tree_unusable(repository: Repository) -> None:
    published(repository)
    folder = repository.root.parent / "linked"
    git(repository.root, "worktree", "add", "--quiet", str(folder), BRANCH)
    (folder / SHOP).unlink()
    (folder / SHOP).symlink_to("/etc/hostname")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "-m", "link")
    git(repository.root, "worktree", "remove", str(folder))

    with pytest.raises(GitError, match="was changed by somebody else"):
        tree_of(repository)


def test_publishing_on_a_damaged_tree_changes_nothing(repository: Repository) -> None:
    published(repository)
    commit_by_hand(repository, {SHOP: None})
    before = repository.branch_commit(BRANCH)

    with pytest.raises(GitError, match="is not whole") as raised:
        published(repository, files("cart"))

    assert repository.branch_commit(BRANCH) == before
    assert "take the branch back" in raised.value.hint


def test_the_branch_taken_back_to_a_good_commit_works_again(repository: Repository) -> None:
    published(repository)
    commit_by_hand(repository, {SHOP: None})
    git(repository.root, "branch", "--force", BRANCH, f"{BRANCH}~1")

    assert published(repository, files("shop", "cart")).commit


def test_the_working_tree_never_stands_in_for_the_commit(repository: Repository) -> None:
    published(repository)
    (repository.root / "MANIFEST.json").write_text("{}")

    assert tree_of(repository).lock


def test_a_branch_whose_commit_is_missing_is_damage_and_not_absence(repository: Repository) -> None:
    published(repository)
    commit = repository.branch_commit(BRANCH) or ""
    (repository.root / ".git/objects" / commit[:2] / commit[2:]).unlink()

    with pytest.raises(GitError, match=r"names a commit that is not here"):
        Repository.open(repository.root).read_tree(f"refs/heads/{BRANCH}")


def test_a_missing_file_object_is_damage_and_not_absence(repository: Repository) -> None:
    published(repository)
    blob = git(repository.root, "rev-parse", f"{BRANCH}:{SHOP}")
    (repository.root / ".git/objects" / blob[:2] / blob[2:]).unlink()

    with pytest.raises(GitError, match=r"missing from the repository"):
        tree_of(repository)


def test_a_tree_that_was_read_before_is_proven_again(repository: Repository) -> None:
    published(repository)
    tree_of(repository)
    commit_by_hand(repository, {SHOP: "edited: true\n"})

    with pytest.raises(GitError, match="was changed by somebody else"):
        tree_of(repository)
