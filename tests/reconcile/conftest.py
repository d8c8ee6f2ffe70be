"""A new control plane for each test of the reconciler."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from reconcile_world import World

from gitops_vg.kube import connect
from gitops_vg.sandbox import KARMADA, MemberSpec, NodeSpec, Sandbox


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    """A new control plane each time: safety tests must not lean on what another left."""
    monkeypatch.setattr("gitops_vg.kube.transport._FIRST_PAUSE", 0.01)
    monkeypatch.setattr("gitops_vg.kube.transport._LONGEST_PAUSE", 0.02)
    node = NodeSpec("n1", {"cpu": "64", "memory": "256Gi", "pods": "110"})
    with Sandbox.start(members=(MemberSpec("member1", (node,)),), job_seconds=600) as sandbox:
        yield World(sandbox, connect(kubeconfig=str(sandbox.kubeconfig), context=KARMADA))
