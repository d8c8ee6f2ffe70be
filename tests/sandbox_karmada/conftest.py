"""A running embedded control plane with small members, and short ways to speak to it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pytest
from karmada_objects import namespace

from gitops_vg.objects import key_of
from gitops_vg.sandbox import Sandbox
from gitops_vg.sandbox.api import Api
from gitops_vg.sandbox.members import MemberSpec, NodeSpec
from gitops_vg.sandbox.status import StatusError

Body = dict[str, Any]
PATIENCE = 5.0
"""Seconds that the control plane may take for what it does by itself."""


@dataclass
class World:
    """A sandbox in which objects are written and awaited."""

    sandbox: Sandbox

    def api(self, server: str = "karmada-apiserver") -> Api:
        return self.sandbox.apis[server]

    def apply(self, body: Mapping[str, Any], *, server: str = "karmada-apiserver") -> Body:
        key, api = key_of(body), self.api(server)
        kind = api.kind(key.group, key.kind)
        return self.sandbox.call(
            lambda: api.apply(kind, key.namespace, key.name, dict(body), manager="gitops-vg", force=True)
        )

    def get(self, group: str, kind: str, namespace: str, name: str, *, server: str = "karmada-apiserver") -> Body:
        api = self.api(server)
        return self.sandbox.call(lambda: api.find(api.kind(group, kind), namespace, name) or {})

    def list(self, group: str, kind: str, *, namespace: str = "", server: str = "karmada-apiserver") -> list[Body]:
        api = self.api(server)
        return self.sandbox.call(lambda: api.list(api.kind(group, kind), namespace=namespace))

    def delete(self, group: str, kind: str, namespace: str, name: str, *, server: str = "karmada-apiserver") -> Body:
        api = self.api(server)
        return self.sandbox.call(lambda: api.delete(api.kind(group, kind), namespace, name))

    def refusal(self, work: Callable[[], Any]) -> str:
        """The words with which the server refuses."""
        with pytest.raises(StatusError) as caught:
            work()
        return caught.value.message

    def eventually(self, check: Callable[[], Any]) -> Any:
        """What `check` gives once it gives something."""
        end = time.monotonic() + PATIENCE
        while not (found := check()) and time.monotonic() < end:
            time.sleep(0.02)
        assert found, "did not happen in time"
        return found

    def binding(self, name: str) -> Body:
        return self.get("work.karmada.io", "ResourceBinding", "ml", name)

    def clusters_of(self, name: str) -> dict[str, int]:
        targets = self.binding(name).get("spec", {}).get("clusters") or []
        return {target["name"]: target.get("replicas", 0) for target in targets}


@pytest.fixture
def world() -> Iterator[World]:
    """Two members: north with two nodes (16 CPU, 8 GPUs; 8 CPU), south with one of 16 CPU."""
    north = MemberSpec(
        "north",
        (
            NodeSpec("n1", {"cpu": "16", "memory": "64Gi", "pods": "110", "nvidia.com/gpu": "8"}, {"pool": "gpu"}),
            NodeSpec("n2", {"cpu": "8", "memory": "32Gi", "pods": "110"}),
        ),
        region="cn-north",
        labels={"colocation": "ready"},
    )
    south = MemberSpec("south", (NodeSpec("n1", {"cpu": "16", "memory": "64Gi", "pods": "110"}),), region="cn-south")
    with Sandbox.start(members=(north, south), tls=False, job_seconds=0.6) as sandbox:
        world = World(sandbox)
        world.eventually(
            lambda: (
                len(world.list("cluster.karmada.io", "Cluster")) == 2
                and all(
                    (cluster.get("status") or {}).get("resourceSummary") and not cluster["spec"].get("taints")
                    for cluster in world.list("cluster.karmada.io", "Cluster")
                )
            )
        )
        world.apply(namespace())
        yield world
