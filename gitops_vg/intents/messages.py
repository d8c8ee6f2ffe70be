"""What a pydantic error means to the person who wrote the file: one sentence, one fix, the place."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel, ValidationError

from gitops_vg.findings import Finding, Severity
from gitops_vg.intents.source import Path, Source, dotted

_FORMS = {
    "Duration": ("a duration", "write a number and ms, s, m or h, for example 30s"),
    "Percent": ("a percentage", "write a whole number and %, for example 80%"),
}


def findings_of(
    error: ValidationError, *, model: type[BaseModel], data: Mapping[str, Any], source: Source
) -> Iterator[Finding]:
    """A finding for each problem; members of a union that was not meant are left out."""
    seen: set[Path] = set()
    for problem in error.errors(include_url=False, include_input=True):
        path = _written_path(problem["loc"], data=data)
        if path in seen:
            continue
        seen.add(path)
        code, message, fix = _explain(problem, path=path, model=model)
        at = source.at(path, key=code == "GVG112")
        yield Finding(code, Severity.ERROR, at, message, fix, dotted(path))


def _written_path(loc: tuple[int | str, ...], *, data: Any) -> Path:
    """The path in the document: pydantic also names members of unions, which nobody wrote."""
    path: list[int | str] = []
    value = data
    for number, part in enumerate(loc):
        inside = part in value if isinstance(value, dict) else isinstance(value, list) and part in range(len(value))
        if inside:
            value = value[part]
            path.append(part)
        elif isinstance(value, dict) and number == len(loc) - 1:
            path.append(part)
    return tuple(path)


def _explain(problem: Any, *, path: Path, model: type[BaseModel]) -> tuple[str, str, str]:
    kind, context, value = problem["type"], problem.get("ctx") or {}, problem.get("input")
    name = dotted(path) or "the document"
    if kind == "extra_forbidden":
        known = _fields_at(model, path[:-1])
        near = difflib.get_close_matches(str(path[-1]), known, n=1)
        fix = f"did you mean {near[0]}?" if near else f"remove it; the fields here are {', '.join(sorted(known))}"
        return "GVG112", f"there is no field {path[-1]} in {dotted(path[:-1]) or model.__name__}", fix
    if kind == "missing":
        return "GVG113", f"{name} is missing", f"write {path[-1]}"
    if isinstance(value, float):
        return "GVG114", f"{name}: {value} is a float, and floats lose digits", f'write quotes: "{value}"'
    shown = f"{name}: {_shown(value)}"
    if kind == "literal_error":
        expected = context.get("expected", "")
        return "GVG114", f"{shown} is not one of {expected}", f"write one of {expected}"
    if kind == "string_pattern_mismatch":
        pattern = context.get("pattern", "")
        return "GVG114", f"{shown} has the wrong form", _form_of(pattern)
    if kind in ("greater_than_equal", "less_than_equal"):
        bound = context.get("ge", context.get("le"))
        word = "less than" if "ge" in context else "more than"
        return "GVG114", f"{shown} is {word} {bound}", f"write {bound} or {'more' if 'ge' in context else 'less'}"
    if kind in ("too_short", "string_too_short"):
        return "GVG114", f"{name} is empty", "write at least one"
    if kind == "string_too_long":
        return "GVG114", f"{shown} is longer than {context.get('max_length')} characters", "shorten it"
    expected = str(problem["msg"]).removeprefix("Input should be ").removeprefix("a valid ")
    return "GVG114", f"{shown} is not {_article(expected)}", f"write {_article(expected)}"


def _form_of(pattern: str) -> str:
    if "ms|s|m|h" in pattern:
        return _FORMS["Duration"][1]
    if "%" in pattern:
        return _FORMS["Percent"][1]
    if "sha256" in pattern:
        return "copy the digest that publish or sync printed: sha256: and 64 hexadecimal digits"
    if pattern.startswith("^[1-9]"):
        return "write a number or a range, for example 2 or 2-3"
    return "use lower-case letters, digits and -, starting and ending with a letter or digit"


def _article(text: str) -> str:
    known = {"string": "text", "integer": "a whole number", "boolean": "true or false", "dictionary": "a map",
             "tuple": "a list", "list": "a list", "date": "a date such as 2026-12-31"}  # fmt: skip
    return known.get(text, text)


def _shown(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 60 else f"{text[:57]}…"


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
    for argument in getattr(annotation, "__args__", ()):
        found = _model_in(argument)
        if found is not None:
            return found
    return None
