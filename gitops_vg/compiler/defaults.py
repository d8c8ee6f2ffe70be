"""Defaults that the schemas of API servers have: written out, a list's items keep their identity on every server."""

from __future__ import annotations

from functools import cache
from typing import Any

from gitops_vg.apis import catalog
from gitops_vg.apis.structural import default
from gitops_vg.objects import GroupKind


def schema_defaults(body: dict[str, Any]) -> dict[str, Any]:
    """An object of a kind we know with its schema's defaults; what does not change is shared."""
    completed: dict[str, Any] = default(_schema(body["apiVersion"].rpartition("/")[0], body["kind"]), body)
    return completed


@cache
def _schema(group: str, kind: str) -> Any:
    known = catalog().of(GroupKind(group, kind))
    assert known is not None
    assert known.written_schema is not None
    return known.written_schema
