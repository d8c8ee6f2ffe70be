"""YAML is read so that every reader would have read the same, or it is refused with its place."""

from __future__ import annotations

import json

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from gitops_vg.intents.yaml import MAX_BYTES, MAX_DEPTH, MAX_DOCUMENTS, read_documents


def codes(text: str) -> list[str]:
    return [finding.code for finding in read_documents(text, file="x.yaml")[1]]


def value(text: str) -> object:
    documents, findings = read_documents(text, file="x.yaml")
    assert findings == ()
    (document,) = documents
    return document.data


AMBIGUOUS = [
    "on",
    "NO",
    "Off",
    "yes",
    "y",
    "N",
    "012",
    "08",
    "0o12",
    "0x1F",
    "0b1",
    "1e3",
    "4e8",
    "1_000",
    "12:30:45",
    "20:30",
    "2024-01-01",
    "2024-01-01T10:00:00Z",
    ".5",
    "5.",
    ".inf",
    "-.Inf",
    ".nan",
    "=",
    "685.230_15",
    "._0",
    "190:20:30.15",
    "123456789012345678901",
]


@pytest.mark.parametrize("text", [text for text in AMBIGUOUS if text != "._0"])
def test_a_scalar_that_readers_take_differently_wants_quotes(text: str) -> None:
    documents, (finding,) = read_documents(f"key: {text}", file="x.yaml")

    assert finding.code == "GVG109"
    assert (finding.at.line, finding.at.column) == (1, 6)
    assert finding.fix == f'write quotes: "{text}"'
    assert documents[0].data == {"key": text}


@pytest.mark.parametrize("text", AMBIGUOUS)
def test_in_quotes_everything_is_text(text: str) -> None:
    assert value(f'key: "{text}"') == {"key": text}
    assert value(f"key: '{text}'") == {"key": text}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        *(("3", 3), ("-7", -7), ("0", 0), ("1.5", 1.5), ("true", True), ("False", False), ("null", None), ("~", None)),
        *(
            ("", None),
            ("1.2.3", "1.2.3"),
            ("10.0.0.1", "10.0.0.1"),
            ("500m", "500m"),
            ("3.5Gi", "3.5Gi"),
            ("2-3", "2-3"),
        ),
        *(("80%", "80%"), ("nine", "nine"), ("tRUE", "tRUE"), ("v1e3", "v1e3"), ("sha256:4e8", "sha256:4e8")),
    ],
)
def test_what_all_readers_agree_on_is_read(text: str, expected: object) -> None:
    assert value(f"key: {text}") == {"key": expected}


@given(st.text(alphabet="0123456789_.:-+eExXobBynNoOfFtTruESlaAzZ~=<nif ", min_size=1, max_size=10))
@settings(max_examples=400, deadline=None)
def test_text_is_never_what_the_usual_reader_takes_for_something_else(text: str) -> None:
    """PyYAML follows YAML 1.1: where it sees a number, a date or a truth value, we see the same or refuse."""
    try:
        usual = yaml.safe_load(f"key: {text}")
    except (yaml.YAMLError, ValueError):
        return
    documents, findings = read_documents(f"key: {text}", file="x.yaml")
    if isinstance(usual, dict) and not findings:
        assert documents[0].data == usual


def test_a_day_is_taken_where_a_day_is_expected() -> None:
    documents, findings = read_documents("day: 2026-12-08", file="x.yaml", is_date=lambda path: path == ("day",))

    assert findings == ()
    assert documents[0].data == {"day": "2026-12-08"}


def test_keys_must_be_text_and_unambiguous() -> None:
    assert codes("1: a") == ["GVG108"]
    assert codes("true: a") == ["GVG108"]
    assert codes("? [a]\n: b") == ["GVG108"]
    assert codes("on: a") == ["GVG109"]
    assert codes("2024-01-01: a") == ["GVG109"]
    assert codes('"on": a') == []


def test_a_key_that_stands_twice_is_refused_with_both_places() -> None:
    _, (finding,) = read_documents("a: 1\nb:\n  c: 1\n  c: 2\n", file="x.yaml")

    assert finding.code == "GVG105"
    assert (finding.at.line, finding.at.column) == (4, 3)
    assert "line 3:3" in finding.message
    assert finding.field == "b.c"


def test_tags_and_merge_keys_are_refused() -> None:
    assert codes("a: !!str 5") == ["GVG120"]
    assert codes("a: !!python/object/apply:os.system [ls]") == ["GVG120"]
    assert codes("a: &x {b: 1}\nc: {<<: *x}") == ["GVG120"]
    assert codes("!!str a: b") == ["GVG120"]


def test_tabs_are_named_as_such() -> None:
    assert codes("a:\n\tb: c") == ["GVG107"]
    assert codes("a:\n  b: c\n \td: e") == ["GVG107"]
    assert codes("a:\tb") == []


def test_an_alias_repeats_its_anchor() -> None:
    assert value("a: &x {b: 1}\nc: *x") == {"a": {"b": 1}, "c": {"b": 1}}


@pytest.mark.parametrize("text", ["&a [*a]", "&a {b: *a}", "a: &x\n  b:\n    c: *x"])
def test_an_alias_must_not_contain_itself(text: str) -> None:
    assert codes(text) == ["GVG106"]


def test_an_alias_bomb_is_stopped() -> None:
    levels = "".join(f"{chr(98 + i)}: &{chr(98 + i)} [{','.join(['*' + chr(97 + i)] * 10)}]\n" for i in range(12))

    assert codes("a: &a [x,x,x,x,x,x,x,x,x,x]\n" + levels) == ["GVG106"]


def test_a_bomb_spread_over_documents_is_stopped() -> None:
    levels = "".join(f"{chr(98 + i)}: &{chr(98 + i)} [{','.join(['*' + chr(97 + i)] * 10)}]\n" for i in range(3))

    assert codes(("---\na: &a [x,x,x,x,x,x,x,x,x,x]\n" + levels) * 300) == ["GVG106"]


def test_nesting_and_documents_have_limits() -> None:
    deep = MAX_DEPTH + 2
    assert codes("[" * deep + "]" * deep) == ["GVG106"]
    assert codes("[" * 5000) == ["GVG104"]
    assert codes("---\n" * (MAX_DOCUMENTS + 2)) == ["GVG102"]


@pytest.mark.parametrize("text", ["a: *b", "a: &x 1\nb: &x 2"])
def test_anchors_that_are_missing_or_twice_are_refused(text: str) -> None:
    assert codes(text) == ["GVG106"]


@pytest.mark.parametrize("character", ["\x00", "\x01", "\x7f", "\ufffe"])
def test_a_forbidden_character_is_named_with_its_place(character: str) -> None:
    _, (finding,) = read_documents(f"a: b\nc: {character}", file="x.yaml")

    assert finding.code == "GVG104"
    assert (finding.at.line, finding.at.column) == (2, 4)
    assert f"U+{ord(character):04X}" in finding.message


def test_documents_before_a_broken_one_are_still_checked() -> None:
    documents, findings = read_documents("a: on\n---\nb: [", file="x.yaml")

    assert [finding.code for finding in findings] == ["GVG109", "GVG104"]
    assert len(documents) == 1


def test_a_secret_value_is_not_shown() -> None:
    _, (finding,) = read_documents("kind: Secret\nstringData: {token: 4e8}", file="x.yaml")

    assert "4e8" not in finding.message + finding.fix


@given(st.one_of(st.text(max_size=200), st.text(alphabet="{}[]:,-&*!|>'\"%@` \n\tab1?#<=", max_size=60)))
@settings(max_examples=400, deadline=None)
def test_no_text_makes_the_reader_fail_and_every_finding_lies_in_the_text(text: str) -> None:
    _, findings = read_documents(text, file="x.yaml")

    lines = text.splitlines() or [""]
    for finding in findings:
        assert 1 <= finding.at.line <= max(len(lines), text.count("\n") + 1)
        assert finding.at.column >= 1
        assert "\n" not in finding.message


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=12,
)


@given(json_values)
@settings(max_examples=150, deadline=None)
def test_json_is_read_as_what_it_is(data: object) -> None:
    documents, findings = read_documents(json.dumps(data), file="x.json")

    if findings:
        # libyaml does not join escaped surrogate pairs; nothing else of JSON may be refused.
        assert "\\u" in json.dumps(data)
    elif data is not None:
        assert documents[0].data == data


def test_every_key_and_value_has_its_place() -> None:
    text = "spec:\n  tasks:\n    - name: a\n      replicas: 2\n    - {name: b}\n"
    (document,), _ = read_documents(text, file="x.yaml")
    source = document.source

    assert str(source.at(("spec", "tasks", 0, "replicas"))) == "x.yaml:4:17"
    assert str(source.at(("spec", "tasks", 0, "replicas"), key=True)) == "x.yaml:4:7"
    assert str(source.at(("spec", "tasks", 1, "name"))) == "x.yaml:5:14"
    assert str(source.at(("spec", "tasks", 1, "image"))) == "x.yaml:5:7"
    assert str(source.at(("nothing", "like", "this"))) == "x.yaml:1:1"


def test_a_file_at_the_limit_is_read_in_time() -> None:
    text = "\n".join(f"key{index}: {index}" for index in range(MAX_BYTES // 40))

    assert len(value(text)) == MAX_BYTES // 40  # type: ignore[arg-type]
