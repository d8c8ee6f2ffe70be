"""A real Karmada's recorded answers: the embedded control plane gives the same ones.

Steps that differ are listed here with the reason, and in docs/fidelity.md. A step that is listed
and no longer differs fails as well: the list is to shrink.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from behaviour_replay import ELSEWHERE, Difference, Plane, order, replay

ROOT = Path(__file__).resolve().parents[2]
VECTORS = ROOT.parent / "shared" / "vectors" / "karmada_behaviour.json"

pytestmark = [
    pytest.mark.shared,
    pytest.mark.skipif(not VECTORS.is_file(), reason=f"{VECTORS.name} is not beside this project"),
]

DIFFERENT: dict[tuple[str, int], str] = {
    ("3c", 6): "the recording holds a version number that its scrubbing missed",
    ("10", 8): "the reason why a continue token does not parse is Go's JSON parser's own sentence",
    ("10", 9): "the history of the sandbox reaches back to its start, so version 1 is not too old",
    ("10", 13): "order of resources and verbs, and storageVersionHash, are those of a CRD installation",
    ("10", 14): "order of resources is that of a CRD installation",
    ("10", 15): "kind of the proxy subresource, categories and storageVersionHash of the aggregated server",
    ("10", 19): "order of groups and verbs in aggregated discovery",
    ("10", 20): "fewer columns, without descriptions, in the table of clusters",
    ("13", 8): "PyYAML counts the line of a parse error otherwise than Go's YAML",
    ("22", 11): "a null time (lastProbeTime) that Go writes out is left out",
}
"""Steps of cases that come out otherwise, with the reason of each."""

CASES: list[dict[str, Any]] = json.loads(VECTORS.read_text(encoding="utf-8")) if VECTORS.is_file() else []
FIRST_VOLCANO = 20
"""From this case on the recorded members had a real Volcano; before, they were bare API servers."""


@pytest.fixture(scope="module")
def replayed() -> dict[str, list[Difference]]:
    """The differences of every case, by its id; cases build on each other, so all run in their order."""
    found: dict[str, list[Difference]] = {}
    for volcano in (False, True):
        cases = [case for case in CASES if (order(case["id"])[0] >= FIRST_VOLCANO) is volcano]
        plane = Plane.start(volcano=volcano)
        try:
            for case in sorted(cases, key=lambda case: order(case["id"])):
                known = {step for name, step in DIFFERENT if name == case["id"]}
                found[case["id"]] = replay(plane, case, known=known)
        finally:
            plane.stop()
    return found


@pytest.mark.parametrize("case", [case["id"] for case in CASES])
def test_a_recorded_case_comes_out_as_recorded(case: str, replayed: dict[str, list[Difference]]) -> None:
    expected = {step for name, step in DIFFERENT if name == case}

    differences = {difference.step: difference for difference in replayed[case]}

    unknown = [str(difference) for step, difference in differences.items() if step not in expected]
    assert not unknown, "differs from the recording:\n" + "\n".join(unknown)
    assert expected <= differences.keys(), "listed as different, and is not: take it off the list"


def test_nearly_every_recorded_step_agrees(replayed: dict[str, list[Difference]]) -> None:
    steps = sum(len(case["steps"]) for case in CASES)

    agreeing = steps - sum(len(differences) for differences in replayed.values())

    assert steps == 367
    assert agreeing / steps > 0.97


def test_each_known_difference_is_told_in_the_documentation() -> None:
    text = (ROOT / "docs" / "fidelity.md").read_text(encoding="utf-8")

    told = [f"| {case} | {step} | {reason} |" for (case, step), reason in DIFFERENT.items()]
    told += [f"| `{path}` | {reason} |" for path, reason in ELSEWHERE.items()]

    assert [line for line in told if line not in text] == []
