"""The client under test, against the embedded API server over real HTTPS with faults on order."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gitops_vg.kube import ApiServer, connect
from gitops_vg.sandbox import KARMADA, Sandbox


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox.start(karmada=False, members=()) as running:
        yield running


@pytest.fixture
def server(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> Iterator[ApiServer]:
    monkeypatch.setattr("gitops_vg.kube.transport._FIRST_PAUSE", 0.01)
    monkeypatch.setattr("gitops_vg.kube.transport._LONGEST_PAUSE", 0.05)
    yield connect(kubeconfig=str(sandbox.kubeconfig), context=KARMADA)
    sandbox.server.faults.clear()
