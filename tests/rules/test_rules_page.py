"""docs/rules.md is made from the registry, and is current."""

from __future__ import annotations

import re
from pathlib import Path

from gitops_vg.rules import registry


def test_the_page_has_every_rule_with_its_title_and_examples(repository_root: Path) -> None:
    page = (repository_root / "docs/rules.md").read_text(encoding="utf-8")

    headings = re.findall(r"^## (GVG[0-9]{3}): (.+)$", page, flags=re.MULTILINE)
    assert headings == [(rule.code, rule.title) for rule in registry()], "run `make docs`"
    for rule in registry():
        assert rule.wrong.strip() in page, rule.code
        assert rule.right.strip() in page, rule.code


def test_the_sample_fleet_breaks_no_rule(repository_root: Path) -> None:
    from gitops_vg.intents import read_fleet
    from gitops_vg.rules import check

    result = read_fleet(repository_root)

    assert result.findings == ()
    assert result.intents is not None
    assert check(result.intents) == ()
