"""What an API server does with an object and a structural schema: default, prune, validate.

The order in a server is default, prune, (mutating admission, default, prune), validate; the
messages are the server's own, so that a verdict here reads like the one there
(apiextensions-apiserver, pkg/apiserver/schema).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from functools import cache
from typing import Any

from gitops_vg.apis.catalog import Schema

_INTEGER_RANGES = {"int32": (-(2**31), 2**31 - 1), "int64": (-(2**63), 2**63 - 1)}
_ALWAYS_KNOWN = frozenset({"apiVersion", "kind", "metadata"})


@dataclass(frozen=True)
class Invalid:
    """One violation. `reason` is the cause's reason of a Status (FieldValueInvalid, …), `message` its text."""

    field: str
    reason: str
    message: str

    def __str__(self) -> str:
        return f"{self.field}: {self.message}" if self.field else self.message


# ---------------------------------------------------------------- defaults


def default(schema: Schema, value: Any) -> Any:
    """The value with the schema's defaults written in; parts that change are copied, the rest is shared."""
    if isinstance(value, dict):
        return _default_map(schema, value)
    if isinstance(value, list) and (items := schema.get("items")):
        return [default(items, item) for item in value]
    return value


def _default_map(schema: Schema, value: dict[str, Any]) -> dict[str, Any]:
    properties: Mapping[str, Any] = schema.get("properties") or {}
    rest = schema.get("additionalProperties")
    result = {}
    for key, child in value.items():
        inner = properties.get(key) or (rest if isinstance(rest, Mapping) else None)
        if child is None and inner is not None and not inner.get("nullable"):
            continue  # A null where none may stand counts as left out.
        result[key] = default(inner, child) if inner else child
    for key, inner in properties.items():
        if key not in result and "default" in inner:
            result[key] = default(inner, deepcopy(inner["default"]))
    return result


# ---------------------------------------------------------------- pruning


def prune(schema: Schema, value: Any) -> tuple[Any, tuple[str, ...]]:
    """The value without fields that the schema does not know, and the paths of what was dropped."""
    dropped: list[str] = []
    return _prune(schema, value, "", dropped, root=True), tuple(dropped)


def _prune(schema: Schema, value: Any, path: str, dropped: list[str], *, root: bool = False) -> Any:
    if isinstance(value, list):
        items = schema.get("items") or {}
        return [_prune(items, item, f"{path}[{index}]", dropped) for index, item in enumerate(value)]
    if not isinstance(value, dict):
        return value
    properties: Mapping[str, Any] = schema.get("properties") or {}
    rest = schema.get("additionalProperties")
    keep = schema.get("x-kubernetes-preserve-unknown-fields") or rest is True
    embedded = root or schema.get("x-kubernetes-embedded-resource")
    result = {}
    for key, child in value.items():
        where = f"{path}.{key}" if path else key
        if key in properties:
            # The schema of metadata is the server's own; a CRD says no more than `type: object`.
            bare = key == "metadata" and "properties" not in properties[key]
            result[key] = child if bare else _prune(properties[key], child, where, dropped)
        elif isinstance(rest, Mapping):
            result[key] = _prune(rest, child, where, dropped)
        elif keep or (embedded and key in _ALWAYS_KNOWN):
            result[key] = child
        elif not properties and rest is None and schema.get("type") != "object":
            result[key] = child  # A schema that says nothing (a Go interface, a raw extension).
        else:
            dropped.append(where)
    return result


# ---------------------------------------------------------------- validation


def validate(schema: Schema, value: Any) -> tuple[Invalid, ...]:
    """Every violation, in the order in which the fields stand in the schema."""
    return tuple(_validate(schema, value, ""))


def _invalid(path: str, value: Any, detail: str) -> Invalid:
    return Invalid(path, "FieldValueInvalid", f"Invalid value: {_shown(value)}: {path} in body {detail}")


def _shown(value: Any) -> str:
    """A value as Go's validation prints it."""
    if isinstance(value, dict):
        return "object" if not value else json.dumps(value, separators=(",", ":"))
    return json.dumps(value)


def _validate(schema: Schema, value: Any, path: str) -> Iterator[Invalid]:
    if value is None:
        if not schema.get("nullable") and schema.get("type"):
            yield Invalid(
                path,
                "FieldValueTypeInvalid",
                f'Invalid value: "null": {path} in body must be of type {schema["type"]}: "null"',
            )
        return
    if schema.get("x-kubernetes-int-or-string"):
        yield from _validate_int_or_string(schema, value, path)
        return
    kind = schema.get("type")
    if kind and not _is_of_type(kind, value):
        found = _type_of(value)
        detail = f'Invalid value: "{found}": {path} in body must be of type {kind}: "{found}"'
        yield Invalid(path, "FieldValueTypeInvalid", detail)
        return
    if "enum" in schema and value not in schema["enum"]:
        supported = ", ".join(json.dumps(item) for item in schema["enum"])
        yield Invalid(
            path, "FieldValueNotSupported", f"Unsupported value: {_shown(value)}: supported values: {supported}"
        )
    if isinstance(value, str):
        yield from _validate_text(schema, value, path)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield from _validate_number(schema, value, path)
    elif isinstance(value, list):
        yield from _validate_list(schema, value, path)
    elif isinstance(value, dict):
        yield from _validate_map(schema, value, path)


def _is_of_type(kind: str, value: Any) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    if kind == "integer":
        return isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    types: dict[str, Any] = {"string": str, "number": (int, float), "array": list, "object": dict, "boolean": bool}
    return isinstance(value, types[kind])


def _type_of(value: Any) -> str:
    names: dict[type, str] = {
        bool: "boolean",
        int: "integer",
        float: "number",
        str: "string",
        list: "array",
        dict: "object",
    }
    return names.get(type(value), "null")


def _validate_int_or_string(schema: Schema, value: Any, path: str) -> Iterator[Invalid]:
    if isinstance(value, bool) or not isinstance(value, (int, str)):
        found = _type_of(value)
        detail = f'Invalid value: "{found}": {path} in body must be of type integer,string: "{found}"'
        yield Invalid(path, "FieldValueTypeInvalid", detail)
    elif isinstance(value, str) and (pattern := schema.get("pattern")) and not _pattern(pattern).search(value):
        yield _invalid(path, value, f"should match '{pattern}'")


def _validate_text(schema: Schema, value: str, path: str) -> Iterator[Invalid]:
    longest, shortest = schema.get("maxLength"), schema.get("minLength")
    if longest is not None and len(value) > longest:
        yield Invalid(path, "FieldValueTooLong", f"Too long: may not be more than {longest} bytes")
    if shortest is not None and len(value) < shortest:
        yield _invalid(path, value, f"should be at least {shortest} chars long")
    if (pattern := schema.get("pattern")) and not _pattern(pattern).search(value):
        yield _invalid(path, value, f"should match '{pattern}'")


@cache
def _pattern(text: str) -> re.Pattern[str]:
    # Go's $ is the end of the text; Python's also stands before a last newline.
    return re.compile(re.sub(r"\$$", r"\\Z", text))


def _validate_number(schema: Schema, value: float, path: str) -> Iterator[Invalid]:
    low, high = _INTEGER_RANGES.get(schema.get("format", ""), (None, None))
    if low is not None and high is not None and not low <= value <= high:
        yield _invalid(path, value, f"must be of type {schema['format']}: {json.dumps(value)}")
    smallest, largest = schema.get("minimum"), schema.get("maximum")
    if smallest is not None and value < smallest:
        yield _invalid(path, value, f"should be greater than or equal to {smallest}")
    if largest is not None and value > largest:
        yield _invalid(path, value, f"should be less than or equal to {largest}")


def _validate_list(schema: Schema, value: list[Any], path: str) -> Iterator[Invalid]:
    fewest, most = schema.get("minItems"), schema.get("maxItems")
    if fewest is not None and len(value) < fewest:
        yield _invalid(path, len(value), f"should have at least {fewest} items")
    if most is not None and len(value) > most:
        yield Invalid(path, "FieldValueTooMany", f"Too many: {len(value)}: must have at most {most} items")
    yield from _duplicates(schema, value, path)
    items = schema.get("items") or {}
    for index, item in enumerate(value):
        yield from _validate(items, item, f"{path}[{index}]")


def _duplicates(schema: Schema, value: list[Any], path: str) -> Iterator[Invalid]:
    rule, keys = schema.get("x-kubernetes-list-type"), schema.get("x-kubernetes-list-map-keys") or ()
    if rule not in ("map", "set"):
        return
    seen = set()
    for index, item in enumerate(value):
        shown = (
            {key: item.get(key) for key in keys if key in item} if rule == "map" and isinstance(item, dict) else item
        )
        name = json.dumps(shown, sort_keys=True)
        if name in seen:
            yield Invalid(f"{path}[{index}]", "FieldValueDuplicate", f"Duplicate value: {_shown(shown)}")
        seen.add(name)


def _validate_map(schema: Schema, value: dict[str, Any], path: str) -> Iterator[Invalid]:
    prefix = f"{path}." if path else ""
    for key in schema.get("required") or ():
        if key not in value:
            yield Invalid(f"{prefix}{key}", "FieldValueRequired", "Required value")
    most = schema.get("maxProperties")
    if most is not None and len(value) > most:
        yield Invalid(path, "FieldValueTooMany", f"Too many: {len(value)}: must have at most {most} items")
    properties: Mapping[str, Any] = schema.get("properties") or {}
    rest = schema.get("additionalProperties")
    for key, child in value.items():
        inner = properties.get(key) or (rest if isinstance(rest, Mapping) else None)
        if inner:
            yield from _validate(inner, child, f"{prefix}{key}")
    for alternatives, word in ((schema.get("oneOf"), 1), (schema.get("anyOf"), 0), (schema.get("allOf"), 2)):
        yield from _combined(alternatives or (), value, path, rule=word)


def _combined(schemas: Any, value: Any, path: str, *, rule: int) -> Iterator[Invalid]:
    """oneOf (1), anyOf (0), allOf (2); structural schemas use them only for `required` and `not`."""
    if not schemas:
        return
    good = sum(not any(_validate(schema, value, path)) and not _is_refused(schema, value) for schema in schemas)
    if rule == 2 and good < len(schemas):
        yield Invalid(path, "FieldValueInvalid", f"Invalid value: {path} in body must validate all the schemas (allOf)")
    if rule == 1 and good != 1:
        yield Invalid(
            path, "FieldValueInvalid", f"Invalid value: {path} in body must validate one and only one schema (oneOf)"
        )
    if rule == 0 and good == 0:
        yield Invalid(
            path, "FieldValueInvalid", f"Invalid value: {path} in body must validate at least one schema (anyOf)"
        )


def _is_refused(schema: Schema, value: Any) -> bool:
    return "not" in schema and not any(_validate(schema["not"], value, ""))
