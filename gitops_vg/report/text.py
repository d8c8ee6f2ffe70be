"""Layout and colour of text for people: tables, markers, amounts, ages."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from gitops_vg.quantities import Amounts, format_amount

Colour = Literal["red", "green", "yellow", "cyan", "bold", "dim"]
_CODES: dict[Colour, str] = {
    "red": "31",
    "green": "32",
    "yellow": "33",
    "cyan": "36",
    "bold": "1",
    "dim": "2",
}
_ESCAPE = re.compile(r"\x1b\[[0-9;]*m")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")


@dataclass(frozen=True)
class Style:
    """Whether text is coloured. Colour only ever repeats what the words say."""

    colour: bool = False

    def paint(self, text: str, colour: Colour | None) -> str:
        return f"\x1b[{_CODES[colour]}m{text}\x1b[0m" if self.colour and colour and text else text


def printable(text: str) -> str:
    """`text` without control characters: nothing that a file or a server says may steer the terminal."""
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", text)


def table(header: Sequence[str], rows: Iterable[Sequence[str]], *, style: Style, indent: str = "") -> str:
    """A left-aligned table with the header dimmed; columns are as wide as their widest cell."""
    lines = [tuple(header), *(tuple(row) for row in rows)]
    widths = [max(_width(line[column]) for line in lines) for column in range(len(header))]
    text = []
    for number, line in enumerate(lines):
        cells = [cell + " " * (width - _width(cell)) for cell, width in zip(line, widths, strict=True)]
        joined = indent + "  ".join(cells).rstrip()
        text.append(style.paint(joined, "dim") if number == 0 else joined)
    return "\n".join(text)


def _width(cell: str) -> int:
    return len(_ESCAPE.sub("", cell))


def count(number: int, one: str, many: str = "") -> str:
    """`1 queue`, `3 queues`."""
    return f"{number} {one if number == 1 else many or one + 's'}"


def short_amount(resource: str, value: int) -> str:
    """An amount for a table: whole CPUs, Gi of memory, rounded down."""
    if resource.endswith("cpu"):
        return str(value // 1000) if value >= 1000 or value == 0 else f"0.{value // 100}"
    if resource.endswith("memory"):
        return f"{value // 2**30}Gi"
    return format_amount(resource, value)


def amounts_text(amounts: Amounts) -> str:
    """`cpu 8, memory 32Gi, nvidia.com/gpu 8`, zeros left out."""
    return ", ".join(f"{name} {short_amount(name, value)}" for name, value in sorted(amounts.items()) if value)


def short_digest(digest: str) -> str:
    """The first twelve digits, as git shortens."""
    return digest.removeprefix("sha256:")[:12]
