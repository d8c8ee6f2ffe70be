"""What an API server says about itself: groups, resources, and enough OpenAPI for kubectl."""

from __future__ import annotations

from typing import Any

from gitops_vg.apis.catalog import Catalog, Kind
from gitops_vg.objects import GroupKind

VERSION = {"major": "1", "minor": "35", "gitVersion": "v1.35.4", "platform": "linux/amd64", "goVersion": "embedded"}
_VERBS = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"]
_SUB_VERBS = ["get", "patch", "update"]


_ALL = frozenset(
    GroupKind(group, kind)
    for group, kind in (
        ("", "Pod"), ("", "Service"), ("apps", "DaemonSet"), ("apps", "Deployment"), ("apps", "StatefulSet"),
        ("autoscaling", "HorizontalPodAutoscaler"), ("batch", "CronJob"), ("batch", "Job"),
    )
)  # fmt: skip
"""Built-in kinds that `kubectl get all` shows."""


def _categories(kind: Kind) -> list[str]:
    return [*kind.categories, *(["all"] if kind.group_kind in _ALL else [])]


def groups(catalog: Catalog) -> dict[str, list[str]]:
    """Group → versions, without the core group."""
    found: dict[str, list[str]] = {}
    for kind in catalog.kinds():
        if kind.group and kind.version not in found.setdefault(kind.group, []):
            found[kind.group].append(kind.version)
    return found


def group_list(catalog: Catalog) -> dict[str, Any]:
    """/apis, in its first form."""
    return {
        "kind": "APIGroupList",
        "apiVersion": "v1",
        "groups": [group(catalog, name) for name in sorted(groups(catalog))],
    }


def group(catalog: Catalog, name: str) -> dict[str, Any]:
    """One group of /apis."""
    versions = [{"groupVersion": f"{name}/{version}", "version": version} for version in groups(catalog)[name]]
    return {"name": name, "versions": versions, "preferredVersion": versions[0]}


def resource_list(catalog: Catalog, group_name: str, version: str) -> dict[str, Any] | None:
    """/apis/<group>/<version>; None when it is not served."""
    kinds = [kind for kind in catalog.kinds() if (kind.group, kind.version) == (group_name, version)]
    if not kinds:
        return None
    resources = []
    for kind in kinds:
        entry: dict[str, Any] = {
            "name": kind.plural,
            "singularName": kind.singular or kind.kind.lower(),
            "namespaced": kind.namespaced,
            "kind": kind.kind,
            "verbs": _VERBS,
        }
        if kind.short_names:
            entry["shortNames"] = list(kind.short_names)
        if categories := _categories(kind):
            entry["categories"] = categories
        resources.append(entry)
        for name in sorted(subresources(kind)):
            verbs = _SUB_VERBS if name != "proxy" else ["create", "delete", "get", "patch", "update"]
            resources.append(
                {"name": f"{kind.plural}/{name}", "singularName": "", "namespaced": kind.namespaced,
                 "kind": kind.kind, "verbs": verbs}
            )  # fmt: skip
    group_version = f"{group_name}/{version}" if group_name else version
    return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": group_version, "resources": resources}


def subresources(kind: Kind) -> frozenset[str]:
    """The subresources that are served."""
    return kind.subresources & {"status", "proxy"}


def aggregated(catalog: Catalog, *, core: bool) -> dict[str, Any]:
    """/api or /apis in the aggregated form (apidiscovery.k8s.io/v2)."""
    names = [""] if core else sorted(groups(catalog))
    items = []
    for name in names:
        versions = []
        for version in groups(catalog).get(name, ["v1"]):
            kinds = [kind for kind in catalog.kinds() if (kind.group, kind.version) == (name, version)]
            versions.append(
                {"version": version, "freshness": "Current", "resources": [_resource(kind) for kind in kinds]}
            )
        items.append({"metadata": {"name": name} if name else {}, "versions": versions})
    return {"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": items}


def _resource(kind: Kind) -> dict[str, Any]:
    response = {"group": kind.group, "version": kind.version, "kind": kind.kind}
    entry: dict[str, Any] = {
        "resource": kind.plural,
        "responseKind": response,
        "scope": "Namespaced" if kind.namespaced else "Cluster",
        "singularResource": kind.singular or kind.kind.lower(),
        "verbs": _VERBS,
    }
    if kind.short_names:
        entry["shortNames"] = list(kind.short_names)
    if categories := _categories(kind):
        entry["categories"] = categories
    if served := sorted(subresources(kind)):
        entry["subresources"] = [
            {"subresource": name, "responseKind": response, "verbs": _SUB_VERBS} for name in served
        ]
    return entry


def openapi_v2() -> dict[str, Any]:
    """An empty document: clients that validate by it find nothing to object to."""
    return {
        "swagger": "2.0",
        "info": {"title": "gitops-vg sandbox", "version": "v1.35.4"},
        "paths": {},
        "definitions": {},
    }


def openapi_v3_index(catalog: Catalog) -> dict[str, Any]:
    """/openapi/v3: one document a group version."""
    found = {(kind.group, kind.version) for kind in catalog.kinds()}
    places = [f"apis/{name}/{version}" if name else f"api/{version}" for name, version in sorted(found)]
    return {"paths": {place: {"serverRelativeURL": f"/openapi/v3/{place}?hash=1"} for place in places}}


_WRITING = [{"name": name, "in": "query", "schema": {"type": "string", "uniqueItems": True}}
            for name in ("dryRun", "fieldManager", "fieldValidation")]  # fmt: skip
"""With these kubectl lets the server validate."""


def openapi_v3(catalog: Catalog, place: str) -> dict[str, Any] | None:
    """/openapi/v3/apis/<group>/<version>: the schemas of its kinds, and the paths by which kubectl finds them."""
    parts = place.split("/")
    group_name, version = (parts[1], parts[2]) if len(parts) == 3 else ("", parts[-1])
    kinds = [kind for kind in catalog.kinds() if (kind.group, kind.version) == (group_name, version)]
    if not kinds:
        return None
    schemas: dict[str, Any] = {}
    paths: dict[str, Any] = {}
    for kind in kinds:
        marks = [{"group": kind.group, "kind": kind.kind, "version": kind.version}]
        schemas[f"{kind.group or 'core'}.{kind.version}.{kind.kind}"] = {
            **(kind.schema or {"type": "object"}),
            "x-kubernetes-group-version-kind": marks,
        }
        scope = "/namespaces/{namespace}" if kind.namespaced else ""
        verb = {"x-kubernetes-group-version-kind": marks[0], "responses": {"200": {"description": "OK"}}}
        paths[f"/{place}{scope}/{kind.plural}"] = {"get": verb, "post": {**verb, "parameters": _WRITING}}
        paths[f"/{place}{scope}/{kind.plural}/{{name}}"] = {"get": verb, "patch": {**verb, "parameters": _WRITING}}
    return {"openapi": "3.0.0", "info": {"title": "gitops-vg sandbox", "version": "v1.35.4"},
            "paths": paths, "components": {"schemas": schemas}}  # fmt: skip
