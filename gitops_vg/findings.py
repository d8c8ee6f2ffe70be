"""A finding: one problem in what people wrote, with its place, its code and what to do.

Reading, models and rules all speak of problems with this one value, so that every
report (text, JSON, …) is written once.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class Severity(StrEnum):
    """How bad: an error stops the pipeline, a warning never does."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, order=True)
class Location:
    """A place in a file. `file` is relative to the fleet's folder; line and column count from 1."""

    file: str
    line: int = 1
    column: int = 1

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


@dataclass(frozen=True)
class Finding:
    """One problem. `field` is the path inside the document (`spec.job.gang`), "" for the file as such."""

    code: str
    severity: Severity
    at: Location
    message: str
    fix: str
    field: str = ""

    @property
    def is_error(self) -> bool:
        return self.severity is Severity.ERROR


def in_order(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Findings as they are printed: by place, errors before warnings, each only once."""
    unique = dict.fromkeys(findings)
    return tuple(sorted(unique, key=lambda f: (f.at, f.severity is Severity.WARNING, f.code, f.message)))
