"""What a pydantic error means to the person who wrote the file: one sentence, one fix, the place."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from gitops_vg.findings import Finding, Severity
from gitops_vg.intents.source import Path, dotted
from gitops_vg.intents.yaml import Document

_PRIVATE = frozenset({"env", "inline", "template"})
"""Below these fields a value may be a secret, and is never shown."""
_TYPES = {
    "string_type": "text", "int_type": "a whole number", "bool_type": "true or false", "dict_type": "a map",
    "model_type": "a map", "model_attributes_type": "a map", "tuple_type": "a list", "list_type": "a list",
    "date_type": "a day such as 2026-12-31", "is_instance_of": "a day such as 2026-12-31",
}  # fmt: skip
_UNQUOTED = re.compile(r"-?[0-9]+|true|false|")
"""Text that has to be shown in quotes, or nobody sees that it is text."""
_FORMS = (
    ("ms|s|m|h", "write a number and ms, s, m or h, for example 30s"),
    ("%", "write a whole number up to 100 and %, for example 80%"),
    ("sha256", "copy the digest that publish or sync printed: sha256: and 64 hexadecimal digits"),
    ("[1-9][0-9]*(", "write a number or a range, for example 2 or 2-3"),
    ("a-z0-9", "use lower-case letters, digits and -, starting and ending with a letter or digit"),
)


def findings_of(
    error: ValidationError, *, model: type[BaseModel], data: Mapping[str, Any], document: Document
) -> Iterator[Finding]:
    """A finding for each value that is wrong; the alternatives of a union are one finding together."""
    problems: dict[Path, list[Any]] = {}
    for problem in error.errors(include_url=False, include_input=True):
        path = _written_path(problem["loc"], data=data, missing=problem["type"] == "missing")
        if not any(path[: len(fault)] == fault for fault in document.faults):
            problems.setdefault(path, []).append(problem)
    for path, alternatives in problems.items():
        if any(other[: len(path)] == path and len(other) > len(path) for other in problems):
            continue  # Said better of a part of this value: another alternative of a union, or the list around it.
        code, message, fix = _explain(alternatives, path=path, model=model)
        at = document.source.at(path, key=code == "GVG112")
        yield Finding(code, Severity.ERROR, at, message, fix, dotted(path))


def _written_path(loc: tuple[int | str, ...], *, data: Any, missing: bool) -> Path:
    """The path in the document: pydantic also names members of unions, which nobody wrote."""
    path: list[int | str] = []
    value = data
    for number, part in enumerate(loc):
        inside = part in value if isinstance(value, dict) else isinstance(value, list) and part in range(len(value))
        if inside:
            value = value[part]
            path.append(part)
        elif missing and number == len(loc) - 1:
            path.append(part)
    return tuple(path)


def _explain(alternatives: list[Any], *, path: Path, model: type[BaseModel]) -> tuple[str, str, str]:
    first = alternatives[0]
    kind, name = first["type"], dotted(path) or "the document"
    if kind == "extra_forbidden":
        return _unknown_field(path, model=model)
    if kind == "missing":
        return "GVG113", f"{name} is missing", f"write {path[-1]}"
    value = first.get("input")
    shown = name if _PRIVATE.intersection(path) else f"{name}: {_shown(value)}"
    if isinstance(value, float):
        said = "this" if shown == name else str(value)
        return (
            "GVG114",
            f"{name}: {said} is a float, and floats lose digits",
            "write a whole number, or quotes around it",
        )
    telling = next((one for one in alternatives if one["type"] not in _TYPES), None)
    if telling is None or (telling["type"] == "literal_error" and len(alternatives) > 1):
        expected = " or ".join(dict.fromkeys(_expected(one) for one in alternatives))
        return "GVG114", f"{shown} is not {expected}", _of_type(value, expected, private=shown == name)
    return "GVG114", *_of_value(telling, name=name, shown=shown)


def _of_type(value: Any, expected: str, *, private: bool) -> str:
    """What to do about a value of the wrong type: mostly, quotes are missing or too many."""
    if expected == "text" and isinstance(value, (int, bool)):
        return "write quotes around it" if private else f'write quotes: "{_shown(value)}"'
    if isinstance(value, str) and _UNQUOTED.fullmatch(value) and not private:
        return f"write it without quotes: {value}"
    return f"write {expected}"


def _of_value(problem: Any, *, name: str, shown: str) -> tuple[str, str]:
    """Message and fix for a value of the right type."""
    kind, context = problem["type"], problem.get("ctx") or {}
    if kind == "literal_error":
        expected = str(context["expected"]).replace("'", "")
        words = f"one of {expected}" if " or " in expected else expected
        return f"{shown} is not {words}", f"write {words}"
    if kind == "string_pattern_mismatch":
        return f"{shown} has the wrong form", _form_of(context["pattern"])
    if kind == "greater_than_equal":
        return f"{shown} is less than {context['ge']}", f"write {context['ge']} or more"
    if kind == "less_than_equal":
        return f"{shown} is more than {context['le']}", f"write {context['le']} or less"
    if kind in ("too_short", "string_too_short"):
        return f"{name} is empty", "write at least one"
    if kind == "string_too_long":
        return f"{shown} is longer than {context['max_length']} characters", "shorten it"
    return f"{shown}: {problem['msg'][:1].lower()}{problem['msg'][1:]}", "correct the value"


def _expected(problem: Any) -> str:
    if problem["type"] == "literal_error":
        return str(problem["ctx"]["expected"]).replace("'", "")
    return _TYPES.get(problem["type"], "what is expected here")


def _form_of(pattern: str) -> str:
    return next((fix for part, fix in _FORMS if part in pattern), "correct the value")


def _shown(value: Any) -> str:
    """The value as YAML has it, in short."""
    if isinstance(value, (dict, list)):
        return "a map" if isinstance(value, dict) else "a list"
    text = value if isinstance(value, str) and not _UNQUOTED.fullmatch(value) else json.dumps(value, default=str)
    return text if len(text) <= 60 else f"{text[:57]}…"


def _unknown_field(path: Path, *, model: type[BaseModel]) -> tuple[str, str, str]:
    known = _fields_at(model, path[:-1])
    near = difflib.get_close_matches(str(path[-1]), known, n=1)
    fix = f"did you mean {near[0]}?" if near else f"remove it; the fields here are {', '.join(sorted(known))}"
    return "GVG112", f"there is no field {path[-1]} in {dotted(path[:-1]) or model.__name__}", fix


def _fields_at(model: type[BaseModel], path: Path) -> list[str]:
    """The names that may be written at `path`, by alias."""
    current: Any = model
    for part in path:
        if isinstance(part, int):
            continue
        current = _field_model(current, part)
        if current is None:
            return []
    return [field.alias or name for name, field in current.model_fields.items()]


def _field_model(model: Any, name: str) -> Any:
    for field_name, field in model.model_fields.items():
        if name in (field.alias, field_name):
            return _model_in(field.annotation)
    return None


def _model_in(annotation: Any) -> Any:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for argument in get_args(annotation) if (found := _model_in(argument)) is not None), None)
