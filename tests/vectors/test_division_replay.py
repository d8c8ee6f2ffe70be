"""Karmada's own division, recorded: the embedded control plane divides alike, to the replica."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gitops_vg.sandbox.karmada.division import Target, Unschedulable, divide_by_room, divide_by_weight

VECTORS = Path(__file__).resolve().parents[2].parent / "shared" / "vectors" / "karmada_division.json"

pytestmark = [
    pytest.mark.shared,
    pytest.mark.skipif(not VECTORS.is_file(), reason=f"{VECTORS.name} is not beside this project"),
]


def _replayed(case: dict[str, Any]) -> dict[str, int] | None:
    if case["division"] == "StaticWeight":
        targets = divide_by_weight(case["replicas"], weights=case["weights"], uid=case["uid"])
        return {target.name: target.replicas for target in targets}
    try:
        targets = divide_by_room(
            case["replicas"],
            room=case["available"],
            previous=[Target(name, replicas) for name, replicas in case["previous"].items()],
            uid=case["uid"],
            aggregated=case["division"] == "Aggregated",
        )
    except Unschedulable:
        return None
    return {target.name: target.replicas for target in targets}


def test_every_recorded_division_comes_out_equal() -> None:
    cases = json.loads(VECTORS.read_text(encoding="utf-8"))

    different = [
        (case, got) for case in cases if (got := _replayed(case)) != (None if case["error"] else case["result"])
    ]

    assert len(cases) == 1200
    assert different == []
