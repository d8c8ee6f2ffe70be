"""What an answer of an API server means: one of our errors, with words that help and no secrets."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from gitops_vg.errors import (
    AlreadyExists,
    ClusterError,
    Conflict,
    Denied,
    Expired,
    FieldConflict,
    Forbidden,
    KindMissing,
    NotFound,
    Rejected,
    Unavailable,
    VersionConflict,
)

_LONGEST = 600
"""Characters of a server's message that are kept: some echo whole objects."""
_MANAGER = re.compile(r'conflict with "([^"]*)"')
_UNTYPED = "failed to create typed patch object"
_ADMISSION = ("admission webhook", "denied the request", "ValidatingAdmissionPolicy", "This resource is protected")
_SECRET = re.compile(r"(?i)(bearer\s+|token[\"':= ]+)[A-Za-z0-9._~+/=-]{8,}")


def error_of(status: int, body: bytes, headers: Mapping[str, str], *, what: str) -> ClusterError:
    """The error for an answer with `status` to `what` ("apply Queue ai-training").

    A body that is no Status object is not quoted: it comes from a proxy or a wrong server.
    """
    answer = _status_of(body)
    message = _clean(answer.get("message", ""))
    reason = str(answer.get("reason") or "")
    told = f"{what}: {message or f'the server answered {status}'}"
    about: dict[str, Any] = {"status": status, "reason": reason}
    if status == 404:
        if answer.get("details", {}).get("name") or " not found" in message:
            return NotFound(told, **about)
        hint = "is this karmada-apiserver, and are its CRDs installed?"
        return KindMissing(f"{what}: the server does not serve this kind", hint=hint, **about)
    if status == 409:
        return _conflict(answer, told=told, about=about)
    if status == 410 or reason == "Expired":
        return Expired(told, **about)
    if status == 401:
        hint = "check the kubeconfig's user; tokens and certificates expire"
        return Forbidden(f"{what}: the server does not accept the credentials", hint=hint, **about)
    if status == 403 and "it is being terminated" in message:
        return Denied(told, hint="wait until the namespace is gone; `kubectl get` shows what holds it", **about)
    if status == 403:
        if any(word in message for word in _ADMISSION):
            return Denied(told, **about)
        return Forbidden(told, hint="the account needs this permission in karmada-apiserver", **about)
    if _UNTYPED in message:
        # Server-side apply answers an undeclared field with 500; it stays wrong however often it is sent.
        return Rejected(told, hint="the object has a field that the installed schema does not know", **about)
    if status == 429 or status >= 500:
        return Unavailable(told, retry_after=_retry_after(headers), hint="try again in a moment", **about)
    return Rejected(told, **about)


def _conflict(answer: Mapping[str, Any], *, told: str, about: Mapping[str, Any]) -> ClusterError:
    if about["reason"] == "AlreadyExists":
        return AlreadyExists(told, **about)
    causes = answer.get("details", {}).get("causes") or ()
    conflicts = [
        FieldConflict(
            cause.get("field", ""), match.group(1) if (match := _MANAGER.search(cause.get("message", ""))) else ""
        )
        for cause in causes
        if cause.get("reason") == "FieldManagerConflict"
    ]
    if conflicts:
        return Conflict(told, conflicts=conflicts)
    return VersionConflict(told, **about)


def _status_of(body: bytes) -> Mapping[str, Any]:
    try:
        answer = json.loads(body)
    except ValueError:
        return {}
    return answer if isinstance(answer, dict) and answer.get("kind") == "Status" else {}


def _clean(message: str) -> str:
    message = _SECRET.sub(r"\1…", str(message))
    return message if len(message) <= _LONGEST else message[:_LONGEST] + "…"


def _retry_after(headers: Mapping[str, str]) -> float | None:
    text = headers.get("Retry-After", "")
    return float(text) if text.isascii() and text.isdigit() else None
