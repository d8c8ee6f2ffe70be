"""A fleet's repository: intents at a commit in, rendered trees as commits out.

The rendered branch is written by plumbing with a private index: the working tree, the index and the
checked-out branch are never touched, and a branch moves only from where we saw it.
"""

from __future__ import annotations

import io
import re
import tarfile
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha1
from hashlib import sha256 as sha256_of
from pathlib import Path
from typing import Any

from gitops_vg.errors import GitError
from gitops_vg.gitstore.git import Git, init_repository
from gitops_vg.gitstore.tree import MANIFEST, RenderedTree, parse_tree, parse_yaml, read_manifest

_FLEET_PATHS = ("gitops-vg.yaml", "clusters", "policies", "workloads")
_REMOTE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]*")


@dataclass(frozen=True)
class SourceState:
    """The committed intents: commit, files of the fleet with uncommitted changes, and the upstream's view."""

    commit: str
    dirty: tuple[str, ...] = ()
    ahead: int = 0
    behind: int = 0


class Repository:
    """The repository that holds a fleet's folder."""

    def __init__(self, root: Path) -> None:
        """Raises GitError when `root` is in no repository."""
        self.git = Git(root)
        self.root = root.resolve()
        self.prefix = self.root.relative_to(self.git.top.resolve()).as_posix()
        self._parse = lru_cache(maxsize=100_000)(parse_yaml)

    @classmethod
    def open(cls, root: Path) -> Repository:
        """The repository of a fleet's folder. Raises GitError."""
        return cls(root)

    # ------------------------------------------------------------ the source

    def source_commit(self, ref: str = "HEAD") -> str:
        """The commit of the intents. Raises GitError when nothing was committed yet."""
        commit = self.resolve(ref)
        if commit is None:
            raise GitError(f"{ref} has no commit yet", hint="commit the intents first")
        return commit

    def source_state(self) -> SourceState:
        """Commit, uncommitted changes of the fleet's files, and divergence from upstream."""
        commit = self.source_commit()
        paths = [f"{self.prefix}/{name}" if self.prefix != "." else name for name in _FLEET_PATHS]
        raw = self.git.run("status", "--porcelain=v1", "-z", "--untracked-files=all", "--", *paths)
        dirty = tuple(sorted(entry[3:] for entry in raw.decode("utf-8", "replace").split("\0") if len(entry) > 3))
        ahead = behind = 0
        if self.git.succeeds("rev-parse", "--verify", "--quiet", "@{upstream}"):
            counts = self.git.text("rev-list", "--left-right", "--count", "HEAD...@{upstream}").split()
            ahead, behind = int(counts[0]), int(counts[1])
        return SourceState(commit, dirty, ahead, behind)

    @contextmanager
    def export(self, commit: str) -> Iterator[Path]:
        """The fleet's files as they are in a commit, in a temporary folder."""
        place = commit if self.prefix == "." else f"{commit}:{self.prefix}"
        raw = self.git.run("archive", "--format=tar", place)
        with tempfile.TemporaryDirectory(prefix="gitops-vg-source-") as folder:
            with tarfile.open(fileobj=io.BytesIO(raw)) as archive:
                for member in archive:
                    try:
                        archive.extract(member, folder, filter="data")
                    except tarfile.FilterError:
                        # A link that leads out of the tree: an equally useless one stands in, so that reading names it.
                        Path(folder, member.name).symlink_to("/")
            yield Path(folder)

    def fetch(self, remote: str, branch: str) -> str | None:
        """Bring a remote's branch here; its commit, None when the remote has no such branch. Raises GitUnreachable."""
        _check_remote(remote)
        listed = self.git.run("ls-remote", "--heads", "--", remote, f"refs/heads/{branch}", network=True).decode()
        if not listed.strip():
            return None
        tracking = f"refs/gitops-vg/{remote}/{branch}"
        self.git.run(
            "fetch", "--quiet", "--no-tags", "--no-recurse-submodules", "--", remote,
            f"+refs/heads/{branch}:{tracking}", network=True,
        )  # fmt: skip
        return self.resolve(tracking)

    # ------------------------------------------------------------ reading

    def resolve(self, ref: str) -> str | None:
        """The commit of a ref; None when there is none."""
        try:
            return self.git.text("rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}") or None
        except GitError:
            return None

    def branch_commit(self, branch: str) -> str | None:
        """The commit of a local branch."""
        return self.resolve(f"refs/heads/{branch}")

    def read_tree(self, ref: str) -> RenderedTree | None:
        """The rendered tree of a ref, from the commit and never from the working tree; None without one.

        Raises GitError when the tree is damaged or somebody else's.
        """
        commit = self.resolve(ref)
        if commit is None:
            return None
        blobs = self._blobs(commit)
        if MANIFEST not in blobs:
            raise GitError(
                f"commit {commit[:12]} of {ref} is no rendered tree: it has no {MANIFEST}",
                hint="name a branch of its own in rendered.branch of the Fleet",
            )
        manifest = read_manifest(self._contents({MANIFEST: blobs[MANIFEST]})[MANIFEST], commit=commit)
        owned = {path: blobs[path] for path in manifest["files"] if path in blobs}
        foreign = blobs.keys() - owned.keys() - {MANIFEST}
        return parse_tree(commit, manifest, self._contents(owned), foreign=foreign, parse=self._parse)

    def _blobs(self, commit: str) -> dict[str, str]:
        """Path → blob of every regular file in a commit."""
        raw = self.git.run("ls-tree", "-r", "-z", "--full-tree", commit)
        blobs = {}
        for entry in raw.decode("utf-8", "surrogateescape").split("\0"):
            if entry:
                about, path = entry.split("\t", 1)
                blobs[path] = about.split()[2]
        return blobs

    def _contents(self, blobs: Mapping[str, str]) -> dict[str, bytes]:
        """The contents of many blobs by one command."""
        if not blobs:
            return {}
        names = list(blobs)
        raw = self.git.run("cat-file", "--batch", stdin="".join(f"{blobs[name]}\n" for name in names).encode())
        contents, position = {}, 0
        for name in names:
            end = raw.index(b"\n", position)
            header = raw[position:end].split()
            if len(header) != 3:
                raise GitError(f"the object of {name} is missing from the repository", hint="is this a partial clone?")
            size = int(header[2])
            contents[name] = raw[end + 1 : end + 1 + size]
            position = end + 1 + size + 1
        return contents

    # ------------------------------------------------------------ writing

    def refuse_checked_out(self, branch: str) -> None:
        """Raises GitError when somebody works on the rendered branch: it would move under him."""
        for line in self.git.text("worktree", "list", "--porcelain").splitlines():
            if line == f"branch refs/heads/{branch}":
                raise GitError(
                    f"the rendered branch {branch} is checked out",
                    hint="check out the branch of the intents; gitops-vg writes the rendered branch by itself",
                )

    def commit_files(
        self, *, parent: str | None, changed: Mapping[str, bytes], removed: tuple[str, ...], message: str
    ) -> str:
        """A commit with some files of its parent changed and removed; no branch moves."""
        ids = self._store(changed)
        with tempfile.TemporaryDirectory(prefix="gitops-vg-index-") as folder:
            index = {"GIT_INDEX_FILE": str(Path(folder) / "index")}
            self.git.run("read-tree", *([parent] if parent else ["--empty"]), extra=index)
            width = len(self._id(b""))
            lines = [f"0 {'0' * width}\t{path}" for path in removed]
            lines += [f"100644 {ids[path]}\t{path}" for path in sorted(changed)]
            stdin = "".join(f"{line}\0" for line in lines).encode("utf-8", "surrogateescape")
            self.git.run("update-index", "-z", "--index-info", stdin=stdin, extra=index)
            tree = self.git.run("write-tree", extra=index).decode().strip()
        parents = ["-p", parent] if parent else []
        return self.git.run("commit-tree", tree, *parents, stdin=message.encode()).decode().strip()

    def move_branch(self, branch: str, *, new: str, old: str | None) -> bool:
        """Move a local branch from `old` to `new`; false when it is not at `old` any more."""
        expected = old or "0" * len(new)
        try:
            self.git.run("update-ref", "-m", "gitops-vg", f"refs/heads/{branch}", new, expected)
        except GitError:
            if self.branch_commit(branch) == old:
                raise
            return False
        return True

    def push(self, remote: str, branch: str) -> bool:
        """Push without force; false when the remote's branch has moved on. Raises GitUnreachable, GitError."""
        _check_remote(remote)
        ref = f"refs/heads/{branch}"
        try:
            self.git.run("push", "--quiet", "--no-verify", "--", remote, f"{ref}:{ref}", network=True)
        except GitError as error:
            if any(word in error.message for word in ("failed to push", "rejected", "cannot lock ref", "fetch first")):
                return False
            raise
        return True

    def commit_all(self, message: str) -> str:
        """Commit every change in the working tree, as a person would with `git add --all && git commit`."""
        self.git.run("add", "--all", "--", ".")
        self.git.run("commit", "--quiet", "--no-verify", "--no-gpg-sign", "-m", message)
        return self.source_commit()

    def is_ancestor(self, first: str, second: str) -> bool:
        return self.git.succeeds("merge-base", "--is-ancestor", first, second)

    def is_ours(self, commit: str) -> bool:
        """Whether this tool made the commit."""
        return "Tool-Version: gitops-vg" in self.git.text("log", "-1", "--format=%B", commit)

    def _store(self, files: Mapping[str, bytes]) -> dict[str, str]:
        """Write blobs by one command; their ids by path."""
        ids = {path: self._id(content) for path, content in files.items()}
        stream = io.BytesIO()
        for content in {ids[path]: content for path, content in files.items()}.values():
            stream.write(b"blob\ndata %d\n" % len(content) + content + b"\n")
        if files:
            self.git.run("fast-import", "--quiet", stdin=stream.getvalue())
        return ids

    def _id(self, content: bytes) -> str:
        """The object id of a blob in this repository's format."""
        head = b"blob %d\0" % len(content)
        if self._sha256_format:
            return sha256_of(head + content).hexdigest()
        return sha1(head + content, usedforsecurity=False).hexdigest()

    @property
    def _sha256_format(self) -> bool:
        known: Any = self.__dict__.get("_format")
        if known is None:
            known = self.__dict__["_format"] = self.git.text("rev-parse", "--show-object-format")
        return bool(known == "sha256")


def _check_remote(remote: str) -> None:
    if not _REMOTE.fullmatch(remote):
        raise GitError(f"{remote!r} is no name of a remote", hint="name one of `git remote` in rendered.remote")


def start_repository(folder: Path, *, message: str) -> Repository:
    """A new repository in `folder` with everything in it committed. Raises GitError when there is one already."""
    if (folder / ".git").exists():
        raise GitError(f"{folder} is a repository already", hint="use it as it is")
    init_repository(folder)
    repository = Repository(folder)
    repository.commit_all(message)
    return repository
