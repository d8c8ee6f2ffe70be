"""The three patches of an API server beside apply: merge (RFC 7386), JSON (RFC 6902), strategic merge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any

from gitops_vg.apis.catalog import Schema
from gitops_vg.sandbox.fields import field_schema


class PatchError(Exception):
    """The patch cannot be applied; `code` is the HTTP status the server gives it."""

    def __init__(self, message: str, *, code: int = 422) -> None:
        super().__init__(message)
        self.code = code


def merge_patch(target: Any, patch: Any) -> Any:
    """RFC 7386: maps are merged, null removes, everything else replaces."""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = merge_patch(result.get(name), value)
    return result


def json_patch(document: Any, operations: Sequence[Mapping[str, Any]]) -> Any:
    """RFC 6902. Raises PatchError in the server's words."""
    if not isinstance(operations, list):
        raise PatchError("the body is not a list of operations", code=400)
    result = deepcopy(document)
    for operation in operations:
        if not isinstance(operation, dict) or not isinstance(operation.get("path"), str):
            raise PatchError("an operation needs op and path", code=400)
        result = _operate(result, operation)
    return result


def _operate(document: Any, operation: Mapping[str, Any]) -> Any:
    word, path = operation.get("op"), operation["path"]
    if word == "test":
        if _find(document, path, word="test") != operation.get("value"):
            raise PatchError(f"testing value {path} failed: test failed")
        return document
    if word in ("move", "copy"):
        source = operation.get("from")
        if not isinstance(source, str):
            raise PatchError(f"{word} needs from", code=400)
        value = deepcopy(_find(document, source, word=word))
        if word == "move":
            document = _change(document, source, "remove", None)
        return _change(document, path, "add", value)
    if word not in ("add", "remove", "replace"):
        raise PatchError(f"Unexpected kind: {word}", code=400)
    if word != "remove" and "value" not in operation:
        raise PatchError(f"{word} operation needs a value", code=400)
    return _change(document, path, word, operation.get("value"))


def _steps(path: str) -> list[str]:
    if path and not path.startswith("/"):
        raise PatchError(f"the path {path} does not start with /", code=400)
    return [step.replace("~1", "/").replace("~0", "~") for step in path.split("/")[1:]]


def _find(document: Any, path: str, *, word: str) -> Any:
    value = document
    for step in _steps(path):
        try:
            value = value[int(step)] if isinstance(value, list) else value[step]
        except (KeyError, IndexError, ValueError, TypeError):
            raise PatchError(f"{word} operation does not apply: doc is missing path: {path}: missing value") from None
    return value


def _change(document: Any, path: str, word: str, value: Any) -> Any:
    steps = _steps(path)
    if not steps:
        return value
    parent = document
    for step in steps[:-1]:
        try:
            parent = parent[int(step)] if isinstance(parent, list) else parent[step]
        except (KeyError, IndexError, ValueError, TypeError):
            raise PatchError(f'{word} operation does not apply: doc is missing path: "{path}": missing value') from None
    _change_in(parent, steps[-1], word, value, path=path)
    return document


def _change_in(parent: Any, last: str, word: str, value: Any, *, path: str) -> None:
    missing = PatchError(f'{word} operation does not apply: doc is missing key: "{path}": missing value')
    if isinstance(parent, dict):
        if word != "add" and last not in parent:
            raise missing
        if word == "remove":
            del parent[last]
        else:
            parent[last] = value
    elif isinstance(parent, list):
        length = len(parent)
        if last != "-" and not (last.isascii() and last.isdigit()):
            raise missing
        index = length if last == "-" else int(last)
        if index > length or (word != "add" and index >= length):
            raise PatchError(
                f"{word} operation does not apply: Unable to access invalid index: {last}: invalid index referenced"
            )
        if word == "add":
            parent.insert(index, value)
        elif word == "remove":
            del parent[index]
        else:
            parent[index] = value
    else:
        raise missing


def strategic_patch(target: Any, patch: Any, schema: Schema | None) -> Any:
    """Kubernetes' strategic merge: lists with a merge key item by item; `$patch` and `$deleteFromPrimitiveList`.

    What the schema does not say is merged as RFC 7386 does.
    """
    if not isinstance(patch, dict):
        return patch
    directive = patch.get("$patch")
    if directive == "replace":
        return {name: value for name, value in patch.items() if name != "$patch"}
    if directive == "delete":
        return {}
    result = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if name.startswith("$deleteFromPrimitiveList/"):
            field = name.partition("/")[2]
            if not isinstance(value, list):
                raise PatchError(f"{name} does not list values", code=400)
            result[field] = [item for item in result.get(field) or [] if item not in value]
        elif name.startswith("$setElementOrder/") or name == "$retainKeys":
            continue
        elif value is None:
            result.pop(name, None)
        else:
            inner = field_schema(schema, name)
            result[name] = (
                _strategic_list(result.get(name) or [], value, inner)
                if isinstance(value, list)
                else strategic_patch(result.get(name), value, inner)
            )
    return result


def _strategic_list(target: list[Any], patch: list[Any], schema: Schema | None) -> list[Any]:
    rules = schema or {}
    key = rules.get("x-kubernetes-patch-merge-key")
    if rules.get("x-kubernetes-patch-strategy", "").split(",")[0] != "merge":
        return patch
    if key is None:
        return target + [item for item in patch if item not in target]
    if any(isinstance(item, dict) and item.get("$patch") == "replace" for item in patch):
        return [item for item in patch if not isinstance(item, dict) or item.get("$patch") != "replace"]
    result = list(target)
    for item in patch:
        if not isinstance(item, dict) or key not in item:
            raise PatchError(f"map: {item} does not contain declared merge key: {key}", code=400)
        at = next((index for index, old in enumerate(result) if old.get(key) == item[key]), None)
        if item.get("$patch") == "delete":
            result = [old for old in result if old.get(key) != item[key]]
        elif at is None:
            result.append(item)
        else:
            result[at] = strategic_patch(result[at], item, rules.get("items"))
    return result
