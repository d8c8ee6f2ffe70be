"""`gitops-vg sync`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from gitops_vg.cli.options import on_fleet

if TYPE_CHECKING:
    from gitops_vg.cli.fleets import FleetCommand


@click.command("sync", epilog="Example: gitops-vg sync --all-or-nothing -o json")
@click.option("--all-or-nothing", is_flag=True, help="Do nothing at all while a guard holds something back.")
@click.option(
    "--wait", type=click.IntRange(min=0), default=0, metavar="SECONDS",
    help="Wait until Karmada has carried all out; what is not as planned by then has failed.",
)  # fmt: skip
@on_fleet
def command(fleet: FleetCommand, *, all_or_nothing: bool, wait: int) -> int:
    """Make the control plane equal to the committed rendered branch.

    Applies in order, deletes within the budget, and holds back what is protected, running or too much until
    it is approved (exit code 3). One failing object never stops the others (exit code 1).
    """
    from gitops_vg import pipeline
    from gitops_vg.report import sync as report

    intents = fleet.intents()
    tree = fleet.rendered_tree(intents)
    server = fleet.server(intents)
    with fleet.session.step(f"syncing {len(tree.manifests)} objects"):
        plan, result = pipeline.sync_fleet(server, tree, all_or_nothing=all_or_nothing)
    with fleet.session.step("waiting for Karmada"):
        unsettled = pipeline.unsettled(server, tree, seconds=wait) if wait else ()
    fleet.session.emit(
        text=lambda style: report.result_text(plan, result, style=style, unsettled=unsettled),
        data=lambda: report.result_data(plan, result, unsettled=unsettled),
    )
    if plan.problems or result.failures or unsettled:
        return 1
    return 3 if plan.held else 0
