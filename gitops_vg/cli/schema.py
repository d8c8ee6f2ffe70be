"""`gitops-vg schema`."""

from __future__ import annotations

import json
from pathlib import Path

import click

from gitops_vg.cli.options import output_option
from gitops_vg.cli.output import Session
from gitops_vg.errors import UsageError


@click.command("schema", epilog="Example: gitops-vg schema --write schemas")
@click.argument("kind", required=False)
@click.option("--write", "folder", type=click.Path(path_type=Path), help="Write one file a kind into this folder.")
@output_option
@click.pass_obj
def command(session: Session, kind: str | None, folder: Path | None) -> int:
    """Print the JSON Schema of a kind of intent, list the kinds, or write all schemas for an editor."""
    from gitops_vg.intents import json_schemas

    schemas = json_schemas()
    if kind is not None:
        found = next((name for name in schemas if name.lower() == kind.lower()), None)
        if found is None:
            raise UsageError(f"there is no kind of intent {kind!r}", hint=f"the kinds are {', '.join(schemas)}")
        session.emit(text=lambda _: json.dumps(schemas[found], indent=2), data=lambda: schemas[found])
        return 0
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        for name, schema in schemas.items():
            text = json.dumps(schema, indent=2, sort_keys=True) + "\n"
            (folder / f"{name.lower()}.json").write_text(text, encoding="utf-8")
        session.emit(text=lambda _: f"wrote {len(schemas)} schemas to {folder}", data=lambda: sorted(schemas))
        return 0
    session.emit(text=lambda _: "\n".join(schemas), data=lambda: sorted(schemas))
    return 0
