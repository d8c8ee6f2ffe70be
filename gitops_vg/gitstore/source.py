"""The intents in Git: what is uncommitted, and the files of a commit in a folder of their own."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from gitops_vg.errors import GitError
from gitops_vg.gitstore.blobs import FILE_MODES, LINK_MODE, contents, entries
from gitops_vg.gitstore.git import Git

_FLEET_PATHS = ("gitops-vg.yaml", "clusters", "policies", "workloads")
_AT_ONCE = 2000
"""Files whose contents are in memory together."""


@dataclass(frozen=True)
class SourceState:
    """The committed intents: commit, files of the fleet with uncommitted changes, and the upstream's view."""

    commit: str
    dirty: tuple[str, ...] = ()
    ahead: int = 0
    behind: int = 0


def source_state(git: Git, *, commit: str, prefix: str) -> SourceState:
    """Uncommitted changes of the fleet's files, and divergence from upstream (none when there is no upstream)."""
    paths = [f":(literal,top){_below(prefix, name)}" for name in _FLEET_PATHS]
    raw = git.run("status", "--porcelain=v1", "-z", "--no-renames", "--untracked-files=all", "--", *paths)
    dirty = tuple(sorted(entry[3:] for entry in raw.decode("utf-8", "replace").split("\0") if len(entry) > 3))
    ahead = behind = 0
    if git.succeeds("rev-parse", "--verify", "--quiet", "@{upstream}"):
        counts = git.text("rev-list", "--left-right", "--count", "HEAD...@{upstream}").split()
        ahead, behind = int(counts[0]), int(counts[1])
    return SourceState(commit, dirty, ahead, behind)


def _below(prefix: str, name: str) -> str:
    return name if prefix == "." else f"{prefix}/{name}"


@contextmanager
def export(git: Git, *, commit: str, prefix: str) -> Iterator[Path]:
    """The fleet's files as they are in a commit, byte for byte, in a temporary folder.

    Not by `git archive`: a line `export-ignore` in .gitattributes would make intents vanish.
    Raises GitError when the commit has no such folder.
    """
    try:
        listed = entries(git, commit if prefix == "." else f"{commit}:{prefix}")
    except GitError as error:
        hint = "commit the fleet's folder first"
        raise GitError(f"commit {commit[:12]} has no folder {prefix} ({error.message})", hint=hint) from None
    files = [(path, entry) for path, entry in listed.items() if entry.mode in FILE_MODES]
    links = [(path, entry) for path, entry in listed.items() if entry.mode == LINK_MODE]
    with tempfile.TemporaryDirectory(prefix="gitops-vg-source-") as folder:
        root = Path(folder)
        # Links come last, so that nothing is ever written through one.
        ordered = [*files, *links]
        for start in range(0, len(ordered), _AT_ONCE):
            some = ordered[start : start + _AT_ONCE]
            found = contents(git, (entry.blob for _, entry in some))
            for path, entry in some:
                target = root / _harmless(path)
                target.parent.mkdir(parents=True, exist_ok=True)
                if entry.mode == LINK_MODE:
                    target.symlink_to(os.fsdecode(found[entry.blob]))
                else:
                    target.write_bytes(found[entry.blob])
        yield root


def _harmless(path: str) -> PurePosixPath:
    """The path, when it stays in the folder it is written below (git refuses such trees, other writers may not)."""
    parts = PurePosixPath(path)
    if parts.is_absolute() or ".." in parts.parts:
        raise GitError(f"the commit has a file named {path!r}, which leads out of it", hint="run `git fsck`")
    return parts
