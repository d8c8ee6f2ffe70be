"""`gitops-vg publish`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from gitops_vg.cli.options import on_fleet, snapshot_option

if TYPE_CHECKING:
    from gitops_vg.cli.fleets import FleetCommand


@click.command("publish", epilog="Example: gitops-vg publish && gitops-vg sync")
@snapshot_option
@click.option("--any-history", is_flag=True, help="Publish even when what is rendered came from another history.")
@on_fleet
def command(fleet: FleetCommand, *, snapshot_file: Path | None, any_history: bool) -> int:
    """Commit the rendered manifests of the committed intents to the rendered branch, and push it.

    The working tree and the checked-out branch are never touched. No change, no commit. Exit code 3 when
    the change destroys what needs a person's word.
    """
    from gitops_vg import pipeline
    from gitops_vg.report import plan as plan_report
    from gitops_vg.report import rendered
    from gitops_vg.report.text import count

    repository = fleet.repository()
    result, rendering = pipeline.publish_fleet(
        repository, snapshot_of=lambda intents: fleet.snapshot(intents, snapshot_file), any_history=any_history
    )
    if rendering.pending:
        waiting = count(rendering.pending, "workload waits", "workloads wait")
        fleet.session.note(f"{waiting} for a place; `gitops-vg plan` says why")
    fleet.session.emit(
        text=lambda style: rendered.published_text(result, style=style),
        data=lambda: {**rendered.published_data(result), "plan": plan_report.as_data(rendering.plan)},
    )
    return 0
