"""Capturing a running control plane: real requests through its proxies, and what breaks them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from capacity_fleet import intents_of

from gitops_vg.capacity import Snapshot, collect, quantised, snapshot_from_json, snapshot_to_json
from gitops_vg.errors import Forbidden
from gitops_vg.kube import ApiServer, connect
from gitops_vg.sandbox import Sandbox, sample_members

CLUSTERS = tuple(member.name for member in sample_members())
API = "/apis/cluster.karmada.io/v1alpha1/clusters"


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox.start(tls=False) as running:
        server = connect(kubeconfig=str(running.kubeconfig))
        deadline = time.monotonic() + 20
        while any(cluster.problem for cluster in captured(server).clusters):
            assert time.monotonic() < deadline, "the members did not become ready"
            time.sleep(0.1)
        yield running


@pytest.fixture
def server(sandbox: Sandbox) -> Iterator[ApiServer]:
    yield connect(kubeconfig=str(sandbox.kubeconfig))
    sandbox.server.faults.clear()


def captured(server: ApiServer) -> Snapshot:
    return collect(server, intents_of(clusters=CLUSTERS), now=datetime.now(UTC))


def test_every_node_of_every_member_is_seen(server):
    snapshot = captured(server)

    for member in sample_members():
        cluster = snapshot.cluster[member.name]
        assert (cluster.node_source, cluster.problem) == ("nodes", "")
        assert [node.name for node in cluster.nodes] == sorted(node.name for node in member.nodes)
        assert cluster.allocatable == cluster.capacity
        assert cluster.kinds is not None
        assert "Job.batch.volcano.sh" in cluster.kinds


def test_the_captured_snapshot_survives_rounding_and_the_way_through_a_file(server):
    snapshot = quantised(captured(server))

    assert snapshot_from_json(snapshot_to_json(snapshot)) == snapshot
    assert quantised(captured(server)).digest == snapshot.digest


def test_a_member_whose_pods_cannot_be_read_is_counted_from_karmadas_report(sandbox, server):
    sandbox.server.faults.fail("GET", f"{API}/cluster-2/proxy/api/v1/pods", status=403)

    snapshot = captured(server)

    broken = snapshot.cluster["cluster-2"]
    assert broken.node_source in ("models", "summary")
    assert broken.warnings == ("its nodes could not be read (Forbidden); counted from what Karmada last reported",)
    assert 0 < broken.allocatable["cpu"] <= broken.capacity["cpu"]
    assert sum(node.free["cpu"] for node in broken.nodes) <= broken.allocatable["cpu"]
    assert snapshot.cluster["cluster-1"].node_source == "nodes"


def test_clusters_that_may_not_be_listed_are_an_error(sandbox, server):
    sandbox.server.faults.fail("GET", API, status=403)

    with pytest.raises(Forbidden):
        captured(server)
