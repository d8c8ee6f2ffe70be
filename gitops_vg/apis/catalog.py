"""The API kinds we know, with their structural schemas; loaded only when asked for."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib.resources import files
from typing import Any

from gitops_vg.objects import GroupKind

Schema = Mapping[str, Any]
"""A resolved structural schema (OpenAPI v3 with Kubernetes' extensions); {} says nothing about its value."""

_DATA = files("gitops_vg.apis") / "data"
_OBJECT_META = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"


@dataclass(frozen=True, eq=False)
class Kind:
    """One kind as an API server serves it. There is one object a kind, so identity is equality."""

    group: str
    version: str
    kind: str
    plural: str
    namespaced: bool
    singular: str = ""
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    subresources: frozenset[str] = frozenset()
    is_crd: bool = False
    file: str = field(default="", repr=False)

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def group_kind(self) -> GroupKind:
        return GroupKind(self.group, self.kind)

    @property
    def schema(self) -> Schema | None:
        """The structural schema; None for kinds that are served as they come."""
        return _schema(self.file) if self.file else None

    @property
    def written_schema(self) -> Schema | None:
        """The schema as published, without the metadata rules that every API server adds."""
        return _resolved(_load(self.file)) if self.file else None


class Catalog:
    """Kinds by resource and by group and kind."""

    def __init__(self, kinds: Iterable[Kind]) -> None:
        self._kinds = tuple(kinds)

    def kinds(self) -> tuple[Kind, ...]:
        return self._kinds

    @cached_property
    def _by_resource(self) -> dict[tuple[str, str, str], Kind]:
        return {(kind.group, kind.version, kind.plural): kind for kind in self._kinds}

    @cached_property
    def _by_kind(self) -> dict[GroupKind, Kind]:
        return {kind.group_kind: kind for kind in self._kinds}

    def find(self, group: str, version: str, plural: str) -> Kind | None:
        """The kind behind a URL's group, version and resource."""
        return self._by_resource.get((group, version, plural))

    def of(self, group_kind: GroupKind) -> Kind | None:
        """The kind of a manifest."""
        return self._by_kind.get(group_kind)

    def without(self, *groups: str) -> Catalog:
        """A catalog that does not serve some API groups (a member has no Karmada)."""
        return Catalog(kind for kind in self._kinds if kind.group not in groups)


# Served without a schema: what an API server must have, and we never write.
_PLAIN = (
    Kind("", "v1", "Node", "nodes", False, "node", ("no",), subresources=frozenset({"status"})),
    Kind("", "v1", "Event", "events", True, "event", ("ev",)),
    Kind("coordination.k8s.io", "v1", "Lease", "leases", True, "lease"),
    Kind("apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions", False,
         "customresourcedefinition", ("crd", "crds"), subresources=frozenset({"status"})),
)  # fmt: skip


@cache
def catalog() -> Catalog:
    """All kinds of the data folder, and the few plain ones."""
    known = []
    for entry in json.loads((_DATA / "index.json").read_text()):
        known.append(
            Kind(
                group=entry["group"],
                version=entry["version"],
                kind=entry["kind"],
                plural=entry["plural"],
                namespaced=entry["scope"] == "Namespaced",
                singular=entry["singular"],
                short_names=tuple(entry.get("shortNames") or ()),
                categories=tuple(entry.get("categories") or ()),
                subresources=frozenset(entry.get("subresources") or ()),
                is_crd=not entry.get("openapi", False),
                file=entry["file"],
            )
        )
    return Catalog((*known, *_PLAIN))


def crd_manifest(kind: Kind) -> dict[str, Any]:
    """The CustomResourceDefinition with which a plain API server serves `kind`."""
    version: dict[str, Any] = {
        "name": kind.version,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": kind.written_schema},
    }
    if kind.subresources:
        version["subresources"] = {name: {} for name in sorted(kind.subresources & {"status"})}
    names = {"kind": kind.kind, "listKind": f"{kind.kind}List", "plural": kind.plural, "singular": kind.singular}
    metadata: dict[str, Any] = {"name": f"{kind.plural}.{kind.group}"}
    if kind.group.endswith(".k8s.io"):
        metadata["annotations"] = {"api-approved.kubernetes.io": "unapproved, a test fixture"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": metadata,
        "spec": {
            "group": kind.group,
            "scope": "Namespaced" if kind.namespaced else "Cluster",
            "names": {**names, "shortNames": list(kind.short_names), "categories": list(kind.categories)},
            "versions": [version],
        },
    }


@cache
def _load(file: str) -> Any:
    return json.loads((_DATA / file).read_text())


@cache
def _definition(name: str) -> Any:
    return _resolved(_load("definitions.json")[name])


@cache
def _schema(file: str) -> Schema:
    """The resolved schema with the metadata every object has, whatever its CRD says."""
    schema = _resolved(_load(file))
    return {**schema, "properties": {**schema.get("properties", {}), "metadata": _metadata()}}


@cache
def _metadata() -> Schema:
    metadata = _definition(_OBJECT_META)
    # The server writes managedFields itself; their content has no schema.
    managed = {"type": "array", "x-kubernetes-list-type": "atomic"}
    return {**metadata, "properties": {**metadata["properties"], "managedFields": managed}}


def _resolved(schema: Any) -> Any:
    """References replaced by what they name; equal subtrees are one object in memory.

    The data holds no schema that refers to itself (such as JSONSchemaProps): one would not end here.
    """
    if isinstance(schema, list):
        return [_resolved(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        beside = {key: value for key, value in schema.items() if key != "$ref"}
        target = _definition(schema["$ref"])
        return {**target, **beside} if beside else target
    return {key: _resolved(value) for key, value in schema.items()}
