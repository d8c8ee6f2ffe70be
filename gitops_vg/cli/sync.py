"""`gitops-vg sync`."""

from __future__ import annotations

from pathlib import Path

import click

from gitops_vg.cli.options import fleet_option, output_option, server_options
from gitops_vg.cli.output import Session


@click.command("sync", epilog="Example: gitops-vg sync --all-or-nothing -o json")
@fleet_option
@server_options
@click.option("--all-or-nothing", is_flag=True, help="Do nothing at all while a guard holds something back.")
@output_option
@click.pass_obj
def command(session: Session, root: Path, kubeconfig: str | None, context: str | None, all_or_nothing: bool) -> int:
    """Make the control plane equal to the committed rendered branch.

    Applies in order, deletes within the budget, and holds back what is protected, running or too much until
    it is approved (exit code 3). One failing object never stops the others (exit code 1).
    """
    from gitops_vg import pipeline
    from gitops_vg.cli.fleets import FleetCommand
    from gitops_vg.report import sync as report

    fleet = FleetCommand(session, root, kubeconfig, context)
    intents = fleet.intents()
    tree = pipeline.rendered_tree(fleet.repository(), intents.fleet.spec.rendered.branch)
    with session.step(f"syncing {len(tree.manifests)} objects"):
        plan, result = pipeline.sync_fleet(fleet.server(intents), tree, all_or_nothing=all_or_nothing)
    session.emit(
        text=lambda style: report.result_text(plan, result, style=style), data=lambda: report.result_data(plan, result)
    )
    if plan.problems or result.failures:
        return 1
    return 3 if plan.held else 0
