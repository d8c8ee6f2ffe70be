"""The servers that the contract tests run on: the embedded one always, the real one in `make test-e2e`."""

from __future__ import annotations

import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from gitops_vg.sandbox import Sandbox

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "controlplane"))

from realserver import Endpoint, RawClient, binaries, real_server


@pytest.fixture(scope="session", params=["sandbox", pytest.param("real", marks=pytest.mark.e2e)])
def endpoint(request: pytest.FixtureRequest) -> Iterator[Endpoint]:
    """One API server, without Karmada's controllers: the contract is that of a plain kube-apiserver."""
    if request.param == "sandbox":
        with Sandbox.start(karmada=False, members=()) as sandbox:
            assert sandbox.authority is not None
            yield Endpoint(sandbox.url(), sandbox.token, sandbox.authority, sandbox.kubeconfig)
        return
    folder = binaries()
    if folder is None:
        pytest.skip("the real control plane is not built: run scripts/build_controlplane.sh")
    with real_server(folder) as real:
        yield real


@pytest.fixture(scope="session")
def client(endpoint: Endpoint) -> RawClient:
    return RawClient(endpoint)


@pytest.fixture
def namespace(client: RawClient) -> Iterator[str]:
    """A namespace of its own for each test."""
    name = f"t-{uuid.uuid4().hex[:10]}"
    status, _ = client.request(
        "POST", "/api/v1/namespaces", body={"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    )
    assert status == 201
    yield name
    client.request("DELETE", f"/api/v1/namespaces/{name}")
