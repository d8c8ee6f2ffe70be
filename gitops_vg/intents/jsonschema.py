"""JSON Schemas of the intents, for editors and for anybody who writes intents by program."""

from __future__ import annotations

from typing import Any

from gitops_vg.intents.models import API_VERSION, KINDS


def json_schemas() -> dict[str, dict[str, Any]]:
    """Kind → JSON Schema (2020-12, within the subset that YAML language servers understand)."""
    schemas = {}
    for kind, model in KINDS.items():
        schema = model.model_json_schema(by_alias=True)
        schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
        schema["title"] = f"{kind} ({API_VERSION})"
        schemas[kind] = schema
    return schemas
