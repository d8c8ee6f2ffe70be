"""What an API server serves, in every version, and which groups did not answer when it was asked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from gitops_vg.errors import ClusterError
from gitops_vg.kube.transport import Transport
from gitops_vg.objects import GroupKind

_AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"


@dataclass(frozen=True)
class Resource:
    """Where a kind is served in one version."""

    api_version: str
    plural: str
    namespaced: bool
    verbs: frozenset[str] = frozenset()

    def path(self, namespace: str = "", name: str = "") -> str:
        root = "/api/v1" if self.api_version == "v1" else f"/apis/{self.api_version}"
        parts = [root]
        if self.namespaced and namespace:
            parts.append(f"namespaces/{quote(namespace, safe='')}")
        parts.append(self.plural)
        if name:
            parts.append(quote(name, safe=""))
        return "/".join(parts)


@dataclass(frozen=True)
class Discovery:
    """Every kind with its versions, the preferred one first.

    `silent` are groups with an aggregated API that did not answer: what they serve is unknown, not nothing.
    """

    resources: Mapping[GroupKind, tuple[Resource, ...]]
    silent: frozenset[str] = frozenset()


def discover(transport: Transport) -> Discovery:
    """Ask the server. Raises ClusterError for one without aggregated discovery (before Kubernetes 1.30)."""
    found: dict[GroupKind, tuple[Resource, ...]] = {}
    silent: set[str] = set()
    for place in ("/api", "/apis"):
        answer = transport.request("GET", place, what="discovery", accept=_AGGREGATED)
        if not isinstance(answer, dict) or answer.get("kind") != "APIGroupDiscoveryList":
            raise ClusterError(
                f"{transport.host} does not speak aggregated discovery",
                hint="Kubernetes 1.30 or newer is needed; is this the address of an API server?",
            )
        for group in answer.get("items") or ():
            name = (group.get("metadata") or {}).get("name", "")
            for version in group.get("versions") or ():
                if version.get("freshness") == "Stale":
                    silent.add(name)
                for kind, resource in _resources(name, version):
                    found[kind] = (*found.get(kind, ()), resource)
    return Discovery(found, frozenset(silent))


def _resources(group: str, version: Mapping[str, Any]) -> Iterator[tuple[GroupKind, Resource]]:
    api_version = f"{group}/{version['version']}" if group else version["version"]
    for resource in version.get("resources") or ():
        kind = (resource.get("responseKind") or {}).get("kind", "")
        verbs = frozenset(resource.get("verbs") or ())
        yield (
            GroupKind(group, kind),
            Resource(api_version, resource["resource"], resource["scope"] == "Namespaced", verbs),
        )
