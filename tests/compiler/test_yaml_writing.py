"""YAML as it is committed: the same bytes for the same data, and the same data in every reader."""

from __future__ import annotations

import math
from io import StringIO
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from gitops_vg.compiler import dump_yaml

NASTY = [
    *(
        "y",
        "Y",
        "n",
        "N",
        "yes",
        "No",
        "on",
        "OFF",
        "true",
        "False",
        "null",
        "Null",
        "~",
        "",
        " ",
        "nan",
        ".nan",
        ".inf",
    ),
    *(
        "012",
        "0o12",
        "0x1f",
        "0b1",
        "1e3",
        "4e8",
        "1_000",
        "08",
        "-1",
        "+.4",
        "+_",
        ".5",
        "5.",
        "-",
        "--",
        "---",
        "...",
    ),
    *(
        "12:30:45",
        "2024-01-01",
        "2024-01-01T00:00:00Z",
        "=",
        "<<",
        "*a",
        "&a",
        "!t",
        "!!str",
        "%d",
        "@x",
        "`x`",
        "|",
        ">",
    ),
    *(
        "a: b",
        "a #b",
        "#a",
        "a:",
        ": a",
        "? a",
        "[a]",
        "{a}",
        ",",
        "'a'",
        '"a"',
        "a\\b",
        "a\tb",
        "\ta",
        " a",
        "a ",
        "a\n",
    ),
    *("\n", "\n\n", "a\n\nb", "a\n b", " a\nb", "a \nb", "a\r\nb", "a\x85b", "a\u2028b", "\ufeffa", "a\x00b", "a\x7fb"),
    *("ä", "漢字", "🦜", "a\n🦜\n", "8Gi", "500m", "1.5", "v1.2", "sha256:abc", "registry:5000/a/b:1", "0 2 * * *"),
    *(
        "a" * 500,
        "word " * 200,
        "line\n" * 50,
        "trailing\n\n\n",
        "a\n---\nb",
        "a\n...\nb",
        "# not a comment\nb",
        "-\n-\n",
    ),
]

TEXT = st.one_of(st.text(max_size=30), st.sampled_from(NASTY))
FLOATS = st.floats(allow_nan=False, allow_infinity=False)
SCALARS = st.one_of(st.none(), st.booleans(), st.integers(-(2**63), 2**63 - 1), FLOATS, TEXT)
DATA = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(TEXT, inner, max_size=4)),
    max_leaves=12,
)


def in_yaml_1_2(text: str) -> Any:
    return YAML(typ="safe", pure=True).load(StringIO(text))


def plain_scalars(text: str) -> list[str]:
    """Scalars that a reader has to guess the type of."""
    return [event.value for event in yaml.parse(text) if isinstance(event, yaml.ScalarEvent) and event.implicit[0]]


def go_yaml_takes_for_text(scalar: str) -> bool:
    """The scalar rules of go-yaml v2 (resolve.go), with which kubectl reads."""
    words = {"", "~", "null", "true", "false", "y", "n", "yes", "no", "on", "off", "<<"}
    return scalar.lower() not in words and scalar[0] not in "+-.0123456789"


def written_scalars(data: Any) -> list[str]:
    """Every text in some data, keys included."""
    if isinstance(data, str):
        return [data]
    if isinstance(data, list):
        return [text for item in data for text in written_scalars(item)]
    if isinstance(data, dict):
        return [text for key, item in data.items() for text in (key, *written_scalars(item))]
    return []


@given(DATA)
@settings(max_examples=250, deadline=None)
def test_any_data_reads_back_the_same_in_yaml_1_1_and_1_2(data: Any) -> None:
    text = dump_yaml(data)

    assert yaml.safe_load(text) == data
    assert in_yaml_1_2(text) == data


@given(st.lists(TEXT, max_size=6))
@settings(max_examples=200, deadline=None)
def test_text_that_stands_without_quotes_is_text_for_kubectl_too(words: list[str]) -> None:
    assert all(go_yaml_takes_for_text(scalar) for scalar in plain_scalars(dump_yaml(words)) if words)


@pytest.mark.parametrize("word", NASTY)
def test_text_that_some_reader_would_retype_survives_as_value_and_key(word: str) -> None:
    data = {"value": word, "list": [word], word: "as a key"}

    text = dump_yaml(data)

    assert yaml.safe_load(text) == data
    assert in_yaml_1_2(text) == data
    assert set(written_scalars(data)) & set(plain_scalars(text)) <= {
        scalar for scalar in plain_scalars(text) if go_yaml_takes_for_text(scalar)
    }


@pytest.mark.parametrize("word", ["shop", "kubernetes.io/batch-cpu", "BestEffort", "a few plain words", "/etc/app"])
def test_plain_words_stand_without_quotes(word: str) -> None:
    assert dump_yaml({"key": word}) == f"key: {word}\n"


@pytest.mark.parametrize("word", ["on", "8", "1.5", "12:30", "v1: 2", "-c", "*", "2026-12-01", "sha256:ab"])
def test_other_text_stands_in_double_quotes(word: str) -> None:
    assert dump_yaml({"key": word}) == f'key: "{word}"\n'


def test_text_of_several_lines_is_a_block_that_people_can_read() -> None:
    assert dump_yaml({"script": "if a then\n  b\nend\n"}) == "script: |\n  if a then\n    b\n  end\n"


def test_keys_are_sorted_and_lists_keep_their_order() -> None:
    assert dump_yaml({"b": [2, 1], "a": {"d": 1, "c": 2}}) == "a:\n  c: 2\n  d: 1\nb:\n- 2\n- 1\n"


def test_a_value_used_twice_is_written_twice() -> None:
    shared = {"cpu": "1"}

    assert dump_yaml({"a": shared, "b": shared}) == 'a:\n  cpu: "1"\nb:\n  cpu: "1"\n'


def test_long_text_stays_in_one_line() -> None:
    assert dump_yaml({"a": "word " * 100 + "end"}).count("\n") == 1


def test_tuples_are_lists() -> None:
    assert dump_yaml({"a": ("x", "y")}) == 'a:\n- x\n- "y"\n'


@given(FLOATS)
@settings(max_examples=100, deadline=None)
def test_numbers_keep_every_digit(number: float) -> None:
    read = yaml.safe_load(dump_yaml([number]))[0]

    assert read == number
    assert math.copysign(1, read) == math.copysign(1, number)


@pytest.mark.parametrize("length", [899, 900, 901, 1023, 1024, 1025, 5000])
@pytest.mark.parametrize("value", ["text", {"a": [1]}, ["a", {"b": 2}], {}, [], "two\nlines\n"])
def test_a_key_of_any_length_reads_back(length: int, value: Any) -> None:
    data = {"k" * length: value, "other": [{"k" * length: value}]}

    text = dump_yaml(data)

    assert yaml.safe_load(text) == data
    assert in_yaml_1_2(text) == data


def test_lists_in_lists_and_empty_things_read_back() -> None:
    data = {"a": [[1, [2, []]], [[], {}], [{"b": [[3]]}]], "c": {}, "d": [], "e": {"f": {}}}

    assert dump_yaml(data).startswith("a:\n- - 1\n  - - 2\n    - []\n")
    assert yaml.safe_load(dump_yaml(data)) == data


@pytest.mark.parametrize("value", [math.nan, math.inf, b"bytes", object(), {"a": {1, 2}}, {1: "a"}])
def test_what_json_cannot_hold_is_refused(value: Any) -> None:
    with pytest.raises(TypeError):
        dump_yaml({"a": value})
