"""Text for people: aligned, plain without colour, and never steered by what a file says."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from gitops_vg.capacity.snapshot import ClusterCapacity, Snapshot
from gitops_vg.findings import Finding, Location, Severity
from gitops_vg.placement.plan import Decision, Plan, Reason, State
from gitops_vg.report import capacity as capacity_report
from gitops_vg.report import findings as findings_report
from gitops_vg.report import plan as plan_report
from gitops_vg.report.text import Style, count, printable, short_amount, table

PLAIN = Style()


def test_columns_are_aligned_with_and_without_colour() -> None:
    plain = table(("A", "LONG"), [("x", "1"), ("longer", "2")], style=PLAIN)
    coloured = table(("A", "LONG"), [(Style(True).paint("x", "red"), "1"), ("longer", "2")], style=PLAIN)

    assert plain.splitlines() == ["A       LONG", "x       1", "longer  2"]
    assert coloured.splitlines()[1] == "\x1b[31mx\x1b[0m       1"


@given(st.text())
def test_nothing_printable_moves_the_cursor(text: str) -> None:
    assert not any(letter in printable(text) for letter in "\x1b\x07\x08\r\x7f")


def test_amounts_are_short_and_never_rounded_up() -> None:
    assert [short_amount("cpu", value) for value in (0, 900, 1999, 64000)] == ["0", "0.9", "1", "64"]
    assert short_amount("memory", 2**40 - 1) == "1023Gi"
    assert [count(number, "policy", "policies") for number in (1, 2)] == ["1 policy", "2 policies"]


def test_findings_stand_in_order_with_their_fix_below() -> None:
    def finding(line: int, code: str) -> Finding:
        return Finding(code, Severity.ERROR, Location("a.yaml", line, 3), f"message {line}", f"fix {line}")

    text = findings_report.as_text([finding(9, "GVG302"), finding(2, "GVG301"), finding(2, "GVG301")], style=PLAIN)

    assert text.splitlines() == [
        "a.yaml:2:3  GVG301 error   message 2",
        "    fix 2",
        "a.yaml:9:3  GVG302 error   message 9",
        "    fix 9",
        "2 errors, 0 warnings",
    ]


def test_a_plan_marks_what_is_new_moved_kept_and_waiting() -> None:
    def decision(name: str, state: State, **assignments: int) -> Decision:
        return Decision(name, "one", state, assignments, Reason("fits", "because"))

    plan = Plan("sha256:abc", (decision("a", State.PLACED, one=1), decision("b", State.PENDING)))

    lines = plan_report.as_text(plan, previous={}, style=PLAIN).splitlines()

    assert lines[1].split() == ["+", "a", "one", "placed", "because"]
    assert lines[2].split() == ["?", "b", "nowhere", "yet", "pending", "because"]
    assert lines[-1] == "2 workloads: 1 placed, 0 kept, 1 pending  (snapshot abc)"


def test_capacity_says_how_well_a_cluster_is_known_and_why_it_gets_nothing() -> None:
    now = datetime(2026, 12, 1, tzinfo=UTC)
    cluster = ClusterCapacity("one", problem="not ready", capacity={"cpu": 8000}, allocatable={"cpu": 4000})

    text = capacity_report.as_text(Snapshot((cluster,), now - timedelta(seconds=12)), now=now, style=PLAIN)

    assert text.splitlines()[1].split() == ["one", "not", "ready", "(summary)", "4/8"]
    assert text.endswith("12 s old")
