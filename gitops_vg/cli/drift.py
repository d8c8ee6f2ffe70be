"""`gitops-vg drift`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from gitops_vg.cli.options import on_fleet

if TYPE_CHECKING:
    from gitops_vg.cli.fleets import FleetCommand


@click.command("drift", epilog="Example: gitops-vg drift -o json")
@on_fleet
def command(fleet: FleetCommand) -> int:
    """Show what differs live from what Git says: field by field, with who wrote it, and bindings that differ from the plan.

    Exit codes: 0 no drift, 2 drift, 1 some could not be judged. Nothing is written.
    """
    from gitops_vg import pipeline
    from gitops_vg.report import drift as report

    intents = fleet.intents()
    tree = fleet.rendered_tree(intents)
    with fleet.session.step(f"comparing {len(tree.manifests)} objects"):
        found = pipeline.drift_of(fleet.server(intents), tree)
    fleet.session.emit(text=lambda style: report.as_text(found, style=style), data=lambda: report.as_data(found))
    if found.problems:
        return 1
    return 0 if found.is_empty else 2
