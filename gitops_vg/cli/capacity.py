"""`gitops-vg capacity`."""

from __future__ import annotations

import json
from pathlib import Path

import click

from gitops_vg.cli.options import fleet_option, output_option, server_options, snapshot_option
from gitops_vg.cli.output import Session


@click.command("capacity", epilog="Example: gitops-vg capacity --save today.json")
@fleet_option
@server_options
@snapshot_option
@click.option("--save", type=click.Path(path_type=Path), help="Also write the snapshot to this file.")
@output_option
@click.pass_obj
def command(
    session: Session,
    root: Path,
    kubeconfig: str | None,
    context: str | None,
    snapshot_file: Path | None,
    save: Path | None,
) -> int:
    """Show free and total capacity of every cluster, oversold resources included."""
    from gitops_vg import pipeline
    from gitops_vg.capacity import snapshot_to_json
    from gitops_vg.cli.fleets import FleetCommand
    from gitops_vg.report import capacity as report

    fleet = FleetCommand(session, root, kubeconfig, context)
    snapshot = fleet.snapshot(fleet.intents(), snapshot_file)
    now = pipeline.utc_now()
    if save is not None:
        save.write_text(json.dumps(snapshot_to_json(snapshot), indent=1, sort_keys=True) + "\n", encoding="utf-8")
    session.emit(
        text=lambda style: report.as_text(snapshot, now=now, style=style),
        data=lambda: report.as_data(snapshot, now=now),
    )
    return 0
