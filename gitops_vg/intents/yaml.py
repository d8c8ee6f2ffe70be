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
MAX_VALUES = 50_000
"""Of one document with its aliases followed: an alias bomb ends here."""
MAX_DEPTH = 60

_LOADER: type[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

_NULL = re.compile(r"~|null|Null|NULL|")
_TRUE = re.compile(r"true|True|TRUE")
_FALSE = re.compile(r"false|False|FALSE")
_INTEGER = re.compile(r"[-+]?(0|[1-9][0-9]*)")
_DECIMAL = re.compile(r"[-+]?([0-9]|[1-9][0-9]+)\.[0-9]+")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_AMBIGUOUS = re.compile(
    r"[yYnN]|yes|Yes|YES|no|No|NO|on|On|ON|off|Off|OFF"  # booleans of YAML 1.1 (y, n: of kubectl's reader)
    r"|[-+]?0[0-9_]+|[-+]?0[oO][0-7_]+|[-+]?0[bB][01_]+|[-+]?0[xX][0-9a-fA-F_]+"  # octal, binary, hexadecimal
    r"|[-+]?[0-9][0-9_]*_[0-9_]*(\.[0-9_]*)?"  # digits with underscores
    r"|[-+]?[0-9]+(:[0-5]?[0-9])+(\.[0-9]*)?"  # base 60
    r"|[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?"  # floats in all their forms
    r"|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)"
    r"|[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}([Tt ].*)?"  # dates and times
    r"|=|<<"
)
_CORE_TAGS = frozenset(f"tag:yaml.org,2002:{name}" for name in ("str", "int", "float", "bool", "null", "map", "seq",
                                                               "timestamp", "value", "merge"))  # fmt: skip


@dataclass(frozen=True)
class Document:
    """One document of a file: its data in plain Python, and where each part stands."""

    data: Any
    source: Source


@dataclass
class _Reading:
    """State of reading one document."""

    file: str
    findings: list[Finding]
    is_date: Callable[[Path], bool]
    values: dict[Path, tuple[int, int]] = field(default_factory=dict)
    keys: dict[Path, tuple[int, int]] = field(default_factory=dict)
    count: int = 0
    stopped: bool = False

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
    try:
        for node in _nodes(text):
            if len(documents) == MAX_DOCUMENTS:
                findings.append(_at_start(file, "GVG102", f"more than {MAX_DOCUMENTS} documents", "split the file"))
                break
            reading = _Reading(file, findings, is_date)
            data = _value(node, (), reading, 0, frozenset())
            if data is None:
                continue
            source = Source(file, node.start_mark.line + 1, reading.values, reading.keys)
            documents.append(Document(data, source))
    except yaml.MarkedYAMLError as error:
        findings.append(_syntax(error, file=file))
    except yaml.YAMLError as error:
        findings.append(_at_start(file, "GVG104", f"not YAML: {error}", "remove the character"))
    except (RecursionError, MemoryError, ValueError) as error:
        findings.append(_at_start(file, "GVG106", f"cannot be read: {error}", "nest less"))
    return tuple(documents), tuple(findings)


def _nodes(text: str) -> Iterator[Any]:
    loader = _LOADER(text)
    try:
        while loader.check_node():
            yield loader.get_node()
    finally:
        loader.dispose()


def _at_start(file: str, code: str, message: str, fix: str) -> Finding:
    return Finding(code, Severity.ERROR, Location(file), message.replace("\n", " "), fix)


def _syntax(error: yaml.MarkedYAMLError, *, file: str) -> Finding:
    mark = error.problem_mark or error.context_mark
    at = Location(file, mark.line + 1, mark.column + 1) if mark else Location(file)
    problem = " ".join(part for part in (error.context, error.problem) if part)
    if "'\\t'" in problem or "tab" in problem:
        return Finding("GVG107", Severity.ERROR, at, "a tab where YAML wants spaces", "indent with spaces")
    if "anchor" in problem or "alias" in problem:
        return Finding("GVG106", Severity.ERROR, at, problem, "define the anchor before it is used, or write it out")
    fix = "check the indentation, the colons and the quotes here and in the line above"
    return Finding("GVG104", Severity.ERROR, at, f"not YAML: {problem}", fix)


def _value(node: Any, path: Path, reading: _Reading, depth: int, above: frozenset[int]) -> Any:
    """The value of a node; problems are noted and the value goes on as well as it can."""
    reading.count += 1
    if reading.stopped:
        return None
    if reading.count > MAX_VALUES or depth > MAX_DEPTH or id(node) in above:
        reading.stopped = True
        what = (
            "an alias contains itself" if id(node) in above
            else f"more than {MAX_VALUES} values" if reading.count > MAX_VALUES
            else f"nested deeper than {MAX_DEPTH}"
        )  # fmt: skip
        reading.report("GVG106", node.start_mark, what, "write it out, without aliases of aliases", path)
        return None
    mark = node.start_mark
    reading.values[path] = (mark.line + 1, mark.column + 1)
    if node.tag not in _CORE_TAGS:
        reading.report("GVG120", mark, f"the tag {node.tag} is not understood", "write a plain value", path)
        return None
    if isinstance(node, yaml.ScalarNode):
        return _scalar(node, path, reading)
    above = above | {id(node)}
    if isinstance(node, yaml.SequenceNode):
        return [_value(child, (*path, index), reading, depth + 1, above) for index, child in enumerate(node.value)]
    return _mapping(node, path, reading, depth, above)


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
    mark = node.start_mark
    if not isinstance(node, yaml.ScalarNode):
        reading.report("GVG108", mark, "a key must be text, not a list or a map", "write a name", path)
        return None
    text: str = node.value
    if not node.style and text == "<<":
        reading.report("GVG120", mark, "merge keys (<<) are not understood by every reader", "write the fields", path)
        return None
    if not node.style and not isinstance(_plain(text), str):
        reading.report("GVG108", mark, f"the key {text or '(empty)'} is not text", f'write quotes: "{text}"', path)
        return None
    if not node.style and _AMBIGUOUS.fullmatch(text):
        reading.report("GVG109", mark, f"the key {text} is read differently by YAML readers",
                       f'write quotes: "{text}"', path)  # fmt: skip
        return None
    return text


def _scalar(node: Any, path: Path, reading: _Reading) -> Any:
    text: str = node.value
    if node.style:  # Plain is "" with the C parser and None without it.
        return text
    value = _plain(text)
    if not isinstance(value, str) or (_DATE.fullmatch(text) and reading.is_date(path)):
        return value
    if _AMBIGUOUS.fullmatch(text):
        reading.report("GVG109", node.start_mark, f"{text} is read differently by YAML readers",
                       f'write quotes: "{text}"', path)  # fmt: skip
        return text
    return text


def _plain(text: str) -> Any:
    """The value of a plain scalar that all readers take alike, else its text."""
    if _NULL.fullmatch(text):
        return None
    if _TRUE.fullmatch(text):
        return True
    if _FALSE.fullmatch(text):
        return False
    if _INTEGER.fullmatch(text) and len(text) < 20:
        return int(text)
    if _DECIMAL.fullmatch(text):
        return float(text)
    return text
