"""Sets of fields, as managedFields write them (FieldsV1), and what they do to objects.

A set is a tree: `f:<name>` a field, `k:{…}` an item of a list with keys, `v:…` an item of a set;
an empty node is a member, `.` makes an inner node a member too. Which lists have keys and which maps
are atomic comes from the structural schema (structured-merge-diff, package fieldpath).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from gitops_vg.apis.catalog import Schema

Fields = dict[str, Any]
"""A set of fields; {} at the root is the empty set, {} below it a member."""

Path = tuple[str, ...]


def field_schema(schema: Schema | None, name: str) -> Schema | None:
    """The schema of a field; None when nothing is known about it."""
    if schema is None:
        return None
    inner = (schema.get("properties") or {}).get(name)
    if inner is None:
        rest = schema.get("additionalProperties")
        inner = rest if isinstance(rest, Mapping) else None
    return inner


def is_atomic(schema: Schema | None, value: Any) -> bool:
    """Whether the value is owned as one: scalars, atomic maps, and lists without keys."""
    if isinstance(value, dict):
        return schema is not None and schema.get("x-kubernetes-map-type") == "atomic"
    if isinstance(value, list):
        return schema is None or schema.get("x-kubernetes-list-type", "atomic") == "atomic"
    return True


def item_name(schema: Schema, item: Any) -> str:
    """The name of a list item inside a set: `k:{"name":"a"}` or `v:"a"`."""
    if schema.get("x-kubernetes-list-type") == "set":
        return "v:" + json.dumps(item, separators=(",", ":"))
    items = schema.get("items") or {}
    properties = items.get("properties") or {}
    keys = {}
    for key in sorted(schema.get("x-kubernetes-list-map-keys") or ()):
        if isinstance(item, dict) and key in item:
            keys[key] = item[key]
        elif "default" in properties.get(key, {}):
            keys[key] = properties[key]["default"]
    return "k:" + json.dumps(keys, separators=(",", ":"))


def members(value: Any, schema: Schema | None) -> Fields:
    """The fields that an applied value speaks about."""
    if isinstance(value, dict) and not is_atomic(schema, value):
        return {f"f:{name}": members(child, field_schema(schema, name)) for name, child in value.items()}
    if isinstance(value, list) and not is_atomic(schema, value):
        assert schema is not None
        items = schema.get("items")
        result = {}
        for item in value:
            inner = members(item, items) if isinstance(item, dict) else {}
            result[item_name(schema, item)] = {".": {}, **inner} if inner else {}
        return result
    return {}


def union(first: Fields, second: Fields) -> Fields:
    """Members of either."""
    if not first or not second:
        # An empty node below the root is a member: it stays one beside what is inside it.
        return {".": {}, **(first or second)} if (first or second) else {}
    result = dict(first)
    for name, inner in second.items():
        result[name] = union(first[name], inner) if name in first else inner
    return result


def merged(first: Fields, second: Fields) -> Fields:
    """`union` of whole sets, where an empty root is the empty set."""
    return union(first, second) if first and second else dict(first or second)


def difference(first: Fields, second: Fields) -> Fields:
    """Members of the first that are not members of the second."""
    result: Fields = {}
    for name, inner in first.items():
        other = second.get(name)
        if other is None:
            result[name] = inner
        elif inner:
            rest = difference(inner, other or {".": {}})
            if rest:
                result[name] = rest if set(rest) != {"."} else {}
        elif other and "." not in other:
            result[name] = inner
    return result


def intersection(first: Fields, second: Fields) -> Fields:
    """Members of both."""
    result: Fields = {}
    for name, inner in first.items():
        if name not in second:
            continue
        other = second[name]
        if not inner and not other:
            result[name] = {}
            continue
        both = intersection(inner or {".": {}}, other or {".": {}})
        if both:
            result[name] = {} if set(both) == {"."} else both
    return result


def paths(fields: Fields) -> Iterator[Path]:
    """Every member as a path of names: those of a level by name, then what lies below them."""
    for name in sorted(fields):
        if name == ".":
            yield ()
        elif not fields[name]:
            yield (name,)
    for name in sorted(fields):
        if fields[name]:
            for path in paths(fields[name]):
                yield (name, *path)


def shown(path: Path) -> str:
    """A path as conflicts print it: `.spec.template.spec.containers[name="web"].image`."""
    text = ""
    for name in path:
        kind, rest = name[:2], name[2:]
        if kind == "f:":
            text += f".{rest}"
        elif kind == "k:":
            text += (
                "[" + ",".join(f"{key}={json.dumps(value)}" for key, value in sorted(json.loads(rest).items())) + "]"
            )
        else:
            text += f"[={rest}]"
    return text


def compare(old: Any, new: Any, schema: Schema | None) -> tuple[Fields, Fields]:
    """Fields that the new value changed or added, and fields that it no longer has."""
    if old == new:
        return {}, {}
    if isinstance(old, dict) and isinstance(new, dict) and not is_atomic(schema, new):
        return _compare_maps(old, new, schema)
    if isinstance(old, list) and isinstance(new, list) and not is_atomic(schema, new):
        assert schema is not None
        return _compare_lists(old, new, schema)
    return {".": {}}, {}


def _compare_maps(old: Mapping[str, Any], new: Mapping[str, Any], schema: Schema | None) -> tuple[Fields, Fields]:
    changed: Fields = {}
    removed: Fields = {}
    for name, value in new.items():
        inner = field_schema(schema, name)
        if name not in old:
            changed[f"f:{name}"] = everything(value, inner)
        else:
            _note(f"f:{name}", compare(old[name], value, inner), changed, removed)
    for name, value in old.items():
        if name not in new:
            removed[f"f:{name}"] = everything(value, field_schema(schema, name))
    return changed, removed


def _compare_lists(old: list[Any], new: list[Any], schema: Schema) -> tuple[Fields, Fields]:
    items = schema.get("items")
    before = {item_name(schema, item): item for item in old}
    after = {item_name(schema, item): item for item in new}
    changed: Fields = {}
    removed: Fields = {}
    for name, value in after.items():
        if name not in before:
            inner = everything(value, items) if isinstance(value, dict) else {}
            changed[name] = {".": {}, **inner} if inner else {}
        else:
            _note(name, compare(before[name], value, items), changed, removed)
    for name, value in before.items():
        if name not in after:
            inner = everything(value, items) if isinstance(value, dict) else {}
            removed[name] = {".": {}, **inner} if inner else {}
    return changed, removed


def _note(name: str, difference_: tuple[Fields, Fields], changed: Fields, removed: Fields) -> None:
    more, less = difference_
    if more:
        changed[name] = {} if set(more) == {"."} else more
    if less:
        removed[name] = {} if set(less) == {"."} else less


def everything(value: Any, schema: Schema | None) -> Fields:
    """All fields of a value that appeared or went as a whole; maps are members themselves."""
    if isinstance(value, dict) and value and not is_atomic(schema, value):
        inner = {f"f:{name}": everything(child, field_schema(schema, name)) for name, child in value.items()}
        return {".": {}, **inner}
    if isinstance(value, list) and value and not is_atomic(schema, value):
        assert schema is not None
        items = schema.get("items")
        result: Fields = {".": {}}
        for item in value:
            inner = everything(item, items) if isinstance(item, dict) else {}
            result[item_name(schema, item)] = inner
        return result
    return {}


def without(value: Any, gone: Fields, kept: Fields, schema: Schema | None) -> Any:
    """The value without the fields of `gone` that nobody keeps; a field that goes takes all inside it along.

    That is how structured merge drops `metadata.labels` whole when the only owner of a key in it
    drops its last one, unowned keys included.
    """
    if isinstance(value, dict):
        result = {}
        for name, child in value.items():
            inner = gone.get(f"f:{name}")
            if inner is None:
                result[name] = child
            elif (still := kept.get(f"f:{name}")) is not None:
                result[name] = without(child, inner, still, field_schema(schema, name)) if inner else child
        return result
    if isinstance(value, list) and schema is not None and not is_atomic(schema, value):
        kept_items = []
        for item in value:
            name = item_name(schema, item)
            inner = gone.get(name)
            if inner is None:
                kept_items.append(item)
            elif (still := kept.get(name)) is not None:
                kept_items.append(without(item, inner, still, schema.get("items")) if inner else item)
        return kept_items
    return value
