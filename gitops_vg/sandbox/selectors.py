"""Label and field selectors of lists and watches."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from gitops_vg.sandbox.status import bad_request

Object = dict[str, Any]
Test = Callable[[Object], bool]

_SET = re.compile(r"\s*([^\s!=,()]+)\s+(in|notin)\s+\(([^)]*)\)\s*")
_EQUAL = re.compile(r"\s*([^\s!=,()]+)\s*(==|=|!=)\s*([^\s,()=!]*)\s*")
_EXISTS = re.compile(r"\s*(!?)\s*([^\s!=,()]+)\s*")
_COMMA = re.compile(r",(?![^(]*\))")


def label_test(text: str) -> Test:
    """Whether an object's labels fit. Raises StatusError 400 for what is no selector."""
    tests = [_label_part(part) for part in _COMMA.split(text) if part.strip()]
    return lambda body: all(test(body["metadata"].get("labels") or {}) for test in tests)


def _label_part(part: str) -> Callable[[dict[str, str]], bool]:
    if match := _SET.fullmatch(part):
        key, word, rest = match.groups()
        values = {value.strip() for value in rest.split(",")}
        if word == "in":
            return lambda labels: labels.get(key) in values
        return lambda labels: labels.get(key) not in values
    if match := _EQUAL.fullmatch(part):
        key, word, value = match.groups()
        if word == "!=":
            return lambda labels: labels.get(key) != value
        return lambda labels: labels.get(key) == value
    if match := _EXISTS.fullmatch(part):
        missing, key = match.groups()
        return lambda labels: (key not in labels) if missing else (key in labels)
    raise bad_request(f"unable to parse requirement: {part}")


def field_test(text: str) -> Test:
    """Whether an object's fields fit. Only fields that every kind has are supported, as for CRDs."""
    tests = []
    for part in filter(None, (piece.strip() for piece in text.split(","))):
        match = _EQUAL.fullmatch(part)
        if match is None:
            raise bad_request(f"invalid selector: '{part}'; can't understand '{part}'")
        field, word, value = match.groups()
        if field not in (
            "metadata.name",
            "metadata.namespace",
            "spec.nodeName",
            "status.phase",
            "type",
            "involvedObject.name",
        ):
            raise bad_request(f"field label not supported: {field}")
        tests.append((field.split("."), word != "!=", value))
    return lambda body: all((str(_dig(body, path) or "") == value) is wanted for path, wanted, value in tests)


def _dig(body: Any, path: list[str]) -> Any:
    for name in path:
        body = (body or {}).get(name)
    return body
