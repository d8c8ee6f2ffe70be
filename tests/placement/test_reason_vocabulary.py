"""The vocabulary of reasons is closed and complete."""

from __future__ import annotations

import string

import pytest

from gitops_vg.placement import reasons
from gitops_vg.placement.reasons import Code, amounts_spoken, because, number


@pytest.mark.parametrize("code", list(Code))
def test_every_code_has_one_sentence(code):
    fields = [field for _, field, _, _ in string.Formatter().parse(reasons._SENTENCE[code]) if field]

    reason = because(code, **dict.fromkeys(fields, "x"))

    assert reason.code == code
    assert reason.text
    assert "\n" not in reason.text


def test_sentences_of_waiting_work_have_no_figures():
    assert all("{" not in text and text.startswith("pending: ") for text in reasons.WITHOUT_FIGURES.values())


@pytest.mark.parametrize(
    ("resource", "value", "text"),
    [
        ("cpu", 1800, "1.8"),
        ("cpu", 8000, "8"),
        ("kubernetes.io/batch-cpu", 4000, "4"),
        ("memory", 7 << 29, "3.5Gi"),
        ("memory", 100, "100"),
        ("nvidia.com/gpu", 8, "8"),
    ],
)
def test_amounts_are_said_as_people_say_them(resource, value, text):
    assert number(resource, value) == text


def test_several_amounts_are_one_list():
    assert amounts_spoken({"nvidia.com/gpu": 1, "cpu": 500}) == "0.5 CPU, 1 GPUs"
