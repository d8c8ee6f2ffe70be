"""`gitops-vg sandbox`."""

from __future__ import annotations

import signal
from pathlib import Path

import click

from gitops_vg.cli.output import Session


@click.group("sandbox", epilog="Example: gitops-vg sandbox up --kubeconfig /tmp/sandbox.yaml")
def command() -> None:
    """Serve an embedded Karmada control plane with three members, for trying and testing."""


@command.command("up", epilog="Example: gitops-vg sandbox up --state .sandbox --job-seconds 60")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=0, help="Port of karmada-apiserver (default: a free one)."
)
@click.option("--state", "state", type=click.Path(path_type=Path), help="Keep the state in this folder (SQLite).")
@click.option(
    "--kubeconfig",
    type=click.Path(path_type=Path),
    default=Path(".gitops-vg/sandbox.kubeconfig"),
    show_default=True,
    help="Where to write the kubeconfig.",
)
@click.option(
    "--job-seconds", type=click.FloatRange(min=0), default=30.0, show_default=True, help="How long a job's pods run."
)
@click.pass_obj
def up(session: Session, port: int, state: Path | None, kubeconfig: Path, job_seconds: float) -> int:
    """Serve until interrupted. Contexts: karmada-apiserver, cluster-1, cluster-2, cluster-3."""
    from gitops_vg.errors import GitopsVgError
    from gitops_vg.sandbox import Sandbox, StateInUse

    sandbox = Sandbox(port=port, state_dir=state, kubeconfig=kubeconfig, job_seconds=job_seconds)

    def ready() -> None:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: sandbox.stop())
        print(f"karmada-apiserver at {sandbox.url()}", flush=True)
        print(f"export KUBECONFIG={kubeconfig.resolve()}", flush=True)

    try:
        sandbox.run(ready)
    except OSError as error:
        raise GitopsVgError(
            f"the sandbox cannot serve: {error.strerror}{f': {error.filename}' if error.filename else ''}",
            hint="name another --port, --state or --kubeconfig",
        ) from None
    except StateInUse as error:
        raise GitopsVgError(
            f"the state in {state} cannot be used: {error}", hint="stop the other sandbox, or name another --state"
        ) from None
    session.note("stopped")
    return 0
