"""Reading a member cluster through Karmada's proxy: its nodes, pods and Volcano Jobs.

All or nothing: a list that breaks off half way is a failed read, never a small cluster.
"""

from __future__ import annotations

import builtins
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from gitops_vg.errors import Expired, KindMissing, NotFound, Unavailable
from gitops_vg.objects import GroupKind

Object = Mapping[str, Any]

PAGE = 500
"""Objects a request, as kubectl asks for."""

_MOST_PAGES = 2_000
"""One million pods: beyond what Kubernetes supports in one cluster, so a server that never ends its list."""


class ControlPlane(Protocol):
    """What reading capacity needs of an API server (`gitops_vg.kube.ApiServer` has it)."""

    def list(
        self, group_kind: GroupKind, *, namespace: str = "", label_selector: str = ""
    ) -> builtins.list[dict[str, Any]]:
        """All objects of a kind, or an error."""
        ...

    def get_path(self, path: str, *, query: Mapping[str, str] | None = None) -> Any:
        """The answer to GET of a raw path."""
        ...


@dataclass(frozen=True)
class MemberObjects:
    """Everything read of one member. `jobs` is None when the member serves no Volcano Jobs."""

    nodes: tuple[Object, ...]
    pods: tuple[Object, ...]
    jobs: tuple[Object, ...] | None


def read_member(server: ControlPlane, cluster: str) -> MemberObjects:
    """Nodes, pods and Volcano Jobs of `cluster`.

    Raises ClusterError when any of the lists could not be read to its end; only a member
    that says that it does not know Volcano Jobs is read without them.
    """
    proxy = f"/apis/cluster.karmada.io/v1alpha1/clusters/{cluster}/proxy"
    nodes = _all(server, f"{proxy}/api/v1/nodes")
    pods = _all(server, f"{proxy}/api/v1/pods")
    try:
        jobs = _all(server, f"{proxy}/apis/batch.volcano.sh/v1alpha1/jobs")
    except (NotFound, KindMissing):
        jobs = None
    return MemberObjects(nodes=nodes, pods=pods, jobs=jobs)


def _all(server: ControlPlane, path: str) -> tuple[Object, ...]:
    """Every page of a list; starts anew once when the list became too old while it was read."""
    try:
        return _pages(server, path)
    except Expired:
        return _pages(server, path)


def _pages(server: ControlPlane, path: str) -> tuple[Object, ...]:
    objects: list[Object] = []
    token = ""
    for _ in range(_MOST_PAGES):
        query = {"limit": str(PAGE), **({"continue": token} if token else {})}
        page = server.get_path(path, query=query)
        objects.extend(_items(page, path=path))
        token = (page.get("metadata") or {}).get("continue") or ""
        if not token:
            return tuple(objects)
    raise Unavailable(f"the list {path} does not end after {_MOST_PAGES * PAGE} objects", reason="EndlessList")


def _items(page: Any, *, path: str) -> builtins.list[Object]:
    """The objects of one page; whatever stands behind a proxy may answer anything."""
    if isinstance(page, Mapping) and str(page.get("kind", "")).endswith("List"):
        items = page.get("items") or []
        if isinstance(items, list) and all(_has_name(item) for item in items):
            return items
    raise Unavailable(f"the answer to {path} is not a list of objects", reason="NotAList")


def _has_name(item: Any) -> bool:
    metadata = item.get("metadata") if isinstance(item, Mapping) else None
    return isinstance(metadata, Mapping) and isinstance(metadata.get("name"), str)
