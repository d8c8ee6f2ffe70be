"""Every rule is what its example says: the wrong one breaks exactly this rule, the right one breaks none."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from gitops_vg.errors import UsageError
from gitops_vg.findings import Finding
from gitops_vg.rules import Rule, explain, registry

RULES = registry()


@pytest.mark.parametrize("rule", [rule for rule in RULES if rule.wrong], ids=lambda rule: rule.code)
def test_the_wrong_example_breaks_exactly_its_rule(rule: Rule, judge: Callable[[str], tuple[Finding, ...]]) -> None:
    findings = judge(rule.wrong)

    assert {finding.code for finding in findings} == {rule.code}, findings
    assert {finding.severity for finding in findings} == {rule.severity}


@pytest.mark.parametrize("rule", [rule for rule in RULES if rule.right], ids=lambda rule: rule.code)
def test_the_right_example_breaks_no_rule(rule: Rule, judge: Callable[[str], tuple[Finding, ...]]) -> None:
    assert judge(rule.right) == ()


@pytest.mark.parametrize("rule", [rule for rule in RULES if rule.wrong], ids=lambda rule: rule.code)
def test_a_finding_says_where_what_and_what_to_do(rule: Rule, judge: Callable[[str], tuple[Finding, ...]]) -> None:
    lines = rule.wrong.splitlines()

    for finding in judge(rule.wrong):
        assert 1 <= finding.at.line <= max(1, len(lines)), finding
        if finding.at.file in ("workloads/example.yaml", "gitops-vg.yaml") and lines:
            assert 1 <= finding.at.column <= len(lines[finding.at.line - 1]) + 1, finding
        assert finding.message
        assert finding.fix
        assert "\n" not in finding.message + finding.fix
        assert not finding.message.endswith(".")


def test_codes_are_stable_in_form_and_sorted() -> None:
    codes = [rule.code for rule in RULES]

    assert codes == sorted(set(codes))
    assert all(re.fullmatch(r"GVG[1-5][0-9]{2}", code) for code in codes)
    assert len(codes) >= 30


def test_every_rule_says_why() -> None:
    for rule in RULES:
        assert len(rule.explanation.strip()) > 20, rule.code
        assert rule.title[0].islower()
        assert not rule.title.endswith(".")


def test_rules_about_intents_all_have_an_example_of_wrong() -> None:
    without = {rule.code for rule in RULES if not rule.wrong}

    # What a text cannot show: a folder, a huge file, bytes, a fleet that has no cluster.
    assert without <= {"GVG101", "GVG102", "GVG103", "GVG510"}


def test_a_rule_is_explained_by_its_code_in_any_case() -> None:
    assert explain("gvg305").code == "GVG305"


def test_an_unknown_code_is_wrong_usage() -> None:
    with pytest.raises(UsageError, match="no rule GVG999"):
        explain("GVG999")
