"""`gitops-vg demo`."""

from __future__ import annotations

import time

import click

from gitops_vg.cli.options import output_option
from gitops_vg.cli.output import Session


@click.command("demo", epilog="Example: gitops-vg demo")
@output_option
@click.pass_obj
def command(session: Session) -> int:
    """Run the main job, end to end, on the embedded control plane and the sample fleet.

    Plan, commit, apply, bindings, a live edit repaired, a protected queue refused and then retired by approval.
    """
    from gitops_vg.demo import Demo, summary

    started = time.monotonic()
    paragraphs: list[str] = []

    def say(text: str) -> None:
        paragraphs.append(text)
        if session.format == "text":
            print(text, flush=True)

    good = Demo(say=say, style=session.style).run()
    say(f"\n{summary(time.monotonic() - started)}")
    if session.format == "json":
        session.emit(text=lambda _: "", data=lambda: {"good": good, "output": paragraphs})
    return 0 if good else 1
