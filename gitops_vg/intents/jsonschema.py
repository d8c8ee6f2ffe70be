"""JSON Schemas of the intents, for editors and for anybody who writes intents by program."""

from __future__ import annotations

from typing import Any

from gitops_vg.intents.models import API_VERSION, KINDS


def json_schemas() -> dict[str, dict[str, Any]]:
    """Kind → JSON Schema (2020-12, within the subset that YAML language servers understand)."""
    schemas = {}
    for kind, model in KINDS.items():
        schema = _untitled(model.model_json_schema(by_alias=True))
        schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
        schema["title"] = f"{kind} ({API_VERSION})"
        schemas[kind] = schema
    return schemas


def _untitled(schema: Any) -> Any:
    """The schema without the titles made of field names: an editor would show `Onevict` for onEvict."""
    if isinstance(schema, list):
        return [_untitled(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    result = {}
    for key, value in schema.items():
        if key in ("properties", "$defs"):
            result[key] = {name: _untitled(inner) for name, inner in value.items()}
        elif key == "default" or key == "enum":
            result[key] = value
        elif key != "title":
            result[key] = _untitled(value)
    return result
