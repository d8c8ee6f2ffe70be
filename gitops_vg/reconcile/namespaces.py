"""What a namespace holds that is not ours: deleting it would take that along."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from typing import Any, Protocol

from gitops_vg.errors import ClusterError
from gitops_vg.objects import GroupKind, ObjectKey, key_of
from gitops_vg.reconcile.parallel import in_parallel

Live = dict[str, Any]

_AUTOMATIC = frozenset({("ConfigMap", "kube-root-ca.crt"), ("ServiceAccount", "default")})
"""What every namespace gets by itself."""
_DERIVED = frozenset(
    {
        GroupKind("", "Event"),
        GroupKind("events.k8s.io", "Event"),
        GroupKind("", "Endpoints"),
        GroupKind("discovery.k8s.io", "EndpointSlice"),
        GroupKind("work.karmada.io", "ResourceBinding"),
        GroupKind("work.karmada.io", "Work"),
    }
)
"""Kinds that controllers make of other objects."""


class Server(Protocol):
    """The part of an API server that looking into a namespace needs."""

    def namespaced_kinds(self) -> tuple[GroupKind, ...]: ...
    def list(self, group_kind: GroupKind, *, namespace: str = "", label_selector: str = "") -> list[Live]: ...


def foreign_content(server: Server, namespaces: Iterable[str], *, ours: Container[ObjectKey]) -> Iterator[str]:
    """A sentence for each namespace that holds what is not ours, or whose content cannot be seen.

    Every kind that the server serves is listed: what we never apply may lie there all the same.
    """
    names = sorted(namespaces)
    if not names:
        return
    try:
        kinds = [kind for kind in server.namespaced_kinds() if kind not in _DERIVED]
    except ClusterError as error:
        yield f"what Namespace {names[0]} holds cannot be seen: {error.message}"
        return

    def read(place: tuple[str, GroupKind]) -> list[Live] | ClusterError:
        try:
            return server.list(place[1], namespace=place[0])
        except ClusterError as error:
            return error

    told: set[str] = set()
    for (name, kind), found in in_parallel(read, [(name, kind) for name in names for kind in kinds]):
        if isinstance(found, ClusterError):
            reason = f"whether Namespace {name} holds any {kind} cannot be seen: {found.message}"
        else:
            foreign = sorted(key_of(body) for body in found if not _belongs(key_of(body), body, ours=ours))
            reason = f"Namespace {name} holds {foreign[0]}, which is not ours" if foreign else ""
        if reason and name not in told:
            told.add(name)
            yield reason


def _belongs(key: ObjectKey, body: Mapping[str, Any], *, ours: Container[ObjectKey]) -> bool:
    """Ours, automatic, or owned by another object (which is judged itself)."""
    automatic = (key.kind, key.name) in _AUTOMATIC
    return key in ours or automatic or bool(body["metadata"].get("ownerReferences"))
