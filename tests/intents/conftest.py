"""Fixtures of the tests of reading."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from intents_folder import Folder


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


@pytest.fixture
def make_folder(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Folder]:
    return lambda: Folder(tmp_path_factory.mktemp("fleet"))
