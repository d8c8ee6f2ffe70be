"""What a URL of an API server names."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import unquote

from gitops_vg.apis.catalog import Catalog, Kind


@dataclass(frozen=True)
class Target:
    """A resource or an object in it. `rest` is what follows a subresource (`proxy/api/v1/nodes`)."""

    kind: Kind
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    rest: str = ""


def target_of(path: str, *, catalog: Catalog) -> Target | None:
    """The target of `/api/v1/…` and `/apis/<group>/<version>/…`; None when nothing is served there."""
    parts = [unquote(part) for part in path.strip("/").split("/")]
    if parts[:2] == ["api", "v1"]:
        group, version, parts = "", "v1", parts[2:]
    elif parts[0] == "apis" and len(parts) > 3:
        group, version, parts = parts[1], parts[2], parts[3:]
    else:
        return None
    namespace = ""
    if len(parts) > 2 and parts[0] == "namespaces" and parts[2] not in ("status", "finalize"):
        namespace, parts = parts[1], parts[2:]
    if not parts:
        return None
    kind = catalog.find(group, version, parts[0])
    if kind is None or (namespace and not kind.namespaced):
        return None
    name = parts[1] if len(parts) > 1 else ""
    subresource = parts[2] if len(parts) > 2 else ""
    return Target(kind, namespace, name, subresource, "/".join(parts[3:]))
