"""`gitops-vg plan`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from gitops_vg.cli.options import on_fleet, snapshot_option

if TYPE_CHECKING:
    from gitops_vg.cli.fleets import FleetCommand


@click.command("plan", epilog="Example: gitops-vg plan --snapshot today.json -o json")
@snapshot_option
@on_fleet
def command(fleet: FleetCommand, *, snapshot_file: Path | None) -> int:
    """Show where every workload would run and why, and what publishing would change.

    Exit code 2 when the rendered branch would change, 0 when it would not. Nothing is written.
    """
    from gitops_vg import pipeline
    from gitops_vg.report import plan as report
    from gitops_vg.report import rendered

    intents = fleet.intents()
    tree = fleet.previous_tree(intents)
    previous = tree.lock if tree is not None else {}
    rendering = pipeline.decide(intents, fleet.snapshot(intents, snapshot_file), previous=previous)
    before = tree.manifests if tree is not None else ()
    changes = rendered.tree_changes(before, rendering.manifests)
    lines = pipeline.destructive_lines(before, rendering.manifests)
    fleet.session.emit(
        text=lambda style: "\n\n".join(
            [
                report.as_text(rendering.plan, previous=previous, style=style),
                rendered.changes_text(changes, lines, style=style),
            ]
        ),
        data=lambda: {**report.as_data(rendering.plan), "changes": rendered.changes_data(changes, lines)},
    )
    return 2 if changes or dict(previous) != dict(rendering.lock) else 0
