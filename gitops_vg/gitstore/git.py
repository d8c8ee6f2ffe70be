"""git, driven safely: no hooks, no prompts, no surprising transports, every failure in our words."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import git
from git.exc import GitCommandError, GitCommandNotFound, InvalidGitRepositoryError, NoSuchPathError

from gitops_vg.errors import GitError, GitUnreachable

_ENVIRONMENT = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ALLOW_PROTOCOL": "https:ssh:file:git",
    "GIT_OPTIONAL_LOCKS": "0",
    "LC_ALL": "C",
}
_IDENTITY = {
    "GIT_AUTHOR_NAME": "gitops-vg",
    "GIT_AUTHOR_EMAIL": "gitops-vg@localhost",
    "GIT_COMMITTER_NAME": "gitops-vg",
    "GIT_COMMITTER_EMAIL": "gitops-vg@localhost",
}
_SETTINGS = ("-c", "core.hooksPath=/dev/null", "-c", "core.quotePath=false", "-c", "gc.auto=0")
_NETWORK_SECONDS = 60.0
_OFFLINE = ("Could not resolve host", "Could not read from remote", "unable to access", "Connection refused",
            "Connection timed out", "does not appear to be a git repository", "unable to connect", "early EOF")  # fmt: skip


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
            raise GitError("git is not installed", hint="install git 2.31 or newer") from None
        if self._repo.bare or self._repo.working_tree_dir is None:
            raise GitError(f"{path} is a bare repository", hint="work in a clone of it")
        self.top = Path(self._repo.working_tree_dir)

    def run(
        self, *arguments: str, stdin: bytes | None = None, extra: Mapping[str, str] | None = None, network: bool = False
    ) -> bytes:
        """The standard output of one git command. Raises GitError, and GitUnreachable for the network."""
        command = ["git", *_SETTINGS, *arguments]
        environment = {**_ENVIRONMENT, **_IDENTITY, **(extra or {})}
        try:
            with tempfile.TemporaryFile() as source:
                if stdin is not None:
                    source.write(stdin)
                    source.seek(0)
                output = self._repo.git.execute(
                    command, istream=source, stdout_as_string=False, strip_newline_in_stdout=False, env=environment,
                    kill_after_timeout=_NETWORK_SECONDS if network else None,
                )  # fmt: skip
        except GitCommandError as error:
            raise self._failure(arguments, error, network=network) from None
        assert isinstance(output, bytes)
        return output

    def text(self, *arguments: str) -> str:
        """The output of one git command, stripped."""
        return self.run(*arguments).decode("utf-8", "replace").strip()

    def succeeds(self, *arguments: str) -> bool:
        """Whether the command says yes by its exit code."""
        try:
            self.run(*arguments)
        except GitError:
            return False
        return True

    def _failure(self, arguments: Sequence[str], error: GitCommandError, *, network: bool) -> GitError:
        said = error.stderr if isinstance(error.stderr, str) else str(error.stderr or "")
        said = said.strip().removeprefix("stderr: '").rstrip("'").strip()
        lines = [line for line in said.splitlines() if line.strip()]
        first = next((line for line in lines if line.startswith(("fatal:", "error:"))), lines[0] if lines else "")
        message = first.removeprefix("fatal: ").removeprefix("error: ") or f"exit code {error.status}"
        if network and (any(word in said for word in _OFFLINE) or "Timeout" in said):
            return GitUnreachable(f"git {arguments[0]}: {message}", hint="check the remote's address and your access")
        return GitError(f"git {arguments[0]}: {message}")


def init_repository(folder: Path) -> None:
    """Make `folder` a Git repository with the branch `main`."""
    git.Repo.init(folder, initial_branch="main").close()
