"""A fleet's repository: intents at a commit in, rendered trees as commits out.

The rendered branch is written by plumbing with a private index: the working tree, the index and the
checked-out branch are never touched, and a branch moves only from where we saw it.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path

from gitops_vg.errors import GitError
from gitops_vg.gitstore import blobs, source
from gitops_vg.gitstore.git import Git, failure, init_repository
from gitops_vg.gitstore.source import SourceState
from gitops_vg.gitstore.tree import MANIFEST, Document, RenderedTree, document, may_be_ours, parse_tree, read_manifest

_REMOTE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]*")
_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_TREES_KEPT = 3
_MOVED = (
    "fetch first",
    "non-fast-forward",
    "stale info",
    "cannot lock ref",
    "failed to update ref",
    "reference already exists",
)
"""What git says of a push that came second; every other refusal is final (a hook, a protected branch)."""


class Repository:
    """The repository that holds a fleet's folder."""

    def __init__(self, root: Path) -> None:
        """Raises GitError when `root` is in no repository."""
        self.root = root.resolve()
        self.git = Git(self.root)
        self.prefix = self.root.relative_to(self.git.top.resolve()).as_posix()
        self._documents: dict[str, Document] = {}
        self._trees: dict[str, RenderedTree] = {}
        self._branches: set[str] = set()
        self._seen: set[str] = set()

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
        """Commit, uncommitted changes of the fleet's files, and divergence from upstream. Raises GitError."""
        return source.source_state(self.git, commit=self.source_commit(), prefix=self.prefix)

    def export(self, commit: str) -> AbstractContextManager[Path]:
        """The fleet's files as they are in a commit, in a temporary folder. Raises GitError."""
        return source.export(self.git, commit=commit, prefix=self.prefix)

    def fetch(self, remote: str, branch: str) -> str | None:
        """Bring a remote's branch here; its commit, None when the remote has no such branch. Raises GitUnreachable."""
        self.check_remote(remote)
        self.check_branch(branch)
        listed = self.git.run("ls-remote", "--heads", "--", remote, f"refs/heads/{branch}", network=True).decode()
        if not any(line.endswith(f"\trefs/heads/{branch}") for line in listed.splitlines()):
            return None
        tracking = f"refs/gitops-vg/{remote}/{branch}"
        self.git.run(
            "fetch", "--quiet", "--no-tags", "--no-recurse-submodules", "--", remote,
            f"+refs/heads/{branch}:{tracking}", network=True,
        )  # fmt: skip
        return self.resolve(tracking)

    def latest(self, branch: str, *, remote: str | None) -> str | None:
        """The newest commit of a branch, here or at its remote; no branch moves. Raises GitUnreachable, GitError."""
        ours = self.branch_commit(branch)
        theirs = self.fetch(remote, branch) if remote is not None else None
        if theirs is None or (ours is not None and self.is_ancestor(theirs, ours)):
            return ours
        return theirs

    def check_branch(self, branch: str) -> None:
        """Raises GitError for what cannot be the name of a branch."""
        if branch in self._branches:
            return
        if branch.startswith("-") or not self.git.succeeds("check-ref-format", f"refs/heads/{branch}"):
            raise GitError(f"{branch!r} is no name of a branch", hint="name one such as rendered in rendered.branch")
        self._branches.add(branch)

    def check_remote(self, remote: str) -> None:
        """Raises GitError for what is no remote of this repository: an address or a path would go anywhere."""
        known = self.git.text("remote").splitlines()
        if remote not in known or not _REMOTE.fullmatch(remote):
            shown = f"the remotes are {', '.join(known)}" if known else "there is none; see `git remote add`"
            raise GitError(
                f"{remote!r} is no remote of this repository", hint=f"{shown}; set rendered.remote of the Fleet"
            )

    # ------------------------------------------------------------ reading

    def resolve(self, ref: str) -> str | None:
        """The commit of a ref; None when there is no such ref. Raises GitError when the ref names nothing whole.

        Cheap enough for polling: git is asked only about commits that were never seen.
        """
        commit = self.git.loose(ref)
        if commit in self._seen:
            return commit
        answer = self.git.ask("rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}")
        if not answer.status:
            commit = answer.output.decode().strip()
            self._seen.add(commit)
            return commit
        if self.git.succeeds("rev-parse", "--verify", "--quiet", "--end-of-options", ref):
            raise GitError(f"{ref} names a commit that is not here", hint="run `git fsck`, or fetch it again")
        return None

    def branch_commit(self, branch: str) -> str | None:
        """The commit of a local branch."""
        return self.resolve(f"refs/heads/{branch}")

    def read_tree(self, ref: str) -> RenderedTree | None:
        """The rendered tree of a ref, from the commit and never from the working tree; None without one.

        What was read before and has not changed is not read again. Raises GitError when the tree is damaged
        or somebody else's.
        """
        commit = ref if _COMMIT.fullmatch(ref) else self.resolve(ref)
        if commit is None:
            return None
        tree = self._trees.get(commit)
        if tree is None:
            tree = self._read(commit, ref=ref)
            recent = list(self._trees.items())[-_TREES_KEPT + 1 :]
            self._trees = {**dict(recent), commit: tree}
        return tree

    def _read(self, commit: str, *, ref: str) -> RenderedTree:
        entries = blobs.entries(self.git, commit)
        if MANIFEST not in entries:
            raise GitError(
                f"commit {commit[:12]} of {ref} is no rendered tree: it has no {MANIFEST}",
                hint="name a branch of its own in rendered.branch of the Fleet",
            )
        named = {path: entry.blob for path, entry in entries.items() if may_be_ours(path)}
        known = self._documents
        new = {blob for blob in named.values() if blob not in known}
        read = {blob: document(raw) for blob, raw in blobs.contents(self.git, new).items()}
        documents = {path: read.get(blob) or known[blob] for path, blob in named.items()}
        self._documents = {blob: documents[path] for path, blob in named.items()}
        manifest = read_manifest(documents[MANIFEST].raw, commit=commit)
        owned = {path: documents[path] for path in manifest["files"] if path in documents}
        return parse_tree(commit, manifest, owned, foreign=entries.keys() - owned.keys() - {MANIFEST})

    # ------------------------------------------------------------ writing

    def refuse_checked_out(self, branch: str) -> None:
        """Raises GitError when somebody works on the rendered branch: it would move under him."""
        where = ""
        for line in self.git.text("worktree", "list", "--porcelain").splitlines():
            where = line.removeprefix("worktree ") if line.startswith("worktree ") else where
            if line == f"branch refs/heads/{branch}":
                raise GitError(
                    f"the rendered branch {branch} is checked out in {where}",
                    hint="check out the branch of the intents there (or `git worktree prune` when the folder is gone); "
                    "gitops-vg writes the rendered branch by itself",
                )

    def commit_files(
        self, *, parent: str | None, changed: Mapping[str, bytes], removed: tuple[str, ...], message: str
    ) -> str:
        """A commit with some files of its parent changed and removed; no branch moves."""
        ids = blobs.store(self.git, changed)
        with tempfile.TemporaryDirectory(prefix="gitops-vg-index-") as folder:
            index = {"GIT_INDEX_FILE": str(Path(folder) / "index")}
            self.git.run("read-tree", *([parent] if parent else ["--empty"]), extra=index)
            nothing = "0" * len(next(iter(ids.values())))
            lines = [f"0 {nothing}\t{path}" for path in removed]
            lines += [f"100644 {ids[path]}\t{path}" for path in sorted(changed)]
            stdin = "".join(f"{line}\0" for line in lines).encode("utf-8", "surrogateescape")
            self.git.run("update-index", "-z", "--index-info", stdin=stdin, extra=index)
            tree = self.git.run("write-tree", extra=index).decode().strip()
        parents = ["-p", parent] if parent else []
        return self.git.run("commit-tree", tree, *parents, stdin=message.encode()).decode().strip()

    def move_branch(self, branch: str, *, new: str, old: str | None) -> bool:
        """Move a local branch from `old` to `new`; false when it is not at `old` any more."""
        expected = old or "0" * len(new)
        answer = self.git.ask("update-ref", "-m", "gitops-vg", f"refs/heads/{branch}", new, expected)
        if answer.status and self.branch_commit(branch) == old:
            raise failure("update-ref", answer)
        return answer.status == 0

    def push(self, remote: str, branch: str) -> bool:
        """Push without force; false when the remote's branch has moved on. Raises GitUnreachable, GitError."""
        self.check_remote(remote)
        ref = f"refs/heads/{branch}"
        answer = self.git.ask("push", "--porcelain", "--no-verify", "--", remote, f"{ref}:{ref}", network=True)
        if not answer.status:
            return True
        # One line a ref: `!<tab><from>:<to><tab>[rejected] (fetch first)`.
        said = next((line for line in answer.output.decode("utf-8", "replace").splitlines() if line[:1] == "!"), "")
        why = said.rpartition("\t")[2]
        if any(word in why for word in _MOVED):
            return False
        if why:
            raise GitError(
                f"{remote} refused the push of {branch}: {why}",
                hint="allow gitops-vg to push there; the commit is kept here, and the next publish pushes it",
            )
        raise failure("push", answer, network=True)

    def commit_all(self, message: str) -> str:
        """Commit every change in the working tree, as a person would with `git add --all && git commit`."""
        self.git.run("add", "--all", "--", ".")
        self.git.run("commit", "--quiet", "--no-verify", "--no-gpg-sign", "-m", message)
        return self.source_commit()

    def is_ancestor(self, first: str, second: str) -> bool:
        return self.git.succeeds("merge-base", "--is-ancestor", first, second)

    def only_ours(self, *, since: str, until: str) -> bool:
        """Whether this tool made every commit that `until` has and `since` has not."""
        raw = self.git.run("log", "-z", "--format=%(trailers:key=Tool-Version,valueonly)", f"{since}..{until}")
        return all(b"gitops-vg" in made_by for made_by in raw.split(b"\0")[:-1])


def start_repository(folder: Path, *, message: str) -> Repository:
    """A new repository in `folder` with everything in it committed. Raises GitError when there is one already."""
    if (folder / ".git").exists():
        raise GitError(f"{folder} is a repository already", hint="use it as it is")
    init_repository(folder)
    repository = Repository(folder)
    repository.commit_all(message)
    return repository
