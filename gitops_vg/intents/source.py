"""Where a value stands: the place of every key and value of one YAML document."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from gitops_vg.findings import Location

Path = tuple[str | int, ...]
"""Keys and list indexes from the document's root, e.g. ("spec", "job", "tasks", 0, "name")."""


@dataclass(frozen=True)
class Source:
    """One document: its file, and the place of each value and key by path.

    `values` and `keys` hold (line, column) from 1. Paths are those of the document as
    written, before defaults.
    """

    file: str
    line: int = 1
    values: Mapping[Path, tuple[int, int]] = field(default_factory=dict, repr=False)
    keys: Mapping[Path, tuple[int, int]] = field(default_factory=dict, repr=False)

    def at(self, path: Path = (), *, key: bool = False) -> Location:
        """The place of `path`, or of its nearest parent that was written down."""
        for length in range(len(path), -1, -1):
            marks = self.keys if key or length < len(path) else self.values
            mark = marks.get(path[:length]) or self.values.get(path[:length])
            if mark is not None:
                return Location(self.file, *mark)
        return Location(self.file, self.line, 1)


def dotted(path: Path) -> str:
    """A path as people read it: `spec.job.tasks[0].name`."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else (f".{part}" if text else part)
    return text


def undotted(text: str) -> Path:
    """The path of `spec.job.tasks[0].name`; keys that hold dots are not reachable this way."""
    path: list[str | int] = []
    for part in text.split("."):
        name, *indexes = part.split("[")
        if name:
            path.append(name)
        path.extend(int(index.rstrip("]")) for index in indexes)
    return tuple(path)
