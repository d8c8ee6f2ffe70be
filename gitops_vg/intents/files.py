"""Finds and opens the files of a fleet: nothing outside its folder, nothing huge, nothing binary.

What cannot be read is always a finding: a folder that is skipped in silence would look like
intents that were deleted.
"""

from __future__ import annotations

import os
from pathlib import Path

from gitops_vg.findings import Finding, Location, Severity
from gitops_vg.intents.yaml import MAX_BYTES

FLEET_FILE = "gitops-vg.yaml"
FOLDERS = ("clusters", "policies", "workloads")
_SUFFIXES = (".yaml", ".yml")
_UTF16 = (b"\xff\xfe", b"\xfe\xff")


def intent_files(root: Path) -> tuple[tuple[Path, ...], tuple[Finding, ...]]:
    """The files that may hold intents, as paths below `root`, and the folders that could not be searched.

    Hidden files and folders are left out.
    """
    files = [Path(FLEET_FILE)] if os.path.lexists(root / FLEET_FILE) else []
    findings: list[Finding] = []

    def unsearchable(error: OSError) -> None:
        if not isinstance(error, FileNotFoundError):
            where = Path(error.filename or root).relative_to(root)
            findings.append(_finding("GVG101", where, f"cannot be searched: {error.strerror}", "check its permissions"))

    for folder in FOLDERS:
        for parent, folders, names in os.walk(root / folder, onerror=unsearchable):
            here = Path(parent).relative_to(root)
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            findings += [
                _finding(
                    "GVG110", here / name, "a link to a folder, which is not followed", "put the folder itself here"
                )
                for name in folders
                if os.path.islink(root / here / name) and not name.endswith(_SUFFIXES)
            ]
            # A folder that is named like a file is somebody's mistake: it is opened, and refused by name.
            named = [*names, *folders]
            files += [here / name for name in sorted(named) if name.endswith(_SUFFIXES) and not name.startswith(".")]
    return tuple(files), tuple(findings)


def read_text(root: Path, file: Path) -> str | Finding:
    """The text of a file below `root`, or the finding that says why there is none."""
    path = root / file
    try:
        if not path.resolve().is_relative_to(root.resolve()):
            return _finding("GVG110", file, "a link that leads out of the fleet's folder", "put the file itself here")
        if path.is_dir():
            return _finding("GVG101", file, "a folder where a file is expected", "rename the folder, or write a file")
        if not path.is_file():
            return _finding("GVG101", file, "not a regular file (or a link to nothing)", "write a file")
        size = path.stat().st_size
        if size > MAX_BYTES:
            return _finding(
                "GVG102", file, f"{size} bytes are more than the {MAX_BYTES} that are read", "split the file"
            )
        with path.open("rb") as stream:
            raw = stream.read(MAX_BYTES + 1)
    except OSError as error:
        return _finding(
            "GVG101", file, f"cannot be read: {error.strerror}", "check that it is there, and its permissions"
        )
    except (RuntimeError, ValueError) as error:  # A link to itself (Python 3.11 and 3.12), a name with a null byte.
        return _finding("GVG101", file, f"cannot be read: {error}", "write a file")
    if b"\0" in raw and not raw.startswith(_UTF16):
        return _finding("GVG103", file, "binary data, not text", "write YAML as UTF-8 text")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = raw[: error.start]
        at = Location(file.as_posix(), before.count(b"\n") + 1, error.start - before.rfind(b"\n"))
        return Finding("GVG103", Severity.ERROR, at, "not UTF-8 text", "save the file as UTF-8")


def _finding(code: str, file: Path, message: str, fix: str) -> Finding:
    return Finding(code, Severity.ERROR, Location(file.as_posix()), message, fix)
