"""Isolation for every test: no settings of the machine reach it, and nothing it does leaves it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog

_UNSET = (
    *("KUBECONFIG", "GITOPS_VG_FLEET", "FORCE_COLOR", "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"),
    *("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"),
)

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(autouse=True)
def isolated(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A home of its own, no kubeconfig, no proxies, no colour, git that reads no user's settings, fresh logging."""
    home = tmp_path_factory.mktemp("home")
    for name in _UNSET:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(home / "gitconfig"))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    yield
    structlog.reset_defaults()


@pytest.fixture(scope="session")
def repository_root() -> Path:
    """The top level of this project: the sample fleet."""
    return ROOT
