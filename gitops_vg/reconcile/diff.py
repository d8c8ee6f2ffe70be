"""What differs between two states of an object, field by field, without what servers write by themselves."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gitops_vg.objects import FIELD_MANAGER

_BOOKKEEPING = ("managedFields", "resourceVersion", "uid", "generation", "creationTimestamp", "selfLink")
_QUANTITY_PATHS = re.compile(r"\.(requests|limits|capability|deserved|guarantee\.resource|hard|overall)(\.|\[)")


@dataclass(frozen=True)
class FieldChange:
    """One field: its path, the value now and the value wished (None: not there), and who wrote the one now."""

    path: str
    live: Any
    wanted: Any
    manager: str = ""


def content(body: Mapping[str, Any]) -> dict[str, Any]:
    """The part of an object that people and tools write: no status, no bookkeeping."""
    metadata = {name: value for name, value in body.get("metadata", {}).items() if name not in _BOOKKEEPING}
    return {**{name: value for name, value in body.items() if name != "status"}, "metadata": metadata}


def digest(body: Mapping[str, Any]) -> str:
    """A digest of the content."""
    text = json.dumps(content(body), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def changes(live: Mapping[str, Any], wanted: Mapping[str, Any]) -> tuple[FieldChange, ...]:
    """The fields in which two states differ, with the manager of each live value; Secret values are hidden."""
    found = tuple(_compare(content(live), content(wanted), ""))
    if not found:
        return ()
    owners = _owners(live)
    hide = live.get("kind") == "Secret"
    return tuple(
        FieldChange(
            path,
            _hidden(path, before, "live") if hide else before,
            _hidden(path, after, "Git") if hide else after,
            _owner_of(path, owners),
        )
        for path, before, after in found
    )


def _hidden(path: str, value: Any, where: str) -> Any:
    """Only that a value is there: even a digest of a short password gives it away."""
    if value is None or not path.startswith((".data", ".stringData")):
        return value
    return f"(hidden, the value of {where})"


def _compare(live: Any, wanted: Any, path: str) -> Iterator[tuple[str, Any, Any]]:
    if live == wanted:
        return
    if isinstance(live, dict) and isinstance(wanted, dict):
        for name in sorted(live.keys() | wanted.keys()):
            yield from _compare(
                live.get(name), wanted.get(name), f"{path}.{name}" if "." not in name else f'{path}["{name}"]'
            )
        return
    if isinstance(live, list) and isinstance(wanted, list):
        yield from _compare_lists(live, wanted, path)
        return
    if _QUANTITY_PATHS.search(f"{path}.") and _same_quantity(live, wanted):
        return
    yield path, live, wanted


def _compare_lists(live: list[Any], wanted: list[Any], path: str) -> Iterator[tuple[str, Any, Any]]:
    """By name where items have one, else by position."""
    names_live, names_wanted = _names(live), _names(wanted)
    if names_live is None or names_wanted is None:
        for index in range(max(len(live), len(wanted))):
            before = live[index] if index < len(live) else None
            after = wanted[index] if index < len(wanted) else None
            yield from _compare(before, after, f"{path}[{index}]")
        return
    for name in dict.fromkeys([*names_live, *names_wanted]):
        yield from _compare(names_live.get(name), names_wanted.get(name), f"{path}[{name}]")
    if list(names_live) != list(names_wanted) and names_live.keys() == names_wanted.keys():
        yield f"{path}[order]", list(names_live), list(names_wanted)


def _names(items: list[Any]) -> dict[str, Any] | None:
    names = {item["name"]: item for item in items if isinstance(item, dict) and isinstance(item.get("name"), str)}
    return names if len(names) == len(items) and items else None


def _same_quantity(first: Any, second: Any) -> bool:
    from gitops_vg.quantities import parse_quantity

    try:
        return parse_quantity(first) == parse_quantity(second)
    except ValueError:
        return False


# ---------------------------------------------------------------- what we declared once


def applied_by_us(live: Mapping[str, Any]) -> bool:
    """Whether we have ever applied this very object."""
    return bool(_our_fields(live))


def left_fields(live: Mapping[str, Any], applied: Mapping[str, Any]) -> tuple[FieldChange, ...]:
    """Fields that an apply would give up and that stay nevertheless, since others own them too.

    A dry run shows no difference there: Git does not have the field, the object keeps it.
    """
    before, after = set(_leaves(_our_fields(live), ())), set(_leaves(_our_fields(applied), ()))
    owners = [owner for owner in _owners(live) if owner[0] != FIELD_MANAGER]
    found = []
    for names in sorted(before - after):
        value = _value_at(applied, names)
        if value is not None:
            path = "".join(f".{name}" if "." not in name else f'["{name}"]' for name in names)
            hidden = _hidden(path, value, "live") if live.get("kind") == "Secret" else value
            found.append(FieldChange(path, hidden, None, _owner_of(path, owners)))
    return tuple(found)


def _our_fields(live: Mapping[str, Any]) -> Mapping[str, Any]:
    for entry in live.get("metadata", {}).get("managedFields") or ():
        if entry.get("manager") == FIELD_MANAGER and entry.get("operation") == "Apply":
            return entry.get("fieldsV1") or {"f:": {}}
    return {}


def _leaves(fields: Mapping[str, Any], path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Paths of plain fields; items of lists are compared by their list."""
    for name, inner in fields.items():
        if name.startswith("f:"):
            step = (*path, name[2:])
            plain = {key: value for key, value in inner.items() if key.startswith("f:")}
            if plain:
                yield from _leaves(plain, step)
            else:
                yield step


def _value_at(body: Any, names: tuple[str, ...]) -> Any:
    for name in names:
        if not isinstance(body, Mapping):
            return None
        body = body.get(name)
    return body


# ---------------------------------------------------------------- who wrote a field


def _owners(live: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any], str]]:
    entries = live.get("metadata", {}).get("managedFields") or []
    latest_first = sorted(entries, key=lambda entry: entry.get("time", ""), reverse=True)
    return [
        (entry.get("manager", ""), entry.get("fieldsV1") or {}, entry.get("subresource", "")) for entry in latest_first
    ]


def _owner_of(path: str, owners: list[tuple[str, Mapping[str, Any], str]]) -> str:
    """Who last wrote a field: another manager first, since it is his value that surprises."""
    steps = re.findall(r'\.([^.\[\]]+)|\["([^"]+)"\]|\[([^\]]+)\]', path)
    names = [next(filter(None, step)) for step in steps]
    found = [manager for manager, fields, _ in owners if _covers(fields, names)]
    return next((manager for manager in found if manager != FIELD_MANAGER), found[0] if found else "")


def _covers(fields: Mapping[str, Any], names: list[str]) -> bool:
    """Whether a set of fields reaches the path; an atomic parent covers all that is inside."""
    node: Mapping[str, Any] = fields
    for name in names:
        if f"f:{name}" in node:
            node = node[f"f:{name}"]
        else:
            item = next((key for key in node if key.startswith("k:") and f'"{name}"' in key), None)
            if item is None:
                return False
            node = node[item]
        if not node:
            return True
    return True
