"""What people write: reading it safely, typed models with the place of each value, JSON Schemas."""

from gitops_vg.intents.fleet import Intents
from gitops_vg.intents.jsonschema import json_schemas
from gitops_vg.intents.reading import ReadResult, read_fleet

__all__ = ["Intents", "ReadResult", "json_schemas", "read_fleet"]
