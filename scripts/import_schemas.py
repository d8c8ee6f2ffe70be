"""Turns a folder of kind descriptions into the project's own schema data, gitops_vg/apis/data/.

The folder holds one JSON file a kind (`group`, `version`, `kind`, `plural`, …, `schema`), with shared
subtrees in `_defs.json`. What is kept are facts only: types, enums, defaults, list and map rules.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

DATA = Path(__file__).resolve().parents[1] / "gitops_vg/apis/data"
_PREFIX = "_defs.json#/"


def compact(schema: Any, *, openapi: bool) -> Any:
    """The schema with references by name, and without what says nothing."""
    if isinstance(schema, list):
        return [compact(item, openapi=openapi) for item in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return {"$ref": schema["$ref"].removeprefix(_PREFIX)}
    parts = schema.get("allOf", [])
    if len(parts) == 1 and set(parts[0]) == {"$ref"}:
        # OpenAPI writes a reference with a default this way; only the keys beside it may matter (list and map rules).
        beside = {key: value for key, value in schema.items() if key.startswith("x-kubernetes-")}
        return {"$ref": parts[0]["$ref"].removeprefix(_PREFIX), **beside}
    result = {key: compact(value, openapi=openapi) for key, value in schema.items()}
    if openapi and result.get("default") in ({}, "", 0, False):
        # Go's zero values, which the API server does not write.
        del result["default"]
    return result


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="the folder with the kind descriptions")
    folder = parser.parse_args().folder
    definitions = json.loads((folder / "_defs.json").read_text())
    kept = {name: compact(schema, openapi=name.startswith("io.k8s.")) for name, schema in definitions.items()}
    write("definitions.json", kept)
    kinds = []
    for path in sorted(folder.glob("[a-z]*.json")):
        kind = json.loads(path.read_text())
        kind["schema"] = compact(kind["schema"], openapi=kind.get("openapi", False))
        write(path.name, kind.pop("schema"))
        kinds.append({"file": path.name, **kind})
    write("index.json", kinds, indent=1)
    print(f"{len(kinds)} kinds, {sum(path.stat().st_size for path in DATA.glob('*.json')) // 1024} KiB")
    return 0


def write(name: str, data: Any, *, indent: int | None = None) -> None:
    separators = None if indent else (",", ":")
    (DATA / name).write_text(json.dumps(data, indent=indent, separators=separators, sort_keys=True) + "\n")


if __name__ == "__main__":
    sys.exit(main())
