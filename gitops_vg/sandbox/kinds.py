"""What depends on how a kind is served: as Go types, by a CRD's schema, or by an aggregated server."""

from __future__ import annotations

from typing import Any

from gitops_vg.apis.catalog import Kind, Schema
from gitops_vg.apis.structural import default, prune
from gitops_vg.objects import GroupKind

Object = dict[str, Any]


def counts_generations(kind: Kind) -> bool:
    """Custom resources and workload-like built-ins; plain data (ConfigMap, Service, …) has no generation."""
    return kind.is_crd or kind.group in ("apps", "batch", "policy", "networking.k8s.io", "scheduling.k8s.io")


def schema_of(kind: Kind, subresource: str) -> Schema:
    """The schema of what a write can change: a status write leaves the rest as it was checked before."""
    assert kind.schema is not None
    status_schema = (kind.schema.get("properties") or {}).get("status")
    if subresource != "status" or status_schema is None:
        return kind.schema
    return {"type": "object", "properties": {"status": status_schema}, "x-kubernetes-preserve-unknown-fields": True}


def pruned(kind: Kind, body: Object, subresource: str) -> tuple[Object, tuple[str, ...]]:
    """The body with defaults and without unknown fields, and the paths of those."""
    schema = schema_of(kind, subresource)
    if schema is kind.schema:
        return prune(schema, default(schema, body))
    if "status" not in body:
        return body, ()
    part, dropped = prune(schema, default(schema, {"status": body["status"]}))
    return {**body, **part}, dropped


def empty_status(kind: Kind) -> Object:
    """The status of a new object of Go types: nothing, but for counts that are always written."""
    schema = ((kind.schema or {}).get("properties") or {}).get("status") or {}
    fields = schema.get("properties") or {}
    return {name: 0 for name in schema.get("required") or () if fields.get(name, {}).get("type") == "integer"}


AGGREGATED = "cluster.karmada.io"
"""Served by an aggregated API server, which checks its objects in Go and not by a schema."""


def is_typed(kind: Kind) -> bool:
    """Whether the server keeps this kind as Go types: built-ins and the aggregated Cluster, not CRDs."""
    return not kind.is_crd or kind.group == AGGREGATED


def counted(kind: Kind, body: Object) -> Object:
    """What counts for the generation: all but metadata and status; for Deployments the annotations as well."""
    left_out = {"metadata", "status"} if "status" in kind.subresources else {"metadata"}
    content = {key: value for key, value in body.items() if key not in left_out}
    if kind.group_kind == GroupKind("apps", "Deployment"):
        content["annotations"] = body["metadata"].get("annotations")
    return content
