"""Failures in the API server's own form: a Status object with code, reason, message and details."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from gitops_vg.apis.catalog import Kind
from gitops_vg.apis.structural import Invalid
from gitops_vg.sandbox.merge import OwnedField


class StatusError(Exception):
    """An answer that is not a success; becomes a metav1.Status over HTTP."""

    def __init__(
        self,
        code: int,
        reason: str,
        message: str,
        *,
        details: Mapping[str, Any] | None = None,
        retry_after: int | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.details = None if details is None else dict(details)
        self.retry_after = retry_after

    @property
    def body(self) -> dict[str, Any]:
        status: dict[str, Any] = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
        }
        if self.reason:
            status["reason"] = self.reason
        if self.details is not None:
            status["details"] = self.details
        return {**status, "code": self.code}


def _resource(kind: Kind) -> str:
    return f"{kind.plural}.{kind.group}" if kind.group else kind.plural


def _details(kind: Kind, name: str, **more: Any) -> dict[str, Any]:
    details: dict[str, Any] = {"name": name}
    if kind.group:
        details["group"] = kind.group
    return {**details, "kind": kind.plural, **more}


def not_found(kind: Kind, name: str) -> StatusError:
    """The object is not there."""
    return StatusError(404, "NotFound", f'{_resource(kind)} "{name}" not found', details=_details(kind, name))


def no_such_resource() -> StatusError:
    """Nothing is served at this URL."""
    return StatusError(404, "NotFound", "the server could not find the requested resource")


def already_exists(kind: Kind, name: str) -> StatusError:
    """A create met an object of that name."""
    message = f'{_resource(kind)} "{name}" already exists'
    return StatusError(409, "AlreadyExists", message, details=_details(kind, name))


def version_conflict(kind: Kind, name: str, why: str = "") -> StatusError:
    """The resourceVersion or a precondition is not that of the stored object."""
    why = why or "the object has been modified; please apply your changes to the latest version and try again"
    message = f'Operation cannot be fulfilled on {_resource(kind)} "{name}": {why}'
    return StatusError(409, "Conflict", message, details=_details(kind, name))


def precondition_failed(kind: Kind, name: str, field: str, *, given: str, stored: str) -> StatusError:
    """A delete asked for exactly one object, and the name now belongs to another (or to a newer state)."""
    happened = "deleted and then recreated" if field == "UID" else "modified"
    message = (
        f'Operation cannot be fulfilled on {kind.group_kind} "{name}": the {field} in the precondition ({given}) does not '
        f"match the {field} in record ({stored}). The object might have been {happened}"
    )
    details = {"name": name, **({"group": kind.group} if kind.group else {}), "kind": kind.kind}
    return StatusError(409, "Conflict", message, details=details)


def bad_request(message: str) -> StatusError:
    """The request itself is malformed."""
    return StatusError(400, "BadRequest", message)


def internal(message: str) -> StatusError:
    """What a server answers when it gives up; apply of an undeclared field is one."""
    return StatusError(500, "", message)


def forbidden(message: str, *, details: Mapping[str, Any] | None = None) -> StatusError:
    """Admission or policy said no."""
    return StatusError(403, "Forbidden", message, details=details)


def invalid(kind: Kind, name: str, problems: Sequence[Invalid]) -> StatusError:
    """The object breaks its schema; every cause is named."""
    group_kind = str(kind.group_kind)
    texts = [str(problem) for problem in problems]
    text = texts[0] if len(texts) == 1 else "[" + ", ".join(texts) + "]"
    causes = [{"reason": problem.reason, "message": problem.message, "field": problem.field} for problem in problems]
    details: dict[str, Any] = {"name": name}
    if kind.group:
        details["group"] = kind.group
    details |= {"kind": kind.kind, "causes": causes}
    return StatusError(422, "Invalid", f'{group_kind} "{name}" is invalid: {text}', details=details)


def apply_conflict(conflicts: Iterable[OwnedField]) -> StatusError:
    """Server-side apply without force met fields of others."""
    causes = []
    lines: dict[str, list[str]] = {}
    for conflict in conflicts:
        owner = f'"{conflict.manager}"'
        if conflict.operation == "Update":
            owner += f" using {conflict.api_version}"
        causes.append({"reason": "FieldManagerConflict", "message": f"conflict with {owner}", "field": conflict.path})
        lines.setdefault(owner, []).append(conflict.path)
    number = len(causes)
    word = "conflict" if number == 1 else "conflicts"
    if number == 1:
        ((owner, paths),) = lines.items()
        text = f"Apply failed with 1 {word}: conflict with {owner}: {paths[0]}"
    else:
        parts = [
            f"conflicts with {owner}:\n" + "\n".join(f"- {path}" for path in paths) for owner, paths in lines.items()
        ]
        text = f"Apply failed with {number} {word}: " + "\n".join(parts)
    return StatusError(409, "Conflict", text, details={"causes": causes})


def success(kind: Kind, name: str, uid: str) -> dict[str, Any]:
    """The answer to a delete that is done."""
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": _details(kind, name, uid=uid),
    }


def too_new(version: str, current: int) -> StatusError:
    """A version that this server has not reached: its client saw another server, or a later state."""
    message = f"Timeout: Too large resource version: {version}, current: {current}"
    cause = {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
    details = {"causes": [cause], "retryAfterSeconds": 1}
    return StatusError(504, "Timeout", message, details=details, retry_after=1)
