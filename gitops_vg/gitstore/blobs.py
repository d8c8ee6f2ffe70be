"""Files in Git's object store: listed, read and written many at a time, each by one command."""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping
from hashlib import sha1, sha256
from typing import NamedTuple

from gitops_vg.errors import GitError
from gitops_vg.gitstore.git import Git

LINK_MODE = "120000"
FILE_MODES = frozenset({"100644", "100755"})
"""Modes of regular files; what else a tree may hold is links (`120000`) and submodules (`160000`)."""


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
    """Write the contents of files into the object store; path → id."""
    wide = git.text("rev-parse", "--show-object-format") == "sha256"
    ids = {path: _id(content, wide=wide) for path, content in files.items()}
    stream = io.BytesIO()
    for content in {ids[path]: content for path, content in files.items()}.values():
        stream.write(b"blob\ndata %d\n" % len(content) + content + b"\n")
    if files:
        git.run("fast-import", "--quiet", stdin=stream.getvalue())
    return ids


def _id(content: bytes, *, wide: bool) -> str:
    """The id that Git gives a blob; `wide` in repositories of the SHA-256 format."""
    head = b"blob %d\0" % len(content)
    return sha256(head + content).hexdigest() if wide else sha1(head + content, usedforsecurity=False).hexdigest()
