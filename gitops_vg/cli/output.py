"""The one output layer of the commands: text or JSON on standard output, everything else on standard error."""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TextIO

from gitops_vg.errors import GitopsVgError, GuardError, InputError
from gitops_vg.report.text import Style, printable

_PATIENCE = 1.0
"""Seconds after which a person wants to know what is going on."""


@dataclass
class Session:
    """What the flags of one command line say about output."""

    format: str = "text"
    color: str = "auto"
    debug: bool = False
    _told: bool = field(default=False, repr=False)

    @property
    def style(self) -> Style:
        return self._style(sys.stdout)

    def _style(self, stream: TextIO) -> Style:
        if self.color != "auto":
            return Style(self.color == "always")
        return Style(stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb")

    def emit(self, *, text: Callable[[Style], str], data: Callable[[], Any]) -> None:
        """Print a result once, in the format asked for."""
        if self.format == "json":
            print(json.dumps(data(), indent=2, ensure_ascii=False, default=str))
        else:
            print(text(self.style))
        sys.stdout.flush()

    def note(self, message: str) -> None:
        """Tell a person something beside the result (standard error, text only)."""
        if self.format == "text":
            print(printable(message), file=sys.stderr, flush=True)

    @contextmanager
    def step(self, message: str) -> Iterator[None]:
        """Show `message` on a terminal while the block takes longer than a second."""
        if self.format == "json" or not sys.stderr.isatty():
            yield
            return
        timer = threading.Timer(_PATIENCE, lambda: print(f"\r{message} …", end="", file=sys.stderr, flush=True))
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)

    def error(self, error: GitopsVgError) -> None:
        """The one way out for a failure: what was wrong, and what to do."""
        if self.format == "json":
            print(json.dumps({"error": _error_data(error)}, indent=2, ensure_ascii=False))
            return
        style = self._style(sys.stderr)
        lines = []
        if isinstance(error, InputError) and error.findings:
            from gitops_vg.report import findings

            lines.append(findings.as_text(error.findings, style=style))
        lines.append(f"{style.paint('error:', 'red')} {printable(error.message)}")
        if isinstance(error, GuardError):
            lines += [f"    {printable(reason)}" for reason in error.reasons]
            lines.append(f"    plan {error.digest}")
        if error.hint:
            lines.append(f"    {printable(error.hint)}")
        print("\n".join(lines), file=sys.stderr)

    def usage(self, message: str, *, hint: str) -> None:
        """A wrong flag or argument."""
        if self.format == "json":
            print(json.dumps({"error": {"message": message, "hint": hint, "exitCode": 64}}, indent=2))
        else:
            print(f"error: {printable(message)}\n    {hint}", file=sys.stderr)


def _error_data(error: GitopsVgError) -> dict[str, Any]:
    data: dict[str, Any] = {
        "kind": type(error).__name__,
        "message": error.message,
        "hint": error.hint,
        "exitCode": error.exit_code,
    }
    if isinstance(error, InputError):
        from gitops_vg.report import findings

        data["findings"] = findings.as_data(error.findings)
    if isinstance(error, GuardError):
        data |= {"digest": error.digest, "reasons": list(error.reasons)}
    return data
