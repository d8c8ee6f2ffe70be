"""What requests carry: bodies in JSON or YAML, and the options of a deletion."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import yaml
from aiohttp import web

from gitops_vg.sandbox import status
from gitops_vg.sandbox.store import Object

_PROPAGATIONS = ("Background", "Foreground", "Orphan")
_MOST_VALUES = 200_000
"""A YAML body with more values than this is an alias bomb: 3 MB of plain YAML have fewer."""


@dataclass(frozen=True)
class DeleteOptions:
    """How a deletion is done, from the query and from the body."""

    propagation: str
    dry_run: bool
    uid: str | None
    resource_version: str | None


def delete_options(body: Any, *, query: Mapping[str, str]) -> DeleteOptions:
    """The options of a DELETE. Raises StatusError 400 for what is none."""
    if not isinstance(body, dict):
        raise status.bad_request("DeleteOptions expected")
    preconditions = body.get("preconditions") or {}
    dry_run = body.get("dryRun") or []
    if not isinstance(preconditions, dict) or not isinstance(dry_run, list):
        raise status.bad_request("DeleteOptions: preconditions is not a map or dryRun is not a list")
    uid, version = preconditions.get("uid"), preconditions.get("resourceVersion")
    if not all(value is None or isinstance(value, str) for value in (uid, version)):
        raise status.bad_request("DeleteOptions: preconditions have to be strings")
    orphan = query.get("orphanDependents", body.get("orphanDependents")) in (True, "true")
    propagation = query.get("propagationPolicy") or body.get("propagationPolicy")
    propagation = propagation or ("Orphan" if orphan else "Background")
    if propagation not in _PROPAGATIONS:
        raise status.bad_request(f"DeleteOptions: propagationPolicy is one of {', '.join(_PROPAGATIONS)}")
    asked = [is_dry(value) for value in (query.get("dryRun", ""), *map(str, dry_run))]
    return DeleteOptions(propagation, any(asked), uid, version)


def is_dry(value: str) -> bool:
    if value not in ("", "All"):
        raise status.bad_request(f'Invalid value: "{value}": dryRun must be All')
    return value == "All"


async def decoded(request: web.Request) -> Any:
    """The body, JSON or YAML; {} for none. Raises StatusError 400 and 415."""
    if "protobuf" in request.content_type:
        text = "this server reads JSON and YAML, not protobuf: use `kubectl apply` instead of `kubectl create`"
        raise status.StatusError(415, "UnsupportedMediaType", text)
    raw = await request.read()
    if not raw:
        return {}
    try:
        return _json(raw)
    except (ValueError, RecursionError) as error:
        try:
            return _yaml(raw)
        except (yaml.YAMLError, ValueError, RecursionError):
            raise status.bad_request(f"couldn't get version/kind; json parse error: {error}") from error


async def json_object(request: web.Request) -> Object:
    """The object of a create or an update. Raises StatusError 400 and 415."""
    body = await decoded(request)
    if not isinstance(body, dict):
        raise status.bad_request("couldn't get version/kind; json parse error: an object is expected")
    return body


async def yaml_object(request: web.Request) -> Object:
    """The object of a server-side apply, which is YAML and mostly JSON. Raises StatusError 400."""
    raw = await request.read()
    try:
        body = _json(raw) if raw[:1] == b"{" else _yaml(raw)
    except (ValueError, RecursionError, yaml.YAMLError):
        try:
            body = _yaml(raw)
        except (yaml.YAMLError, ValueError, RecursionError) as error:
            problem = getattr(error, "problem", None) or str(error)
            mark = getattr(error, "problem_mark", None)
            where = f"line {mark.line + 1}: " if mark is not None else ""
            raise status.bad_request(
                f"error decoding YAML: error converting YAML to JSON: yaml: {where}{problem}"
            ) from error
    if not isinstance(body, dict):
        raise status.bad_request("error decoding YAML: an object is expected")
    return body


def _json(raw: bytes) -> Any:
    def refuse(text: str) -> None:
        raise ValueError(f"{text} is no number")

    return json.loads(raw, parse_constant=refuse)


class _YAML(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """YAML of requests, without dates: JSON has none."""


_YAML.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in _YAML.yaml_implicit_resolvers.items()
}


def _yaml(raw: bytes) -> Any:
    left = _MOST_VALUES

    def plain(value: Any) -> Any:
        """As JSON would say it: names are strings, aliases are written out."""
        nonlocal left
        left -= 1
        if left < 0:
            raise ValueError("document contains excessive aliasing")
        if isinstance(value, dict):
            return {name if isinstance(name, str) else json.dumps(name): plain(item) for name, item in value.items()}
        if isinstance(value, list):
            return [plain(item) for item in value]
        if value is None or isinstance(value, str | int | float):
            return value
        raise ValueError(f"{type(value).__name__} is no type of JSON")

    try:
        return plain(yaml.load(raw, Loader=_YAML))
    except TypeError as error:
        raise ValueError(str(error)) from error
