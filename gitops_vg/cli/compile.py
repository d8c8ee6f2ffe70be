"""`gitops-vg compile`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from gitops_vg.cli.options import on_fleet, snapshot_option

if TYPE_CHECKING:
    from gitops_vg.cli.fleets import FleetCommand


@click.command("compile", epilog="Example: gitops-vg compile --locked | less")
@snapshot_option
@click.option("--locked", is_flag=True, help="Use the committed placements and plan nothing: needs no cluster.")
@click.option("--write", "folder", type=click.Path(path_type=Path), help="Write one file an object into this folder.")
@on_fleet
def command(fleet: FleetCommand, *, snapshot_file: Path | None, locked: bool, folder: Path | None) -> int:
    """Print the manifests of the intents, or write them to a folder. Git and the cluster stay untouched."""
    from gitops_vg import pipeline
    from gitops_vg.compiler import compile_manifests, dump_yaml

    intents = fleet.intents()
    tree = fleet.previous_tree(intents)
    lock = tree.lock if tree is not None else {}
    if locked:
        manifests = compile_manifests(intents, lock)
    else:
        manifests = pipeline.decide(intents, fleet.snapshot(intents, snapshot_file), previous=lock).manifests
    if folder is not None:
        for manifest in manifests:
            path = folder / manifest.path
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(dump_yaml(manifest.body), encoding="utf-8")
        fleet.session.emit(
            text=lambda _: f"wrote {len(manifests)} manifests to {folder}",
            data=lambda: [manifest.path for manifest in manifests],
        )
        return 0
    fleet.session.emit(
        text=lambda _: "---\n".join(dump_yaml(manifest.body) for manifest in manifests).rstrip("\n"),
        data=lambda: [manifest.body for manifest in manifests],
    )
    return 0
