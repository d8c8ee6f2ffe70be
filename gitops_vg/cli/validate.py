"""`gitops-vg validate`."""

from __future__ import annotations

from pathlib import Path

import click

from gitops_vg.cli.options import fleet_option, output_option
from gitops_vg.cli.output import Session


@click.command("validate", epilog="Example: gitops-vg validate -C my-fleet -o json")
@fleet_option
@output_option
@click.pass_obj
def command(session: Session, root: Path) -> int:
    """Check the intents of a fleet: files, references, workloads, queues, clusters.

    Prints every problem at once, each with its place, its code and what to do. Warnings do not fail.
    """
    from gitops_vg.pipeline import examine
    from gitops_vg.report import findings as report

    examined = examine(root)
    errors = any(finding.is_error for finding in examined.findings)
    session.emit(
        text=lambda style: report.verdict_text(examined.intents, examined.findings, style=style),
        data=lambda: {"valid": not errors, "findings": report.as_data(examined.findings)},
    )
    return 1 if errors else 0
