"""Publishing: the files of a rendered tree become a commit, once, without losing anybody's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from gitops_vg import __version__
from gitops_vg.errors import GitError, RaceLost
from gitops_vg.gitstore.repository import Repository
from gitops_vg.gitstore.tree import MANIFEST, SNAPSHOT, RenderedTree, manifest_file, sha256

_ATTEMPTS = 5

Render = Callable[[RenderedTree | None], Mapping[str, bytes]]
"""Makes the files from the tree they come after; may raise GuardError. Called again after a lost race."""


@dataclass(frozen=True)
class PublishResult:
    """What publishing did. `commit` is "" when there was nothing to commit."""

    commit: str
    branch: str
    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    pushed: bool = False


def publish(
    repository: Repository, *, branch: str, remote: str | None, source: str, subject: str, render: Render
) -> PublishResult:
    """Commit what `render` gives onto the rendered branch, and push it when there is a remote.

    Raises GitError, GitUnreachable (the commit stays here; the next publish pushes it), RaceLost, and
    what `render` raises.
    """
    repository.refuse_checked_out(branch)
    for _ in range(_ATTEMPTS):
        theirs = _catch_up(repository, branch=branch, remote=remote) if remote else None
        base = repository.branch_commit(branch)
        tree = repository.read_tree(base) if base is not None else None
        result = _commit(repository, branch=branch, base=base, tree=tree, source=source, subject=subject, render=render)
        if result is None:
            continue  # Somebody moved the branch meanwhile: look again.
        tip = result.commit or base
        if remote is None or tip is None or tip == theirs:
            return result
        if repository.push(remote, branch):
            return PublishResult(result.commit, branch, result.added, result.changed, result.removed, pushed=True)
    raise RaceLost(
        f"the branch {branch} moved {_ATTEMPTS} times while we wrote", hint="is another publisher running? try again"
    )


def _commit(
    repository: Repository,
    *,
    branch: str,
    base: str | None,
    tree: RenderedTree | None,
    source: str,
    subject: str,
    render: Render,
) -> PublishResult | None:
    """One commit on top of `base`; None when the branch was not at `base` any more."""
    files = dict(render(tree))
    known = tree.owned if tree is not None else {}
    digests = {path: sha256(content) for path, content in files.items()}
    changed = {path: files[path] for path, digest in digests.items() if known.get(path) != digest}
    removed = tuple(sorted(known.keys() - files.keys()))
    if tree is not None and not removed and not changed.keys() - {SNAPSHOT}:
        # Nothing was decided anew: a commit for moved capacity alone would be noise.
        return PublishResult("", branch)
    added = tuple(sorted(path for path in changed if path not in known))
    updated = tuple(sorted(path for path in changed if path in known))
    foreign = set(tree.foreign) & set(added) if tree is not None else set()
    if foreign:
        raise GitError(
            f"the branch {branch} has {sorted(foreign)[0]}, which gitops-vg did not write",
            hint="remove that file from the rendered branch; people's files belong elsewhere",
        )
    changed[MANIFEST] = manifest_file(files, source=source, previous=digests)
    message = _message(subject, source=source, digests=digests, counts=(len(added), len(updated), len(removed)))
    commit = repository.commit_files(parent=base, changed=changed, removed=removed, message=message)
    if not repository.move_branch(branch, new=commit, old=base):
        return None
    return PublishResult(commit, branch, added, updated, removed)


def _message(subject: str, *, source: str, digests: Mapping[str, str], counts: tuple[int, int, int]) -> str:
    added, changed, removed = counts
    return (
        f"{subject}\n\n{added} added, {changed} changed, {removed} removed\n\n"
        f"Source-Commit: {source}\nTool-Version: gitops-vg {__version__}\nSnapshot-Digest: sha256:{digests[SNAPSHOT]}\n"
    )


def _catch_up(repository: Repository, *, branch: str, remote: str) -> str | None:
    """Bring the local branch to the remote's; gives the remote's commit.

    A commit of ours that lost the race is dropped: it is derived, and is made anew on top.
    """
    theirs = repository.fetch(remote, branch)
    ours = repository.branch_commit(branch)
    if theirs is None or ours == theirs or (ours is not None and repository.is_ancestor(theirs, ours)):
        return theirs
    if ours is not None and not repository.is_ancestor(ours, theirs) and not repository.is_ours(ours):
        raise GitError(
            f"the branch {branch} and {remote}/{branch} have diverged, and the local commits are not gitops-vg's",
            hint=f"look at them, then run `git branch -f {branch} {theirs[:12]}` to follow the remote",
        )
    repository.move_branch(branch, new=theirs, old=ours)
    return theirs
