"""A folder is watched as a whole, and looked at again whatever events say."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from gitops_vg.controller.watching import FolderWatch


def _write(folder: Path) -> None:
    (folder / "new.yaml").write_text("a: 1")


def _replace(folder: Path) -> None:
    (folder / "other").write_text("a: 2")
    os.replace(folder / "other", folder / "old.yaml")


def _swap_mount(folder: Path) -> None:
    """What kubelet does to a mounted ConfigMap."""
    os.symlink("version-2", folder / "..data_tmp")
    os.replace(folder / "..data_tmp", folder / "..data")


@pytest.mark.parametrize("edit", [_write, _replace, _swap_mount])
def test_every_way_to_change_a_file_is_seen(tmp_path: Path, edit: object) -> None:
    assert callable(edit)
    (tmp_path / "old.yaml").write_text("a: 1")
    seen = threading.Event()

    with FolderWatch(tmp_path, changed=seen.set, poll=3600):
        edit(tmp_path)

        assert seen.wait(5)


def test_without_any_event_the_folder_is_looked_at_again(tmp_path: Path) -> None:
    looked = threading.Event()

    with FolderWatch(tmp_path, changed=looked.set, poll=0.01):
        assert looked.wait(5)
