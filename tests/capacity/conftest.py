"""Fixtures for capacity: a control plane in memory."""

from __future__ import annotations

import pytest
from capacity_fleet import FakeControlPlane, cluster, node


@pytest.fixture
def server() -> FakeControlPlane:
    """One ready cluster with two empty nodes."""
    return FakeControlPlane(
        clusters=[cluster("cluster-1")],
        members={"cluster-1": {"nodes": [node("n1"), node("n2")], "pods": [], "jobs": []}},
    )
