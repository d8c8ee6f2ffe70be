"""Every check that people can fail, one small function a rule, a stable code a rule."""

from __future__ import annotations

from functools import cache

from gitops_vg.errors import UsageError
from gitops_vg.findings import Finding, in_order
from gitops_vg.intents.fleet import Intents
from gitops_vg.rules import (
    clusters,
    files,
    forms,
    jobs,
    labels,
    names,
    placements,
    pods,
    queues,
    rawobjects,
    references,
)
from gitops_vg.rules.facts import Facts
from gitops_vg.rules.registry import Rule

__all__ = ["Rule", "check", "explain", "registry"]

_MODULES = (files, references, forms, jobs, pods, names, labels, rawobjects, placements, queues, clusters)


@cache
def registry() -> tuple[Rule, ...]:
    """All rules by code; the modules that hold them are listed here."""
    found = {value.code: value for module in _MODULES for value in vars(module).values() if isinstance(value, Rule)}
    return tuple(found[code] for code in sorted(found))


def check(intents: Intents) -> tuple[Finding, ...]:
    """Every problem of a fleet that reading did not find, in the order of its places."""
    facts = Facts(intents)
    return in_order(finding for rule in registry() for finding in rule.findings(facts))


def explain(code: str) -> Rule:
    """One rule by its code. Raises UsageError when there is none."""
    for rule in registry():
        if rule.code == code.upper():
            return rule
    raise UsageError(f"there is no rule {code}", hint="`gitops-vg rules` lists them all")
