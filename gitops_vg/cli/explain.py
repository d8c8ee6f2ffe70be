"""`gitops-vg explain`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from gitops_vg.cli.options import on_fleet, snapshot_option

if TYPE_CHECKING:
    from gitops_vg.cli.fleets import FleetCommand


@click.command("explain", epilog="Example: gitops-vg explain ml/bert-training")
@click.argument("workload")
@snapshot_option
@on_fleet
def command(fleet: FleetCommand, *, workload: str, snapshot_file: Path | None) -> int:
    """Tell everything about one workload's placement: the reason for every cluster, chosen or not."""
    from gitops_vg import pipeline
    from gitops_vg.report import plan as report

    intents = fleet.intents()
    key = pipeline.workload_key(intents, workload)
    tree = fleet.previous_tree(intents)
    snapshot = fleet.snapshot(intents, snapshot_file)
    rendering = pipeline.decide(intents, snapshot, previous=tree.lock if tree is not None else {})
    decision = rendering.plan.decision[key]
    fleet.session.emit(
        text=lambda style: report.explanation(decision, plan=rendering.plan, style=style),
        data=lambda: {**report.decision_data(decision), "snapshot": rendering.plan.snapshot_digest},
    )
    return 0
