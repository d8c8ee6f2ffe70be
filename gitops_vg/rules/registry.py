"""What a rule is: one small check with a stable code, the reason for it, an example of wrong and of right.

A rule is written as a generator of `Problem`s over `Facts`; its docstring says why, and where
the demand comes from. Files cannot be checked once they are read, so the rules about files
have no check of their own: reading reports them, and they are described here all the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from gitops_vg.findings import Finding, Location, Severity
from gitops_vg.intents.models import Intent
from gitops_vg.intents.source import Path, dotted
from gitops_vg.rules.facts import Facts


@dataclass(frozen=True)
class Problem:
    """One place where a rule is broken: what is wrong with which value, and what to do."""

    at: Location
    message: str
    fix: str
    field: str = ""


Check = Callable[[Facts], Iterable[Problem]]


@dataclass(frozen=True)
class Rule:
    """`wrong` and `right` are documents of a fleet, as people would write them; "" where none can be shown."""

    code: str
    severity: Severity
    title: str
    explanation: str
    wrong: str = ""
    right: str = ""
    check: Check | None = None

    def findings(self, facts: Facts) -> Iterator[Finding]:
        """Every place where the rule is broken."""
        for problem in self.check(facts) if self.check is not None else ():
            yield Finding(self.code, self.severity, problem.at, problem.message, problem.fix, problem.field)


def rule(
    code: str, *, title: str, wrong: str, right: str, severity: Severity = Severity.ERROR
) -> Callable[[Check], Rule]:
    """Make a rule of a check; its docstring is the explanation."""

    def made(check: Check) -> Rule:
        return Rule(code, severity, title, check.__doc__ or "", wrong, right, check)

    return made


def problem(intent: Intent, path: Path, message: str, fix: str, *, key: bool = False) -> Problem:
    """A problem with the value (or the key) at `path` of an intent."""
    return Problem(intent.source_at(path, key=key), message, fix, dotted(path))
