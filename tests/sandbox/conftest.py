"""A plain API server of the sandbox over HTTP."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from sandbox_client import CONFIG_MAPS, Client

from gitops_vg.sandbox import Sandbox


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox.start(members=(), karmada=False, tls=False) as running:
        yield running


@pytest.fixture
def client(sandbox: Sandbox) -> Iterator[Client]:
    """A connection of its own to an empty namespace `default`."""
    client = Client(sandbox.server.port, sandbox.token)
    client.request("DELETE", CONFIG_MAPS)
    yield client
    client.close()
    sandbox.server.faults.clear()
