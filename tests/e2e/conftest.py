"""The real control plane for the chain from `validate` to drift repair."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from gitops_vg import pipeline
from gitops_vg.capacity import Snapshot
from gitops_vg.demo import FLEET
from gitops_vg.gitstore import Repository, start_repository
from gitops_vg.kube import ApiServer, connect
from gitops_vg.sandbox import KARMADA, Sandbox

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "controlplane"))

from realserver import CONTEXT, RawClient, binaries, real_server


@pytest.fixture(scope="module", params=["sandbox", pytest.param("real", marks=pytest.mark.e2e)])
def server(request: pytest.FixtureRequest) -> Iterator[ApiServer]:
    """A karmada-apiserver: the embedded one, or a real kube-apiserver with Karmada's kinds as CRDs."""
    if request.param == "sandbox":
        with Sandbox.start() as sandbox:
            yield connect(kubeconfig=str(sandbox.kubeconfig), context=KARMADA)
        return
    folder = binaries()
    if folder is None:
        pytest.skip("the real control plane is not built: run scripts/build_controlplane.sh")
    with real_server(folder) as endpoint:
        _register_clusters(RawClient(endpoint))
        yield connect(kubeconfig=str(endpoint.kubeconfig), context=CONTEXT)


def _register_clusters(client: RawClient) -> None:
    """The Cluster objects of the sample fleet, as joining the members would create them."""
    path = "/apis/cluster.karmada.io/v1alpha1/clusters"
    for name, region in (("cluster-1", "cn-north"), ("cluster-2", "cn-east"), ("cluster-3", "cn-south")):
        body = {"apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster", "metadata": {"name": name},
                "spec": {"syncMode": "Push", "region": region}}  # fmt: skip
        assert client.request("POST", path, body=body)[0] == 201


@pytest.fixture(scope="session")
def snapshot(repository_root: Path) -> Snapshot:
    """Capacity of the sample fleet's members: a plain API server has none behind it, so it comes from the embedded one."""
    intents = pipeline.load(repository_root)
    with Sandbox.start() as sandbox:
        server = connect(kubeconfig=str(sandbox.kubeconfig), context=KARMADA)
        deadline = time.monotonic() + 15
        while time.monotonic() < deadline:
            taken = pipeline.capture(server, intents, now=pipeline.utc_now())
            if not any(cluster.problem for cluster in taken.clusters):
                return taken
            time.sleep(0.1)
    raise AssertionError("the embedded members never became ready")


@pytest.fixture
def fleet(tmp_path: Path, repository_root: Path) -> Repository:
    """The sample fleet in a repository of its own."""
    for name in FLEET:
        source = repository_root / name
        (shutil.copytree if source.is_dir() else shutil.copy)(source, tmp_path / name)  # type: ignore[operator]
    return start_repository(tmp_path, message="intents")
