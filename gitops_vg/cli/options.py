"""Options that several commands share, so that they read and behave alike everywhere."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from gitops_vg.cli.output import Session

Decorated = TypeVar("Decorated", bound=Callable[..., Any])


def _remember_format(ctx: click.Context, _parameter: click.Parameter, value: str) -> str:
    ctx.ensure_object(Session).format = value
    return value


def output_option(function: Decorated) -> Decorated:
    """`-o text|json`; the session knows the choice, also for errors."""
    return click.option(
        "-o",
        "--output",
        type=click.Choice(["text", "json"]),
        default="text",
        is_eager=True,
        expose_value=False,
        callback=_remember_format,
        help="How to print the result.",
    )(function)


def fleet_option(function: Decorated) -> Decorated:
    """`-C DIR`: the fleet repository."""
    return click.option(
        "-C",
        "--fleet",
        "root",
        type=click.Path(path_type=Path),
        default=Path(),
        envvar="GITOPS_VG_FLEET",
        show_envvar=True,
        help="Folder of the fleet repository (default: here).",
    )(function)


def server_options(function: Decorated) -> Decorated:
    """`--kubeconfig`, `--context`: which karmada-apiserver; beats what the Fleet says."""
    context = click.option("--context", help="Context of the kubeconfig (default: the Fleet's).")
    kubeconfig = click.option(
        "--kubeconfig",
        envvar="KUBECONFIG",
        show_envvar=True,
        help="Kubeconfig of karmada-apiserver (default: the Fleet's, the usual place, or in-cluster).",
    )
    return kubeconfig(context(function))


def on_fleet(function: Callable[..., int]) -> Callable[..., int]:
    """The options of every command that works on a fleet; the command gets a `FleetCommand` instead of them."""

    def wrapped(session: Session, /, *, root: Path, kubeconfig: str | None, context: str | None, **rest: Any) -> int:
        from gitops_vg.cli.fleets import FleetCommand

        return function(FleetCommand(session, root, kubeconfig, context), **rest)

    functools.update_wrapper(wrapped, function)
    return fleet_option(server_options(output_option(click.pass_obj(wrapped))))


def snapshot_option(function: Decorated) -> Decorated:
    """`--snapshot FILE`: plan from saved capacity instead of the live one."""
    return click.option(
        "--snapshot",
        "snapshot_file",
        type=click.Path(path_type=Path),
        help="Plan from this capacity file (see `gitops-vg capacity --save`) instead of live.",
    )(function)
