"""`gitops-vg drift`."""

from __future__ import annotations

from pathlib import Path

import click

from gitops_vg.cli.options import fleet_option, output_option, server_options
from gitops_vg.cli.output import Session


@click.command("drift", epilog="Example: gitops-vg drift -o json")
@fleet_option
@server_options
@output_option
@click.pass_obj
def command(session: Session, root: Path, kubeconfig: str | None, context: str | None) -> int:
    """Show what differs live from what Git says: field by field, with who wrote it, and bindings that differ from the plan.

    Exit codes: 0 no drift, 2 drift, 1 some could not be judged. Nothing is written.
    """
    from gitops_vg import pipeline
    from gitops_vg.cli.fleets import FleetCommand
    from gitops_vg.report import drift as report

    fleet = FleetCommand(session, root, kubeconfig, context)
    intents = fleet.intents()
    tree = pipeline.rendered_tree(fleet.repository(), intents.fleet.spec.rendered.branch)
    with session.step(f"comparing {len(tree.manifests)} objects"):
        found = pipeline.drift_of(fleet.server(intents), tree)
    session.emit(text=lambda style: report.as_text(found, style=style), data=lambda: report.as_data(found))
    if found.problems:
        return 1
    return 0 if found.is_empty else 2
