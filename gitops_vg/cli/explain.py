"""`gitops-vg explain`."""

from __future__ import annotations

from pathlib import Path

import click

from gitops_vg.cli.options import fleet_option, output_option, server_options, snapshot_option
from gitops_vg.cli.output import Session


@click.command("explain", epilog="Example: gitops-vg explain ml/bert-training")
@click.argument("workload")
@fleet_option
@server_options
@snapshot_option
@output_option
@click.pass_obj
def command(
    session: Session,
    workload: str,
    root: Path,
    kubeconfig: str | None,
    context: str | None,
    snapshot_file: Path | None,
) -> int:
    """Tell everything about one workload's placement: the reason for every cluster, chosen or not."""
    from gitops_vg import pipeline
    from gitops_vg.cli.fleets import FleetCommand
    from gitops_vg.report import plan as report

    fleet = FleetCommand(session, root, kubeconfig, context)
    intents = fleet.intents()
    key = pipeline.workload_key(intents, workload)
    tree = fleet.previous_tree(intents)
    snapshot = fleet.snapshot(intents, snapshot_file)
    rendering = pipeline.decide(intents, snapshot, previous=tree.lock if tree is not None else {})
    decision = rendering.plan.decision[key]
    session.emit(
        text=lambda style: report.explanation(decision, plan=rendering.plan, style=style),
        data=lambda: {**report.decision_data(decision), "snapshot": rendering.plan.snapshot_digest},
    )
    return 0
