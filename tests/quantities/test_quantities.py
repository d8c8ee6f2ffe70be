"""Quantities: strict as the API server, exact, and counted in whole numbers."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitops_vg.quantities import amount, amounts, duration_seconds, format_amount, parse_quantity


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", 0), ("5", 5), ("+5", 5), ("-5", -5), ("1.5", Fraction(3, 2)), (".5", Fraction(1, 2)), ("5.", 5),
        ("100m", Fraction(1, 10)), ("1k", 1000), ("1Ki", 1024), ("1M", 10**6), ("3.5Gi", 3758096384), ("2Ti", 2 * 2**40),
        ("1e3", 1000), ("1E3", 1000), ("1E", 10**18), ("5e-1", Fraction(1, 2)), ("1n", Fraction(1, 10**9)),
        ("0.9Gi", Fraction(966367641600, 1000)), ("16k", 16000),
    ],
)  # fmt: skip
def test_what_the_api_server_takes_is_read_exactly(text: str, value: Fraction | int) -> None:
    assert parse_quantity(text) == value


@pytest.mark.parametrize(
    "text",
    ["", " ", "1K", "1 Gi", " 1", "1 ", "1_000", "1.5e3Mi", "NaN", "Infinity", "inf", "１", "4GB", "1e", "e3", "--1",
     "1.2.3", "0x10", "1mi", "Ki", "1\n", "1e1000", "1.5.", "1Kii"],
)  # fmt: skip
def test_what_the_api_server_refuses_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a quantity"):
        parse_quantity(text)


@pytest.mark.parametrize("value", [1.5, True, None, [1], {}])
def test_only_text_and_whole_numbers_are_quantities(value: Any) -> None:
    with pytest.raises(ValueError, match="write it in quotes"):
        parse_quantity(value)


def test_truth_values_and_floats_are_refused_even_when_their_number_was_read_before() -> None:
    assert parse_quantity(1) == 1
    for value in (True, 1.0):
        with pytest.raises(ValueError, match="quotes"):
            parse_quantity(value)  # type: ignore[arg-type]


def test_quantities_saturate_where_those_of_go_do() -> None:
    assert parse_quantity("100E") == 2**63 - 1
    assert parse_quantity("-100E") == -(2**63 - 1)


def test_amounts_are_rounded_up_away_from_losing_anything() -> None:
    assert amount("cpu", "1.0001") == 1001
    assert amount("memory", "100m") == 1
    assert amount("cpu", "-1.0001") == -1000
    assert amounts({"cpu": 2, "memory": "1Gi", "nvidia.com/gpu": "3"}) == {
        "cpu": 2000, "memory": 2**30, "nvidia.com/gpu": 3,
    }  # fmt: skip


@given(
    st.integers(0, 2**50), st.sampled_from(["cpu", "memory", "nvidia.com/gpu", "kubernetes.io/batch-memory", "pods"])
)
def test_an_amount_survives_being_written(value: int, resource: str) -> None:
    assert amount(resource, format_amount(resource, value)) == value


@given(st.fractions(min_value=0, max_value=10**6, max_denominator=1000))
def test_decimals_keep_every_digit(value: Fraction) -> None:
    thousandths = Fraction(int(value * 1000), 1000)
    text = f"{int(thousandths)}.{int(thousandths * 1000) % 1000:03d}"

    assert parse_quantity(text) == thousandths


@given(st.text(alphabet="0123456789.+-eEnumkMGTPKi ", max_size=8))
@settings(max_examples=300)
def test_text_is_refused_or_a_number_that_go_could_hold(text: str) -> None:
    try:
        value = parse_quantity(text)
    except ValueError:
        return
    assert -(2**63) < value < 2**63


@pytest.mark.parametrize(("text", "seconds"), [("500ms", 0.5), ("30s", 30), ("2m", 120), ("1h", 3600), ("0s", 0)])
def test_durations_are_read(text: str, seconds: float) -> None:
    assert duration_seconds(text) == seconds


@pytest.mark.parametrize("text", ["", "30", "1d", "1h30m", "-1s", "1.5s", "1 s", "１s", "1s\n"])
def test_other_durations_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a duration"):
        duration_seconds(text)


def test_zero_is_written_as_zero() -> None:
    assert format_amount("memory", 0) == "0"
    assert format_amount("cpu", 0) == "0"
