"""`gitops-vg run`."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

import click

from gitops_vg.cli.options import on_fleet

if TYPE_CHECKING:
    from gitops_vg.cli.fleets import FleetCommand


@click.command("run", epilog="Example: gitops-vg run --follow origin/main --listen 0.0.0.0:8080")
@click.option(
    "--follow", metavar="REMOTE/BRANCH", help="Take the intents from this remote branch (default: what is checked out)."
)
@click.option(
    "--poll", type=click.FloatRange(min=0.1), default=30.0, show_default=True, help="Seconds between fetches."
)
@click.option(
    "--listen",
    default="127.0.0.1:0",
    show_default=True,
    metavar="ADDRESS:PORT",
    help="Where probes and metrics answer.",
)
@on_fleet
def command(fleet: FleetCommand, *, follow: str | None, poll: float, listen: str) -> int:
    """Validate, plan, publish and sync continuously, and repair drift, until stopped.

    Watches the repository, the remote branch, the live objects and the capacity; gathers changes into batches
    (Fleet: batch.window, batch.max). /healthz, /readyz and /metrics answer at --listen. `-o json` logs JSON.
    """
    from gitops_vg.controller.run import Controller, RunSettings
    from gitops_vg.controller.stages import FleetStages

    address, port = _address(listen)
    followed = _followed(follow)
    intents = fleet.intents()
    server = fleet.server(intents)
    server.require_karmada()
    repository = fleet.repository()
    stages = FleetStages(repository, intents=intents, server=server, follow=followed)
    stages.fetch()
    _log_to_stderr(as_json=fleet.session.format == "json")
    settings = RunSettings.of(intents, poll=poll, address=address, port=port)
    controller = Controller(stages, server=server, folder=repository.git.top, settings=settings)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: controller.stop())
    controller.run(lambda: print(f"probes and metrics at http://{address}:{controller.port}", flush=True))
    fleet.session.note("stopped")
    return 0


def _followed(text: str | None) -> tuple[str, str] | None:
    from gitops_vg.errors import UsageError

    if text is None:
        return None
    remote, _, branch = text.partition("/")
    if not remote or not branch:
        raise UsageError(f"--follow {text} is no REMOTE/BRANCH", hint="write for example --follow origin/main")
    return remote, branch


def _address(text: str) -> tuple[str, int]:
    from gitops_vg.errors import UsageError

    host, _, port = text.rpartition(":")
    if not host or not (port.isascii() and port.isdigit()) or int(port) > 65535:
        raise UsageError(f"--listen {text} is no ADDRESS:PORT", hint="write for example --listen 0.0.0.0:8080")
    return host, int(port)


def _log_to_stderr(*, as_json: bool) -> None:
    import logging
    import sys

    import structlog

    renderer: structlog.types.Processor = (
        structlog.processors.JSONRenderer() if as_json else structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())
    )
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )
