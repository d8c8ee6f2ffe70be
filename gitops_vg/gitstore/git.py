"""git, driven safely: no hooks, no prompts, no surprising transports, every failure in our words."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import git
from git.exc import GitCommandNotFound, InvalidGitRepositoryError, NoSuchPathError

from gitops_vg.errors import GitError, GitUnreachable

_ENVIRONMENT = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ALLOW_PROTOCOL": "https:ssh:file:git",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "LC_ALL": "C",
}
_IDENTITY = {
    "GIT_AUTHOR_NAME": "gitops-vg",
    "GIT_AUTHOR_EMAIL": "gitops-vg@localhost",
    "GIT_COMMITTER_NAME": "gitops-vg",
    "GIT_COMMITTER_EMAIL": "gitops-vg@localhost",
}
# No hook and no file monitor of the repository runs; another publisher's lock of a ref is waited for.
_SETTINGS = (
    *("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "core.quotePath=false"),
    *("-c", "gc.auto=0", "-c", "core.filesRefLockTimeout=2000"),
)
_NETWORK_SECONDS = 60.0
_OFFLINE = ("Could not resolve host", "Could not read from remote", "unable to access", "Connection refused",
            "Connection timed out", "does not appear to be a git repository", "unable to connect", "early EOF",
            "unexpectedly", "hung up", "Timeout:")  # fmt: skip
_PLACES = frozenset({"GIT_DIR", "GIT_COMMON_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"})
_ID = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_CREDENTIALS = re.compile(r"(?<=://)[^/@\s]+@")


@dataclass(frozen=True)
class Answer:
    """What one git command gave: exit code, standard output, and what it said on standard error."""

    status: int
    output: bytes
    said: str


class Git:
    """The git of one repository."""

    def __init__(self, path: Path) -> None:
        """Find the repository that holds `path`. Raises GitError."""
        try:
            self._repo = git.Repo(path, search_parent_directories=True)
        except NoSuchPathError:
            raise GitError(f"there is no folder {path}", hint="name the fleet's folder with -C") from None
        except InvalidGitRepositoryError:
            raise GitError(
                f"{path} is in no Git repository", hint="run `git init` there, and commit the intents"
            ) from None
        except GitCommandNotFound:
            raise _not_installed() from None
        if self._repo.bare or self._repo.working_tree_dir is None:
            raise GitError(f"{path} is a bare repository", hint="work in a clone of it")
        self.top = Path(self._repo.working_tree_dir)
        self._own, self._common = Path(self._repo.git_dir), Path(self._repo.common_dir)
        self._place = _pinned(self._repo) if _PLACES & os.environ.keys() else {}
        answer = self.ask("rev-parse", "--git-dir")
        if "dubious ownership" in answer.said:
            raise GitError(
                f"{self.top} belongs to another user, whose settings git would follow",
                hint=f"if you trust them, run `git config --global --add safe.directory {self.top}`",
            )
        if answer.status:
            raise failure("rev-parse", answer)

    def ask(
        self, *arguments: str, stdin: bytes | None = None, extra: Mapping[str, str] | None = None, network: bool = False
    ) -> Answer:
        """Run one git command, whatever its exit code will be. Raises GitError when there is no git."""
        environment = {**_ENVIRONMENT, **_IDENTITY, **self._place, **(extra or {})}
        with tempfile.TemporaryFile() as source:
            if stdin is not None:
                source.write(stdin)
                source.seek(0)
            try:
                status, output, said = self._repo.git.execute(
                    ["git", *_SETTINGS, *arguments],
                    istream=source,
                    stdout_as_string=False,
                    strip_newline_in_stdout=False,
                    with_extended_output=True,
                    with_exceptions=False,
                    env=environment,
                    kill_after_timeout=_NETWORK_SECONDS if network else None,
                )
            except GitCommandNotFound:
                raise _not_installed() from None
        assert isinstance(output, bytes)
        return Answer(int(status), output, _CREDENTIALS.sub("", str(said)).strip())

    def run(
        self, *arguments: str, stdin: bytes | None = None, extra: Mapping[str, str] | None = None, network: bool = False
    ) -> bytes:
        """The standard output of one git command. Raises GitError, and GitUnreachable for the network."""
        answer = self.ask(*arguments, stdin=stdin, extra=extra, network=network)
        if answer.status:
            raise failure(arguments[0], answer, network=network)
        return answer.output

    def loose(self, ref: str) -> str:
        """The object id in the file of a ref, without asking git; "" when it is kept otherwise (packed, reftable)."""
        if ref != "HEAD" and (not ref.startswith("refs/") or ".." in ref):
            return ""
        place = self._own if ref == "HEAD" else self._common
        try:
            content = (place / ref).read_text(encoding="ascii").strip()
        except (OSError, ValueError):
            return ""
        if ref == "HEAD" and content.startswith("ref: refs/"):
            return self.loose(content.removeprefix("ref: "))
        return content if _ID.fullmatch(content) else ""

    def text(self, *arguments: str) -> str:
        """The output of one git command, stripped."""
        return self.run(*arguments).decode("utf-8", "replace").strip()

    def succeeds(self, *arguments: str) -> bool:
        """Whether the command says yes by its exit code."""
        return self.ask(*arguments).status == 0


def _pinned(repo: git.Repo) -> dict[str, str]:
    """The places of this very repository: inside a hook they are set, for a repository that may be another one.

    Only then: with them git trusts the folder without asking whose it is.
    """
    folder = Path(repo.git_dir)
    places = (folder, Path(repo.common_dir), Path(str(repo.working_tree_dir)), folder / "index")
    return dict(zip(("GIT_DIR", "GIT_COMMON_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"), map(str, places), strict=True))


def failure(command: str, answer: Answer, *, network: bool = False) -> GitError:
    """A command's failure as an error: its first line that states one."""
    lines = [line for line in answer.said.splitlines() if line.strip()]
    first = next((line for line in lines if line.startswith(("fatal:", "error:"))), lines[0] if lines else "")
    message = first.removeprefix("fatal: ").removeprefix("error: ") or f"exit code {answer.status}"
    if network and any(word in answer.said for word in _OFFLINE):
        return GitUnreachable(f"git {command}: {message}", hint="check the remote's address and your access")
    return GitError(f"git {command}: {message}")


def _not_installed() -> GitError:
    return GitError("git is not installed", hint="install git 2.31 or newer")


def init_repository(folder: Path) -> None:
    """Make `folder` a Git repository with the branch `main`."""
    git.Repo.init(folder, initial_branch="main").close()
