"""Reads YAML so that every reader would have read the same, and remembers where everything stands.

PyYAML's C parser composes the nodes; values are made here, because the stock constructors drop
the marks, let the last of two equal keys win, and follow YAML 1.1 where kubectl's reader and
YAML 1.2 do not (`on`, `012`, `1e3`, `12:30`). What is read differently is refused: write quotes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import yaml

from gitops_vg.findings import Finding, Location, Severity
from gitops_vg.intents.source import Path, Source, dotted

MAX_BYTES = 1024 * 1024
"""Of one file: etcd refuses larger objects anyway."""
MAX_DOCUMENTS = 1000
MAX_VALUES = 250_000
"""Of one file with its aliases followed: an alias bomb ends here. A file of 1 MiB has some 50,000."""
MAX_DEPTH = 60

_BASE: type[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

_NULL = re.compile(r"~|null|Null|NULL|")
_TRUE = re.compile(r"true|True|TRUE")
_FALSE = re.compile(r"false|False|FALSE")
_INTEGER = re.compile(r"[-+]?(0|[1-9][0-9]*)")
_DECIMAL = re.compile(r"[-+]?([0-9]|[1-9][0-9]+)\.[0-9]+")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_AMBIGUOUS = re.compile(
    r"[yYnN]|yes|Yes|YES|no|No|NO|on|On|ON|off|Off|OFF"  # booleans of YAML 1.1 (y, n: of kubectl's reader)
    r"|[-+]?0[0-9_]+|[-+]?0[oO][0-7_]+|[-+]?0[bB][01_]+|[-+]?0[xX][0-9a-fA-F_]+"  # octal, binary, hexadecimal
    r"|[-+]?[0-9][0-9_]*(\.[0-9_]*)?|[-+]?\.[0-9][0-9_]*"  # digits with underscores
    r"|[-+]?[0-9]+(:[0-5]?[0-9])+(\.[0-9]*)?"  # base 60
    r"|[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?"  # floats in all their forms
    r"|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)"
    r"|[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}([Tt ].*)?"  # dates and times
    r"|=|<<"
)
_UNPRINTABLE = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What YAML 1.2 §5.1 does not allow."""
_PRIVATE = frozenset({"data", "stringData", "env", "value"})
"""Below these keys a value may be a secret, and is never shown."""
_SUSPICIOUS = frozenset(["", *"0123456789+-.~nNtTfFyYoO=<"])
"""First characters of all that is not plainly text: the test that keeps reading fast."""
_UNTAGGED = ""


class _Loader(_BASE):  # type: ignore[misc]  # which of two classes it is depends on the installation
    """The parser alone: what a scalar means is decided here, not by the parser's own resolvers."""

    def resolve(self, *_: Any) -> str:
        """The tag of a node that was written without one."""
        return _UNTAGGED

    def descend_resolver(self, *_: Any) -> None:
        """Nothing to resolve by path."""

    def ascend_resolver(self) -> None:
        """Nothing to resolve by path."""


@dataclass(frozen=True)
class Document:
    """One document of a file: its data in plain Python, and where each part stands."""

    data: Any
    source: Source
    faults: frozenset[Path] = frozenset()
    """Values that were reported already: what a model says about them is no news."""


class _TooMuch(Exception):
    """A document that is not read on; why has been reported."""


@dataclass
class _Budget:
    """How many values may still be read from a file."""

    left: int = MAX_VALUES


@dataclass
class _Reading:
    """State of reading one document."""

    file: str
    findings: list[Finding]
    is_date: Callable[[Path], bool]
    budget: _Budget
    values: dict[Path, tuple[int, int]] = field(default_factory=dict)
    keys: dict[Path, tuple[int, int]] = field(default_factory=dict)
    faults: set[Path] = field(default_factory=set)

    def report(self, code: str, mark: Any, message: str, fix: str, path: Path) -> None:
        at = Location(self.file, mark.line + 1, mark.column + 1)
        self.findings.append(Finding(code, Severity.ERROR, at, message, fix, dotted(path)))


def read_documents(
    text: str, *, file: str, is_date: Callable[[Path], bool] = lambda _: False
) -> tuple[tuple[Document, ...], tuple[Finding, ...]]:
    """All documents of `text` that could be read, and every problem found.

    `is_date` tells the paths where a plain date is expected and therefore meant.
    """
    findings: list[Finding] = []
    documents: list[Document] = []
    budget = _Budget()
    try:
        for number, node in enumerate(_nodes(text)):
            if number == MAX_DOCUMENTS:
                findings.append(_at_start(file, "GVG102", f"more than {MAX_DOCUMENTS} documents", "split the file"))
                break
            reading = _Reading(file, findings, is_date, budget)
            data = _value(node, (), reading, 0, frozenset())
            if data is not None:
                source = Source(file, node.start_mark.line + 1, reading.values, reading.keys)
                documents.append(Document(data, source, frozenset(reading.faults)))
    except _TooMuch:
        pass  # Reported where it happened; the documents after it are not read.
    except yaml.MarkedYAMLError as error:
        findings.append(_syntax(error, text=text, file=file))
    except yaml.reader.ReaderError as error:
        findings.append(_bad_character(error, text=text, file=file))
    except (yaml.YAMLError, RecursionError, MemoryError, ValueError) as error:
        what = str(error).partition("\n")[0] or type(error).__name__
        findings.append(_at_start(file, "GVG106", f"cannot be read: {what}", "nest less, and write plain text"))
    return tuple(documents), tuple(findings)


def _nodes(text: str) -> Iterator[Any]:
    loader = _Loader(text)
    try:
        while loader.check_node():
            yield loader.get_node()
    finally:
        loader.dispose()


def _at_start(file: str, code: str, message: str, fix: str) -> Finding:
    return Finding(code, Severity.ERROR, Location(file), message.replace("\n", " "), fix)


def _syntax(error: yaml.MarkedYAMLError, *, text: str, file: str) -> Finding:
    mark = error.problem_mark or error.context_mark
    lines = text.splitlines() or [""]
    line = min(mark.line, len(lines) - 1) if mark else 0
    column = min(mark.column, len(lines[line])) if mark and mark.line == line else len(lines[line])
    at = Location(file, line + 1, column + 1)
    problem = " ".join(part for part in (error.context, error.problem) if part)
    if lines[line][column : column + 1] == "\t" or "'\\t'" in problem or "tab" in problem:
        return Finding("GVG107", Severity.ERROR, at, "a tab where YAML wants spaces", "indent with spaces")
    if "anchor" in problem or "alias" in problem:
        return Finding("GVG106", Severity.ERROR, at, problem, "define the anchor before it is used, or write it out")
    fix = "check the indentation, the colons and the quotes here and in the line above"
    return Finding("GVG104", Severity.ERROR, at, f"not YAML: {problem}", fix)


def _bad_character(error: yaml.reader.ReaderError, *, text: str, file: str) -> Finding:
    """A control character, or something else that YAML text must not contain."""
    index, found = next(((i, one) for i, one in enumerate(text) if _UNPRINTABLE.match(one)), (0, ""))
    before = text[:index]
    at = Location(file, before.count("\n") + 1, index - before.rfind("\n"))
    what = f"the character U+{ord(found):04X}" if found else str(error.reason)
    return Finding("GVG104", Severity.ERROR, at, f"not YAML: {what} must not stand in it", "remove the character")


def _value(node: Any, path: Path, reading: _Reading, depth: int, above: frozenset[int]) -> Any:
    """The value of a node; problems are noted and the value goes on as well as it can."""
    reading.budget.left -= 1
    if reading.budget.left < 0 or depth > MAX_DEPTH or id(node) in above:
        what = "an alias contains itself"
        if id(node) not in above:
            what = f"nested deeper than {MAX_DEPTH}" if depth > MAX_DEPTH else f"more than {MAX_VALUES} values"
        reading.report("GVG106", node.start_mark, what, "write it out, without aliases of aliases", path)
        raise _TooMuch
    mark = node.start_mark
    reading.values[path] = (mark.line + 1, mark.column + 1)
    if node.tag != _UNTAGGED:
        return _refuse_tag(node, path, reading)
    if isinstance(node, yaml.ScalarNode):
        return _scalar(node, path, reading)
    above = above | {id(node)}
    if isinstance(node, yaml.SequenceNode):
        return [_value(child, (*path, index), reading, depth + 1, above) for index, child in enumerate(node.value)]
    return _mapping(node, path, reading, depth, above)


def _refuse_tag(node: Any, path: Path, reading: _Reading) -> Any:
    """Nothing: with a tag the parser's word for a value is not its own."""
    tag = str(node.tag).replace("tag:yaml.org,2002:", "!!")
    reading.report("GVG120", node.start_mark, f"the tag {tag} is not understood by every reader",
                   "write the value without a tag; text in quotes", path)  # fmt: skip
    reading.faults.add(path)
    return None


def _mapping(node: Any, path: Path, reading: _Reading, depth: int, above: frozenset[int]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for key_node, child in node.value:
        key = _key(key_node, path, reading)
        if key is None:
            continue
        inner = (*path, key)
        mark = key_node.start_mark
        if key in result:
            line, column = reading.keys[inner]
            reading.report("GVG105", mark, f"{dotted(inner)} is here twice (before in line {line}:{column})",
                           "keep one of them; readers disagree about which one counts", inner)  # fmt: skip
            continue
        reading.keys[inner] = (mark.line + 1, mark.column + 1)
        result[key] = _value(child, inner, reading, depth + 1, above)
    return result


def _key(node: Any, path: Path, reading: _Reading) -> str | None:
    """The text of a key; None for what is none, and then its value is left out."""
    mark = node.start_mark
    if node.tag != _UNTAGGED:
        _refuse_tag(node, path, reading)
        return None
    if not isinstance(node, yaml.ScalarNode):
        reading.report("GVG108", mark, "a key must be text, not a list or a map", "write a name", path)
        return None
    text: str = node.value
    if node.style or text[:1] not in _SUSPICIOUS:
        return text
    if text == "<<":
        reading.report("GVG120", mark, "merge keys (<<) are not understood by every reader", "write the fields", path)
        return None
    if not isinstance(_plain(text), str):
        reading.report("GVG108", mark, f"the key {text or '(empty)'} is not text", f'write quotes: "{text}"', path)
        return None
    if _AMBIGUOUS.fullmatch(text):
        reading.report("GVG109", mark, f"the key {text} is read differently by YAML readers",
                       f'write quotes: "{text}"', path)  # fmt: skip
        return None
    return text


def _scalar(node: Any, path: Path, reading: _Reading) -> Any:
    text: str = node.value
    if node.style or text[:1] not in _SUSPICIOUS:  # Plain is "" with the C parser and None without it.
        return text
    value = _plain(text)
    if not isinstance(value, str) or (_DATE.fullmatch(text) and reading.is_date(path)):
        return value
    if _AMBIGUOUS.fullmatch(text):
        shown = "this value" if _PRIVATE.intersection(path) else text
        reading.report("GVG109", node.start_mark, f"{shown} is read differently by YAML readers",
                       "write quotes around it" if shown != text else f'write quotes: "{text}"', path)  # fmt: skip
        reading.faults.add(path)
    return text


def _plain(text: str) -> Any:
    """The value of a plain scalar that all readers take alike, else its text."""
    if _NULL.fullmatch(text):
        return None
    if _TRUE.fullmatch(text):
        return True
    if _FALSE.fullmatch(text):
        return False
    if _INTEGER.fullmatch(text) and len(text) < 19:
        return int(text)
    if _DECIMAL.fullmatch(text):
        return float(text)
    return text
