"""Finds and opens the files of a fleet: nothing outside its folder, nothing huge, nothing binary."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from gitops_vg.findings import Finding, Location, Severity
from gitops_vg.intents.yaml import MAX_BYTES

FLEET_FILE = "gitops-vg.yaml"
FOLDERS = ("clusters", "policies", "workloads")
_SUFFIXES = (".yaml", ".yml")


def intent_files(root: Path) -> Iterator[Path]:
    """The files that may hold intents, sorted, as paths below `root`; hidden ones are left out."""
    if (root / FLEET_FILE).exists():
        yield Path(FLEET_FILE)
    for folder in FOLDERS:
        for parent, folders, files in os.walk(root / folder, followlinks=False):
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            # A folder or a link that is named like a file is somebody's mistake: it is opened, and refused by name.
            named = [*files, *(name for name in folders if name.endswith(_SUFFIXES))]
            for name in sorted(named):
                if name.endswith(_SUFFIXES) and not name.startswith("."):
                    yield (Path(parent) / name).relative_to(root)


def read_text(root: Path, file: Path) -> str | Finding:
    """The text of a file below `root`, or the finding that says why there is none."""
    path = root / file

    def problem(code: str, message: str, fix: str) -> Finding:
        return Finding(code, Severity.ERROR, Location(file.as_posix()), message, fix)

    try:
        if not path.resolve().is_relative_to(root.resolve()):
            return problem("GVG110", "a link that leads out of the fleet's folder", "put the file itself here")
        if path.is_dir():
            return problem("GVG101", "a folder where a file is expected", "rename the folder, or write a file")
        if not path.is_file():
            return problem("GVG101", "not a regular file (or a link to nothing)", "write a file")
        size = path.stat().st_size
        if size > MAX_BYTES:
            return problem("GVG102", f"{size} bytes are more than the {MAX_BYTES} that are read", "split the file")
        raw = path.read_bytes()
    except OSError as error:
        return problem("GVG101", f"cannot be read: {error.strerror}", "check that it is there and its permissions")
    if b"\0" in raw[:1024] and not raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        return problem("GVG103", "binary data, not text", "write YAML as UTF-8 text")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = raw[: error.start]
        at = Location(file.as_posix(), before.count(b"\n") + 1, error.start - before.rfind(b"\n"))
        return Finding("GVG103", Severity.ERROR, at, "not UTF-8 text", "save the file as UTF-8")
