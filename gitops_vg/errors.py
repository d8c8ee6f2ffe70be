"""Every error this program raises on purpose, in one tree.

A message is one clear sentence with what was wrong; `hint` is one sentence
with what to do. The command line turns the class into the exit code and prints
both; nothing else decides about exit codes.

    GitopsVgError            1   the operation failed
    ├── UsageError          64   a flag or an argument is wrong
    ├── InputError           1   what people wrote is wrong; carries the findings
    ├── GuardError           3   a plan was stopped; carries its digest
    ├── GitError             1   the repository is not in a state to work on
    │   ├── GitUnreachable   4   the remote did not answer
    │   └── RaceLost         1   somebody else's commit came first, again and again
    └── ClusterError         1   an API server answered with a failure
        ├── NotFound         1   the object is not there (404 of an object)
        ├── KindMissing      1   the type is not served (404 of a type, or discovery says so)
        ├── Conflict         1   another manager owns fields; carries the conflicts
        ├── VersionConflict  1   the object changed since it was read (409 Conflict)
        ├── AlreadyExists    1   409 AlreadyExists
        ├── Rejected         1   final for this object, never retried (400, 415, 422, and the 500
        │                        with which server-side apply answers an unknown field)
        ├── Denied           1   an admission webhook or policy said no
        ├── Forbidden        1   401 or 403 of authorization
        ├── Expired          1   410: the list or watch must start anew
        └── Unavailable      4   refused, timed out, 429, 5xx: the outcome is unknown, read again first
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from gitops_vg.findings import Finding


class GitopsVgError(Exception):
    """Base of every error raised on purpose. `message` states it, `hint` says what to do."""

    exit_code: ClassVar[int] = 1

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class UsageError(GitopsVgError):
    """A flag or an argument is wrong."""

    exit_code = 64


class InputError(GitopsVgError):
    """What people wrote is wrong; `findings` has every problem with its place."""

    def __init__(self, message: str, *, findings: Sequence[Finding], hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.findings = tuple(findings)


class GuardError(GitopsVgError):
    """A plan was stopped before it did anything.

    `digest` names the exact plan; an Approval with it opens this plan and no other.
    `reasons` says, one line each, what stopped it.
    """

    exit_code = 3

    def __init__(self, message: str, *, digest: str, reasons: Sequence[str] = (), hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.digest = digest
        self.reasons = tuple(reasons)


class GitError(GitopsVgError):
    """The repository is not in a state to work on."""


class GitUnreachable(GitError):
    """The remote did not answer; nothing is known about what it has."""

    exit_code = 4


class RaceLost(GitError):
    """Somebody else's commit came first each time we tried."""


class ClusterError(GitopsVgError):
    """An API server answered with a failure.

    `status` is the HTTP code (0 when there was no answer), `reason` the reason of
    the Kubernetes Status object.
    """

    def __init__(self, message: str, *, status: int = 0, reason: str = "", hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.status = status
        self.reason = reason


class NotFound(ClusterError):
    """The object is not there, said by a server that serves its type."""


class KindMissing(ClusterError):
    """The server does not serve this type (the wrong server, or a CRD is missing)."""


@dataclass(frozen=True)
class FieldConflict:
    """One field that another manager owns: `path` as managedFields write it."""

    path: str
    manager: str


class Conflict(ClusterError):
    """Server-side apply found fields that other managers own."""

    def __init__(self, message: str, *, conflicts: Sequence[FieldConflict], hint: str = "") -> None:
        super().__init__(message, status=409, reason="Conflict", hint=hint)
        self.conflicts = tuple(conflicts)


class VersionConflict(ClusterError):
    """The object changed since it was read (resourceVersion or uid precondition)."""


class AlreadyExists(ClusterError):
    """An object of this name is there already."""


class Rejected(ClusterError):
    """The server will never take this object as it is."""


class Denied(ClusterError):
    """An admission webhook or policy refused; its words are in the message."""


class Forbidden(ClusterError):
    """The credentials do not allow this."""


class Expired(ClusterError):
    """The version asked for is too old: list again."""


class Unavailable(ClusterError):
    """No usable answer; whether a write happened is unknown.

    `retry_after` is the server's own wish in seconds, None when it had none.
    """

    exit_code = 4

    def __init__(
        self,
        message: str,
        *,
        status: int = 0,
        reason: str = "",
        retry_after: float | None = None,
        hint: str = "",
    ) -> None:
        super().__init__(message, status=status, reason=reason, hint=hint)
        self.retry_after = retry_after
