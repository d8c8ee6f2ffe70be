"""`gitops-vg diff`."""

from __future__ import annotations

from pathlib import Path

import click

from gitops_vg.cli.options import fleet_option, output_option, server_options
from gitops_vg.cli.output import Session


@click.command("diff", epilog="Example: gitops-vg diff || test $? = 2")
@fleet_option
@server_options
@output_option
@click.pass_obj
def command(session: Session, root: Path, kubeconfig: str | None, context: str | None) -> int:
    """Show what sync would change in the control plane. Nothing is written.

    Exit codes: 0 no difference, 2 differences, 3 a guard would hold some of them, 1 some could not be judged.
    """
    from gitops_vg import pipeline
    from gitops_vg.cli.fleets import FleetCommand
    from gitops_vg.report import sync as report

    fleet = FleetCommand(session, root, kubeconfig, context)
    intents = fleet.intents()
    tree = pipeline.rendered_tree(fleet.repository(), intents.fleet.spec.rendered.branch)
    with session.step(f"comparing {len(tree.manifests)} objects"):
        plan = pipeline.plan_sync(fleet.server(intents), tree)
    session.emit(text=lambda style: report.plan_text(plan, style=style), data=lambda: report.plan_data(plan))
    if plan.problems:
        return 1
    if plan.held:
        return 3
    return 2 if plan.actions else 0
