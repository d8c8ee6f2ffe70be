"""Entry point: finds the command, runs it, turns every outcome into one exit code and clear words.

Commands are imported only when they run, so `--help` stays fast. Exit codes (design, the
same for every command): 0 fine · 1 findings or failure · 2 there are differences · 3 stopped
by a guard · 4 could not find out · 64 wrong usage · 130 interrupted.
"""

from __future__ import annotations

import importlib
import os
import sys
import traceback
from collections.abc import Sequence
from typing import Any

import click

from gitops_vg import __version__
from gitops_vg.cli.output import Session
from gitops_vg.errors import GitopsVgError

COMMANDS = {
    "init": "write the first files of a fleet repository",
    "validate": "check the intents, every problem at once",
    "rules": "list the rules, or explain one",
    "schema": "print or write the JSON Schemas of the intents",
    "capacity": "show the free capacity of every cluster",
    "plan": "show where everything would run, and why",
    "explain": "tell everything about one workload's placement",
    "compile": "print or write the manifests of the intents",
    "publish": "commit the rendered manifests to the rendered branch",
    "diff": "show what sync would change in the control plane",
    "sync": "make the control plane equal to the rendered branch",
    "drift": "show what differs live from what was applied",
    "run": "do all of it continuously",
    "sandbox": "serve an embedded Karmada control plane",
    "demo": "run the main job, end to end, on the embedded control plane",
}

EPILOG = """\
Exit codes: 0 fine, 1 findings or failure, 2 differences, 3 stopped by a guard, 4 could not find out, 64 usage.

Example: gitops-vg validate && gitops-vg plan
"""


class LazyGroup(click.Group):
    """Lists commands from COMMANDS and imports the module of one only to run it."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command = importlib.import_module(f"gitops_vg.cli.{cmd_name}").command
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            raise click.UsageError(f"there is no command {args[0]!r}{_nearest(args[0])}", ctx)
        return super().resolve_command(ctx, args)


def _nearest(word: str) -> str:
    import difflib

    close = difflib.get_close_matches(word, COMMANDS, n=1)
    return f"; did you mean {close[0]!r}?" if close else ""


@click.group(
    cls=LazyGroup,
    epilog=EPILOG,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
@click.version_option(__version__, prog_name="gitops-vg", message="%(prog)s %(version)s")
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
@click.option(
    "--color",
    type=click.Choice(["auto", "always", "never"]),
    default="auto",
    help="Colour the output; auto colours a terminal unless NO_COLOR is set.",
)
@click.pass_obj
def app(session: Session, debug: bool, color: str) -> None:
    """GitOps for multi-cluster batch on Karmada and Volcano: small intents in, proven manifests out."""
    session.debug = debug
    session.color = color


def run(arguments: Sequence[str]) -> int:
    """Run one command line and give its exit code; every error is printed, none is raised."""
    session = Session()
    try:
        result: Any = app.main(list(arguments), prog_name="gitops-vg", standalone_mode=False, obj=session)
        return result if isinstance(result, int) else 0
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.ClickException as error:
        return _usage(error, session=session)
    except GitopsVgError as error:
        if session.debug:
            traceback.print_exc()
        session.error(error)
        return error.exit_code
    except (KeyboardInterrupt, click.Abort):
        print("stopped", file=sys.stderr)
        return 130
    except BrokenPipeError:
        # The reader of our output left (`| head`): nobody is there to tell, and Python must not try again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except Exception as error:
        if session.debug:
            traceback.print_exc()
        session.error(
            GitopsVgError(
                f"internal error: {type(error).__name__}: {error}",
                hint="this is a defect of gitops-vg: run the command again with --debug and report what it shows",
            )
        )
        return 1


def _usage(error: click.ClickException, *, session: Session) -> int:
    if not isinstance(error, click.UsageError):
        session.error(GitopsVgError(error.format_message()))
        return 1
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        print(error.format_message(), file=sys.stderr)
        return 64
    command = error.ctx.command_path if error.ctx else "gitops-vg"
    session.usage(error.format_message(), hint=f"see `{command} --help`")
    return 64


def main() -> None:
    """The `gitops-vg` program."""
    sys.exit(run(sys.argv[1:]))
