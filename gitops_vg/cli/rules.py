"""`gitops-vg rules`."""

from __future__ import annotations

import click

from gitops_vg.cli.options import output_option
from gitops_vg.cli.output import Session
from gitops_vg.errors import UsageError


@click.command("rules", epilog="Example: gitops-vg rules GVG403")
@click.argument("code", required=False)
@output_option
@click.pass_obj
def command(session: Session, code: str | None) -> int:
    """List all rules, or explain one with an example of wrong and right."""
    from gitops_vg import rules
    from gitops_vg.report import rules as report

    known = rules.registry()
    if code is None:
        session.emit(
            text=lambda style: report.list_text(known, style=style),
            data=lambda: [report.rule_data(rule) for rule in known],
        )
        return 0
    rule = next((rule for rule in known if rule.code == code.upper()), None)
    if rule is None:
        raise UsageError(f"there is no rule {code}", hint="`gitops-vg rules` lists them all")
    session.emit(text=lambda style: report.rule_text(rule, style=style), data=lambda: report.rule_data(rule))
    return 0
