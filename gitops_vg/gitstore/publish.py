"""Publishing: the files of a rendered tree become a commit, once, without losing anybody's."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath

from gitops_vg import __version__
from gitops_vg.errors import GitError, RaceLost
from gitops_vg.gitstore.repository import Repository
from gitops_vg.gitstore.tree import LOCK, MANIFEST, SNAPSHOT, RenderedTree, manifest_file, sha256

_ATTEMPTS = 8
_FIRST_PAUSE = 0.05
"""Seconds; the most that is waited after the first lost race, and twice as long after each further one.

With six publishers that never rest, 8 attempts with pauses landed 118 of 120 commits, 5 without 41 of 60."""

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
    repository: Repository,
    *,
    branch: str,
    remote: str | None,
    source: str,
    subject: str,
    render: Render,
    policies: str = "",
    attempts: int = _ATTEMPTS,
) -> PublishResult:
    """Commit what `render` gives onto the rendered branch, and push it when there is a remote.

    `source` is the commit of the intents, `policies` the digest of those that decide over others; both are
    written down with the commit. Raises GitError, GitUnreachable (the commit stays here; the next publish
    pushes it), RaceLost, and what `render` raises.
    """
    repository.check_branch(branch)
    repository.refuse_checked_out(branch)
    for attempt in range(attempts):
        if attempt:
            # By chance, so that those who lost together do not meet again.
            time.sleep(random.uniform(0, _FIRST_PAUSE * 2 ** (attempt - 1)))
        theirs = _catch_up(repository, branch=branch, remote=remote) if remote else None
        base = repository.branch_commit(branch)
        tree = repository.read_tree(base) if base is not None else None
        change = _change(tree, dict(render(tree)))
        commit = ""
        if change is not None:
            message = _message(subject, change, source=source, policies=policies)
            made = _commit(repository, change, base=base, message=message, source=source, policies=policies)
            if not repository.move_branch(branch, new=made, old=base):
                continue  # Somebody moved the branch meanwhile: look again.
            commit = made
        change = change or _Change()
        result = PublishResult(commit, branch, change.added, change.updated, change.removed)
        tip = commit or base
        if remote is None or tip is None or tip == theirs:
            return result
        if repository.push(remote, branch):
            return replace(result, pushed=True)
    raise RaceLost(
        f"the branch {branch} moved {attempts} times while we wrote", hint="is another publisher running? try again"
    )


@dataclass(frozen=True)
class _Change:
    """What a commit changes: the files to write, and all that will be owned after it."""

    files: Mapping[str, bytes] = field(default_factory=dict)
    digests: Mapping[str, str] = field(default_factory=dict)
    added: tuple[str, ...] = ()
    updated: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()


def _change(tree: RenderedTree | None, files: Mapping[str, bytes]) -> _Change | None:
    """How `files` differ from a tree; None when nothing was decided anew.

    Raises GitError when a file of ours would overwrite somebody else's.
    """
    known = {path: document.digest for path, document in tree.documents.items()} if tree is not None else {}
    digests = {path: sha256(content) for path, content in files.items()}
    differing = {path: files[path] for path, digest in digests.items() if known.get(path) != digest}
    removed = tuple(sorted(known.keys() - files.keys()))
    if tree is not None and not removed and not differing.keys() - {SNAPSHOT}:
        return None  # A commit for moved capacity alone would be noise.
    added = tuple(sorted(differing.keys() - known.keys()))
    for path in _in_the_way(tree.foreign if tree is not None else (), added):
        raise GitError(
            f"the rendered branch has {path}, which gitops-vg did not write",
            hint="remove that file from the rendered branch; people's files belong elsewhere",
        )
    return _Change(differing, digests, added, tuple(sorted(differing.keys() & known.keys())), removed)


def _in_the_way(foreign: Iterable[str], added: Iterable[str]) -> list[str]:
    """People's files that ours would replace: the same path, a file where we need a folder, or the reverse."""
    ours = set(added)
    folders = {str(folder) for path in ours for folder in PurePosixPath(path).parents}
    return [
        path
        for path in foreign
        if path in ours or path in folders or any(str(folder) in ours for folder in PurePosixPath(path).parents)
    ]


def _commit(
    repository: Repository, change: _Change, *, base: str | None, message: str, source: str, policies: str
) -> str:
    """The commit of a change on top of `base`; no branch moves."""
    listed = manifest_file(change.digests, source=source, policies=policies)
    changed = {**change.files, MANIFEST: listed}
    return repository.commit_files(parent=base, changed=changed, removed=change.removed, message=message)


def _message(subject: str, change: _Change, *, source: str, policies: str) -> str:
    counts = f"{len(change.added)} added, {len(change.updated)} changed, {len(change.removed)} removed"
    trailers = {
        "Source-Commit": source,
        "Tool-Version": f"gitops-vg {__version__}",
        "Snapshot-Digest": f"sha256:{change.digests[SNAPSHOT]}",
        "Placement-Digest": f"sha256:{change.digests[LOCK]}",
        "Policy-Digest": policies,
    }
    return f"{subject}\n\n{counts}\n\n" + "".join(f"{key}: {value}\n" for key, value in trailers.items() if value)


def _catch_up(repository: Repository, *, branch: str, remote: str) -> str | None:
    """Bring the local branch to the remote's; gives the remote's commit.

    A commit of ours that lost the race is dropped: it is derived, and is made anew on top. Raises GitError,
    before the local branch moves, for a remote branch that is no whole rendered tree.
    """
    theirs = repository.fetch(remote, branch)
    ours = repository.branch_commit(branch)
    if theirs is None or ours == theirs or (ours is not None and repository.is_ancestor(theirs, ours)):
        return theirs
    if ours is not None and not repository.only_ours(since=theirs, until=ours):
        raise GitError(
            f"the branch {branch} and {remote}/{branch} have diverged, and the local commits are not gitops-vg's",
            hint=f"look at them, then run `git branch -f {branch} {theirs[:12]}` to follow the remote",
        )
    repository.read_tree(theirs)
    repository.move_branch(branch, new=theirs, old=ours)
    return theirs
