"""`gitops-vg diff`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from gitops_vg.cli.options import on_fleet

if TYPE_CHECKING:
    from gitops_vg.cli.fleets import FleetCommand


@click.command("diff", epilog="Example: gitops-vg diff || test $? = 2")
@on_fleet
def command(fleet: FleetCommand) -> int:
    """Show what sync would change in the control plane. Nothing is written.

    Exit codes: 0 no difference, 2 differences, 3 a guard would hold some of them, 1 some could not be judged.
    """
    from gitops_vg import pipeline
    from gitops_vg.report import sync as report

    intents = fleet.intents()
    tree = fleet.rendered_tree(intents)
    with fleet.session.step(f"comparing {len(tree.manifests)} objects"):
        plan = pipeline.plan_sync(fleet.server(intents), tree)
    fleet.session.emit(text=lambda style: report.plan_text(plan, style=style), data=lambda: report.plan_data(plan))
    if plan.problems:
        return 1
    if plan.held:
        return 3
    return 2 if plan.actions else 0
