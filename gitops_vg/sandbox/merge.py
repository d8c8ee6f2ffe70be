"""Server-side apply and the ownership of fields, as one pure step from object to object.

Follows structured-merge-diff (package merge, type Updater) and the API server's field manager.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gitops_vg.apis.catalog import Schema
from gitops_vg.sandbox import fields
from gitops_vg.sandbox.fields import Fields

Object = dict[str, Any]

_UNOWNED_METADATA = ("f:name", "f:namespace", "f:creationTimestamp", "f:selfLink", "f:uid", "f:clusterName",
                     "f:generation", "f:managedFields", "f:resourceVersion", ".")  # fmt: skip


@dataclass(frozen=True)
class OwnedField:
    """A field that another manager owns."""

    path: str
    manager: str
    operation: str
    api_version: str
    time: str


class ApplyConflict(Exception):
    """Server-side apply without force met fields of other managers."""

    def __init__(self, conflicts: Sequence[OwnedField]) -> None:
        super().__init__(f"{len(conflicts)} conflicts")
        self.conflicts = tuple(conflicts)


class TypedPatchError(Exception):
    """The applied object does not fit the schema; the server answers this with a 500."""


@dataclass(frozen=True)
class _Owner:
    manager: str
    operation: str
    subresource: str
    api_version: str
    time: str
    fields: Fields

    @property
    def identity(self) -> tuple[str, str, str]:
        return (self.manager, self.operation, self.subresource)


def apply_object(
    live: Object | None,
    applied: Object,
    *,
    schema: Schema | None,
    manager: str,
    api_version: str,
    time: str,
    force: bool,
    subresource: str = "",
) -> Object:
    """The object after `manager` applied `applied` to `live`, with managedFields.

    Raises ApplyConflict, TypedPatchError.
    """
    check_typed(applied, schema)
    applied = _without_managed(applied)
    before = _without_managed(live) if live is not None else {}
    owners = _owners(live)
    own = (manager, "Apply", subresource)
    previous = next((owner.fields for owner in owners if owner.identity == own), {})
    owned = _stripped(fields.members(applied, schema))
    others = [owner for owner in owners if owner.identity != own]
    combined = _merge(before, applied, schema)
    if previous:
        combined = _drop_unclaimed(combined, previous, owned=owned, others=others, schema=schema)
    changed, removed = fields.compare(before, combined, schema)
    others = _settle(others, changed, removed, force=force)
    result = _Owner(manager, "Apply", subresource, api_version, time, owned)
    if not changed and not removed and live is not None and owned == previous:
        return live
    return _with_owners(combined, [*others, result] if owned else others)


def _drop_unclaimed(
    combined: Object, previous: Fields, *, owned: Fields, others: Sequence[_Owner], schema: Schema | None
) -> Object:
    """Remove what this manager applied before, applies no longer, and nobody else owns."""
    kept = fields.merged(owned, {"f:metadata": {"f:name": {}}})
    for owner in others:
        kept = fields.merged(kept, owner.fields)
    result: Object = fields.without(combined, previous, kept, schema)
    return result


def _settle(others: Sequence[_Owner], changed: Fields, removed: Fields, *, force: bool) -> list[_Owner]:
    """What other managers own after the change. Raises ApplyConflict when they lose fields without force."""
    conflicts = []
    result = []
    for owner in others:
        lost = fields.intersection(owner.fields, changed) if changed else {}
        for path in fields.paths(lost):
            conflicts.append(
                OwnedField(fields.shown(path), owner.manager, owner.operation, owner.api_version, owner.time)
            )
        rest = fields.difference(owner.fields, lost) if lost else owner.fields
        rest = fields.difference(rest, removed) if removed else rest
        if rest:
            result.append(_Owner(*owner.identity, owner.api_version, owner.time, rest))
    if conflicts and not force:
        raise ApplyConflict(sorted(conflicts, key=lambda conflict: conflict.manager))
    return result


def update_ownership(
    old: Object | None,
    new: Object,
    *,
    schema: Schema | None,
    manager: str,
    api_version: str,
    time: str,
    operation: str = "Update",
    subresource: str = "",
) -> Object:
    """`new` with managedFields after a create, replace or patch by `manager`.

    An empty list sent by the user resets all ownership, as the API server does.
    """
    if old is not None and new.get("metadata", {}).get("managedFields") == []:
        return _without_managed(new)
    before = _without_managed(old) if old is not None else {}
    after = _without_managed(new)
    changed, removed = fields.compare(before, after, schema)
    changed, removed = _stripped(changed), _stripped(removed)
    own = (manager, operation, subresource)
    owners = _owners(old)
    mine = next((owner for owner in owners if owner.identity == own), None)
    others = _settle([owner for owner in owners if owner.identity != own], changed, removed, force=True)
    owned = fields.merged(mine.fields, changed) if mine else changed
    owned = fields.difference(owned, removed) if removed else owned
    if mine is not None and owned == mine.fields and not changed:
        return _with_owners(after, [*others, mine])
    added = [_Owner(*own, api_version, time, owned)] if owned else []
    return _with_owners(after, [*others, *added])


# ---------------------------------------------------------------- merging values


def _merge(live: Any, applied: Any, schema: Schema | None) -> Any:
    """The applied value over the live one: maps and keyed lists item by item, the rest replaced."""
    if isinstance(live, dict) and isinstance(applied, dict) and not fields.is_atomic(schema, applied):
        result = dict(live)
        for name, value in applied.items():
            inner = fields.field_schema(schema, name)
            result[name] = _merge(live[name], value, inner) if name in live else value
        return result
    if isinstance(live, list) and isinstance(applied, list) and not fields.is_atomic(schema, applied):
        assert schema is not None
        return _merge_lists(live, applied, schema)
    return applied


def _merge_lists(live: list[Any], applied: list[Any], schema: Schema) -> list[Any]:
    """Items in the applied order; items of others keep their place before what followed them."""
    items = schema.get("items")
    left = [(fields.item_name(schema, item), item) for item in live]
    right = [(fields.item_name(schema, item), item) for item in applied]
    before = dict(left)
    wanted = {name for name, _ in right}
    result: list[Any] = []
    position = 0

    def foreign() -> None:
        nonlocal position
        while position < len(left) and left[position][0] not in wanted:
            result.append(left[position][1])
            position += 1

    for name, item in right:
        foreign()
        if position < len(left) and left[position][0] in before and left[position][0] in wanted:
            position += 1
        result.append(_merge(before[name], item, items) if name in before else item)
    for name, item in left[position:]:
        if name not in wanted:
            result.append(item)
    return result


# ---------------------------------------------------------------- typed checks


def check_typed(value: Object, schema: Schema | None) -> None:
    """Refuse fields that the schema does not declare, wrong types and duplicate keys.

    Raises TypedPatchError in the server's words (structured-merge-diff, package typed).
    """
    if schema is None:
        return
    problems: list[str] = []
    _check(value, schema, "", problems)
    if problems:
        text = problems[0] if len(problems) == 1 else "errors:\n" + "\n".join(f"  {problem}" for problem in problems)
        raise TypedPatchError(text)


def _check(value: Any, schema: Schema | None, path: str, problems: list[str]) -> None:
    if schema is None or value is None or schema.get("x-kubernetes-int-or-string"):
        return
    kind = schema.get("type")
    if isinstance(value, dict):
        if kind not in (None, "object"):
            problems.append(f"{path}: expected {_word(kind)}, got map")
            return
        loose = schema.get("x-kubernetes-preserve-unknown-fields") or (kind != "object" and "properties" not in schema)
        for name, child in value.items():
            inner = fields.field_schema(schema, name)
            if inner is None and not loose and schema.get("additionalProperties") is not True:
                if path or name not in ("apiVersion", "kind", "metadata"):
                    problems.append(f"{path}.{name}: field not declared in schema")
            else:
                _check(child, inner, f"{path}.{name}", problems)
    elif isinstance(value, list):
        if kind not in (None, "array"):
            problems.append(f"{path}: expected {_word(kind)}, got list")
            return
        _check_list(value, schema, path, problems)
    elif not _fits(kind, value):
        shown = _go_type(value) if kind in ("integer", "number") else _go_value(value)
        problems.append(f"{path}: expected {_word(kind)}, got {shown}")


def _check_list(value: list[Any], schema: Schema, path: str, problems: list[str]) -> None:
    items = schema.get("items")
    keyed = not fields.is_atomic(schema, value)
    seen = set()
    for index, item in enumerate(value):
        if not keyed:
            _check(item, items, f"{path}[{index}]", problems)
            continue
        name = fields.item_name(schema, item)
        shown = fields.shown((name,))
        if name in seen:
            problems.append(f"{path}: duplicate entries for key {shown}")
        seen.add(name)
        _check(item, items, f"{path}{shown}", problems)


def _fits(kind: str | None, value: Any) -> bool:
    if kind is None:
        return True
    if isinstance(value, bool):
        return kind == "boolean"
    if isinstance(value, (int, float)):
        return kind in ("integer", "number")
    return kind == "string"


def _word(kind: str | None) -> str:
    return {
        "object": "map",
        "array": "list",
        "integer": "numeric (int or float)",
        "number": "numeric (int or float)",
    }.get(kind or "", kind or "nothing")


def _go_type(value: Any) -> str:
    return {bool: "bool", str: "string"}.get(type(value), type(value).__name__)


def _go_value(value: Any) -> str:
    return f"&value.valueUnstructured{{Value:{json.dumps(value)}}}"


# ---------------------------------------------------------------- managedFields


def _without_managed(body: Mapping[str, Any]) -> Object:
    metadata = {name: value for name, value in body.get("metadata", {}).items() if name != "managedFields"}
    return {**body, "metadata": metadata}


def _stripped(owned: Fields) -> Fields:
    """Without what nobody owns: identity and bookkeeping."""
    result = {name: inner for name, inner in owned.items() if name not in ("f:apiVersion", "f:kind", ".")}
    if "f:metadata" in result:
        metadata = {name: inner for name, inner in result["f:metadata"].items() if name not in _UNOWNED_METADATA}
        result["f:metadata"] = metadata
        if not metadata:
            del result["f:metadata"]
    return result


def _owners(body: Object | None) -> list[_Owner]:
    entries = (body or {}).get("metadata", {}).get("managedFields") or ()
    return [
        _Owner(
            entry["manager"],
            entry["operation"],
            entry.get("subresource", ""),
            entry.get("apiVersion", ""),
            entry.get("time", ""),
            entry.get("fieldsV1") or {},
        )
        for entry in entries
    ]


def _with_owners(body: Object, owners: Sequence[_Owner]) -> Object:
    entries = []
    for owner in sorted(
        owners, key=lambda owner: (owner.operation != "Apply", owner.time, owner.manager, owner.subresource)
    ):
        entry: dict[str, Any] = {
            "manager": owner.manager,
            "operation": owner.operation,
            "apiVersion": owner.api_version,
            "time": owner.time,
            "fieldsType": "FieldsV1",
            "fieldsV1": owner.fields,
        }
        if owner.subresource:
            entry["subresource"] = owner.subresource
        entries.append(entry)
    if not entries:
        return body
    return {**body, "metadata": {**body.get("metadata", {}), "managedFields": entries}}
