"""Where a value stands: the place of every key and value of one YAML document."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from gitops_vg.findings import Location

Path = tuple[str | int, ...]
"""Keys and list indexes from the document's root, e.g. ("spec", "job", "tasks", 0, "name")."""

_PLAIN_KEY = re.compile(r"[^.\[\]\"\s]+")
_PART = re.compile(r'\[("(?:[^"\\]|\\.)*")\]|\[([0-9]+)\]|([^.\[\]"\s]+)')


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
    """A path as people read it: `spec.job.tasks[0].name`, `spec.capability["nvidia.com/gpu"]`."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        elif not _PLAIN_KEY.fullmatch(part):
            text += f"[{json.dumps(part, ensure_ascii=False)}]"
        else:
            text += f".{part}" if text else part
    return text


def undotted(text: str) -> Path:
    """The path of what `dotted` writes; text in another form gives the path as far as it can be told."""
    path: list[str | int] = []
    for match in _PART.finditer(text):
        quoted, index, name = match.groups()
        if quoted is not None:
            path.append(json.loads(quoted))
        else:
            path.append(int(index) if index is not None else name)
    return tuple(path)
