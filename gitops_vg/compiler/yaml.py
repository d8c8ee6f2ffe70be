"""Deterministic YAML that every reader takes alike.

Keys are sorted; a string is quoted whenever a reader of YAML 1.1, 1.2 or go-yaml could take it for
anything else (no stock writer is safe for all: `on`, `y`, `012`, `1e3`, `12:30`, `=`); text of several
lines is a literal block.
"""

from __future__ import annotations

import re
from typing import Any

import yaml

_BASE: type[Any] = getattr(yaml, "CSafeDumper", yaml.SafeDumper)

_PLAIN = re.compile(r"[A-Za-z_/][A-Za-z0-9_./\-]*( [A-Za-z0-9_./\-]+)*")
"""What may stay without quotes: names, paths, images without a tag, words."""
_WORDS = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan", "inf"})
"""Words that some reader takes for a boolean, a null or a number, in any case."""


class _Dumper(_BASE):  # type: ignore[misc]
    """Writes strings by the rule above, never an alias."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _represent_text(dumper: Any, text: str) -> Any:
    if "\n" in text and _fits_a_block(text):
        return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|")
    if _PLAIN.fullmatch(text) and text.lower() not in _WORDS:
        return dumper.represent_scalar("tag:yaml.org,2002:str", text)
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style='"')


def _fits_a_block(text: str) -> bool:
    """Blocks cannot hold control characters, and readers differ on spaces at the edges of their lines."""
    first, *rest = text.split("\n")
    clean = all(line.isprintable() and line == line.rstrip() for line in (first, *rest))
    return clean and bool(first) and first == first.lstrip()


_Dumper.add_representer(str, _represent_text)
_Dumper.add_representer(tuple, lambda dumper, value: dumper.represent_list(list(value)))


def dump_yaml(data: Any) -> str:
    """`data` (maps, lists, text, numbers, booleans, None) as YAML text; the same data gives the same bytes."""
    text: str = yaml.dump(
        data, Dumper=_Dumper, sort_keys=True, default_flow_style=False, allow_unicode=True, width=10**9, indent=2
    )
    return text
