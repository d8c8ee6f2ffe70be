"""Checks pod templates and raw objects against the structural schemas that an API server uses.

What a server answers to an unknown field under server-side apply is a 500 without a line
number; here it is a finding with its place, and the name that was probably meant.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple

from gitops_vg.apis.catalog import Kind, catalog
from gitops_vg.apis.structural import Invalid, prune, validate
from gitops_vg.intents.source import Path, undotted
from gitops_vg.objects import GroupKind

_TEMPLATE = "spec.template"


class TemplateFault(NamedTuple):
    """One fault below the checked value: where, what, and what to do."""

    path: Path
    message: str
    fix: str


def kind_of(body: Mapping[str, Any]) -> Kind | None:
    """The kind of a raw object when its API version is one that we know."""
    group, _, version = str(body["apiVersion"]).rpartition("/")
    kind = catalog().of(GroupKind(group, str(body["kind"])))
    return kind if kind is not None and kind.version == version else None


def template_faults(template: Mapping[str, Any]) -> tuple[TemplateFault, ...]:
    """Faults of a pod template as people write it.

    The container list and the name of its first container may be left out: the short form fills them in.
    """
    if not template:
        return ()
    kind = catalog().of(GroupKind("apps", "Deployment"))
    assert kind is not None
    schema = kind.schema
    assert schema is not None
    inner = schema["properties"]["spec"]["properties"]["template"]
    wrapper = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"template": inner}}}}
    return tuple(
        TemplateFault(fault.path[2:], fault.message.removeprefix(f"{_TEMPLATE}."), fault.fix)
        for fault in _faults(wrapper, {"spec": {"template": dict(template)}}, ignored=_is_filled_in)
    )


def _is_filled_in(one: Invalid) -> bool:
    """Whether the short form makes it right, or a rule of its own (GVG309) says it better."""
    spec = f"{_TEMPLATE}.spec"
    if one.reason == "FieldValueDuplicate":
        return one.field.startswith((f"{spec}.containers[", f"{spec}.initContainers[")) and one.field.count("[") == 1
    return one.reason == "FieldValueRequired" and one.field in (
        spec,
        f"{spec}.containers",
        f"{spec}.containers[0].name",
    )


def object_faults(body: Mapping[str, Any]) -> tuple[TemplateFault, ...]:
    """Faults of a raw object; none when we do not know its kind."""
    kind = kind_of(body)
    if kind is None or kind.schema is None:
        return ()
    return tuple(_faults(kind.schema, dict(body), ignored=lambda _: False))


def _faults(schema: Mapping[str, Any], value: Any, *, ignored: Callable[[Invalid], bool]) -> Iterator[TemplateFault]:
    invalid = [one for one in validate(schema, value) if not ignored(one)]
    for one in invalid:
        text = one.message.removeprefix("Invalid value: ").removeprefix(f"{one.field} in body ")
        yield TemplateFault(undotted(one.field), f"{one.field}: {_plain(text, one.field)}", "write what the API takes")
    if invalid:
        return  # Where the shape is wrong, "unknown" fields below it mean nothing.
    _, dropped = prune(schema, value)
    for field in dropped:
        path = undotted(field)
        known = _fields(schema, path[:-1])
        near = difflib.get_close_matches(str(path[-1]), known, n=1)
        fix = f"did you mean {near[0]}?" if near else "remove it; the API server refuses unknown fields"
        yield TemplateFault(path, f"there is no field {field}", fix)


def _plain(text: str, field: str) -> str:
    """The server's words without the field they repeat."""
    _, found, rest = text.partition(f"{field} in body ")
    return rest if found else text


def _fields(schema: Mapping[str, Any], path: Path) -> list[str]:
    for part in path:
        inner = schema.get("items") if isinstance(part, int) else (schema.get("properties") or {}).get(part)
        if inner is None:
            rest = schema.get("additionalProperties")
            inner = rest if isinstance(rest, Mapping) else {}
        schema = inner
    return list(schema.get("properties") or {})


@cache
def known_kinds() -> frozenset[str]:
    """The names of all kinds with a schema of ours."""
    return frozenset(kind.kind for kind in catalog().kinds())
