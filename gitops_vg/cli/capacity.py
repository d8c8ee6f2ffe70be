"""`gitops-vg capacity`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gitops_vg.cli.options import on_fleet, snapshot_option

if TYPE_CHECKING:
    from gitops_vg.cli.fleets import FleetCommand


@click.command("capacity", epilog="Example: gitops-vg capacity --save today.json")
@snapshot_option
@click.option("--save", type=click.Path(path_type=Path), help="Also write the snapshot to this file.")
@on_fleet
def command(fleet: FleetCommand, *, snapshot_file: Path | None, save: Path | None) -> int:
    """Show free and total capacity of every cluster, oversold resources included."""
    from gitops_vg import pipeline
    from gitops_vg.capacity import snapshot_to_json
    from gitops_vg.report import capacity as report

    snapshot = fleet.snapshot(fleet.intents(), snapshot_file)
    now = pipeline.utc_now()
    if save is not None:
        save.write_text(json.dumps(snapshot_to_json(snapshot), indent=1, sort_keys=True) + "\n", encoding="utf-8")
    fleet.session.emit(
        text=lambda style: report.as_text(snapshot, now=now, style=style),
        data=lambda: report.as_data(snapshot, now=now),
    )
    return 0
