"""Files in Git's object store: listed, read and written many at a time, each by one command."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from gitops_vg.errors import GitError
from gitops_vg.gitstore.git import Git

LINK_MODE = "120000"
FILE_MODES = frozenset({"100644", "100755"})
"""Modes of regular files; what else a tree may hold is links (`120000`) and submodules (`160000`)."""

_FEW = 100
"""Objects that are written one by one; git itself unpacks packs of fewer (fastimport.unpackLimit)."""


class Entry(NamedTuple):
    """One file of a tree: its mode as Git writes it, and the id of its content."""

    mode: str
    blob: str


def entries(git: Git, tree: str) -> dict[str, Entry]:
    """Path → entry of everything in a tree or commit, in all its folders."""
    raw = git.run("ls-tree", "-r", "-z", "--full-tree", "--end-of-options", tree)
    found = {}
    for line in raw.decode("utf-8", "surrogateescape").split("\0"):
        if line:
            about, path = line.split("\t", 1)
            mode, _, blob = about.split()
            found[path] = Entry(mode, blob)
    return found


def contents(git: Git, blobs: Iterable[str]) -> dict[str, bytes]:
    """The contents of blobs by their ids. Raises GitError for one that is not there."""
    wanted = list(dict.fromkeys(blobs))
    if not wanted:
        return {}
    raw = git.run("cat-file", "--batch", stdin="".join(f"{blob}\n" for blob in wanted).encode())
    found, position = {}, 0
    for blob in wanted:
        end = raw.index(b"\n", position)
        header = raw[position:end].split()
        if len(header) != 3:
            raise GitError(
                f"object {blob[:12]} is missing from the repository",
                hint="run `git fsck`; fetch it from another clone, or clone anew",
            )
        start = end + 1
        position = start + int(header[2]) + 1
        found[blob] = raw[start : position - 1]
    return found


def store(git: Git, files: Mapping[str, bytes]) -> dict[str, str]:
    """Write the contents of files into the object store; path → id.

    Many go into one pack; for a few that would cost more than it saves (it compresses twice).
    """
    with tempfile.TemporaryDirectory(prefix="gitops-vg-blobs-") as folder:
        write = _store_few if len(files) <= _FEW else _store_many
        return dict(zip(files, write(git, list(files.values()), Path(folder)), strict=True))


def _store_few(git: Git, found: Sequence[bytes], folder: Path) -> list[str]:
    paths = [folder / str(number) for number in range(len(found))]
    for path, content in zip(paths, found, strict=True):
        path.write_bytes(content)
    stdin = "".join(f"{path}\n" for path in paths).encode()
    return git.run("hash-object", "-w", "--no-filters", "--stdin-paths", stdin=stdin).decode().split()


def _store_many(git: Git, found: Sequence[bytes], folder: Path) -> list[str]:
    stream = io.BytesIO()
    for number, content in enumerate(found, start=1):
        stream.write(b"blob\nmark :%d\ndata %d\n" % (number, len(content)) + content + b"\n")
    marks = folder / "marks"
    git.run("fast-import", "--quiet", f"--export-marks={marks}", stdin=stream.getvalue())
    ids = dict(line.split() for line in marks.read_text().splitlines())
    return [ids[f":{number}"] for number in range(1, len(found) + 1)]
