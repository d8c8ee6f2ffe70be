"""One API server: reads that are complete or fail, writes by server-side apply, watches that last."""

from __future__ import annotations

import builtins
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from urllib.parse import quote

from gitops_vg.errors import ClusterError, Expired, KindMissing, NotFound
from gitops_vg.kube.transport import Transport
from gitops_vg.objects import FIELD_MANAGER, GroupKind, Manifest, ObjectKey, key_of

Live = dict[str, Any]
"""An object as the server gave it."""

_PAGE = 500
_SILENCE = 70.0
"""Seconds without a byte after which a watch is taken for dead; bookmarks come every minute."""
_WATCH_SECONDS = 290


@dataclass(frozen=True)
class Resource:
    """Where a kind is served."""

    api_version: str
    plural: str
    namespaced: bool

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
class WatchEvent:
    """ADDED, MODIFIED or DELETED."""

    type: str
    object: Live


class ApiServer:
    """One API server over HTTP: the only place that speaks to it. Safe for many threads.

    Raises, beside what each method says: Forbidden, Unavailable (no usable answer, the outcome of a
    write is unknown).
    """

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    @property
    def host(self) -> str:
        return self._transport.host

    # ------------------------------------------------------------ what is served

    @cached_property
    def _resources(self) -> Mapping[GroupKind, Resource]:
        """Every kind that is served. A group whose discovery fails raises: absence must be proven."""
        found: dict[GroupKind, Resource] = {}
        for place in ("/api", "/apis"):
            accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"
            answer = self._transport.request("GET", place, what="discovery", accept=accept)
            if answer.get("kind") != "APIGroupDiscoveryList":
                raise ClusterError(
                    f"{self.host} does not speak aggregated discovery",
                    hint="Kubernetes 1.30 or newer is needed; is this the address of an API server?",
                )
            for group in answer.get("items", []):
                self._note_group(group, found)
        return found

    def _note_group(self, group: Mapping[str, Any], found: dict[GroupKind, Resource]) -> None:
        name = (group.get("metadata") or {}).get("name", "")
        for version in group.get("versions", []):
            if version.get("freshness") == "Stale":
                # An aggregated API that does not answer: its kinds are unknown, not absent.
                continue
            api_version = f"{name}/{version['version']}" if name else version["version"]
            for resource in version.get("resources", []):
                kind = (resource.get("responseKind") or {}).get("kind", "")
                resource_of = Resource(api_version, resource["resource"], resource["scope"] == "Namespaced")
                found.setdefault(GroupKind(name, kind), resource_of)

    def serves(self, group_kind: GroupKind) -> bool:
        """Whether the server serves this kind."""
        return group_kind in self._resources

    def require_karmada(self) -> None:
        """Raises KindMissing when this is not a karmada-apiserver."""
        needed = (GroupKind("policy.karmada.io", "PropagationPolicy"), GroupKind("cluster.karmada.io", "Cluster"))
        missing = [str(kind) for kind in needed if not self.serves(kind)]
        if missing:
            raise KindMissing(
                f"{self.host} is not a karmada-apiserver: it does not serve {' and '.join(missing)}",
                hint="name the context of karmada-apiserver with --context; a member's API server is not it",
            )

    def forget_discovery(self) -> None:
        """Ask the server again what it serves, at the next need."""
        self.__dict__.pop("_resources", None)

    def _resource(self, group_kind: GroupKind) -> Resource:
        resource = self._resources.get(group_kind)
        if resource is None:
            self.forget_discovery()
            resource = self._resources.get(group_kind)
        if resource is None:
            raise KindMissing(
                f"{self.host} does not serve {group_kind}", hint="is its CRD installed in karmada-apiserver?"
            )
        return resource

    # ------------------------------------------------------------ reading

    def get(self, key: ObjectKey) -> Live | None:
        """The object; None only when the server says that it is not there. Raises KindMissing."""
        path = self._resource(key.group_kind).path(key.namespace, key.name)
        try:
            live: Live = self._transport.request("GET", path, what=f"read {key}")
        except NotFound:
            return None
        return live

    def list(self, group_kind: GroupKind, *, namespace: str = "", label_selector: str = "") -> list[Live]:
        """All objects of a kind: every page, or an error. Raises KindMissing."""
        return self.list_with_version(group_kind, namespace=namespace, label_selector=label_selector)[0]

    def list_with_version(
        self, group_kind: GroupKind, *, namespace: str = "", label_selector: str = ""
    ) -> tuple[builtins.list[Live], str]:
        """`list`, and the version from which a watch continues."""
        try:
            return self._pages(group_kind, namespace, label_selector)
        except Expired:
            # The pages took too long and the list has moved on: once more from the start.
            return self._pages(group_kind, namespace, label_selector)

    def _pages(self, group_kind: GroupKind, namespace: str, label_selector: str) -> tuple[builtins.list[Live], str]:
        resource = self._resource(group_kind)
        items: builtins.list[Live] = []
        query = {"limit": str(_PAGE)}
        if label_selector:
            query["labelSelector"] = label_selector
        while True:
            page = self._transport.request("GET", resource.path(namespace), what=f"list of {group_kind}", query=query)
            if not isinstance(page, dict) or not isinstance(page.get("items", []), list) or "metadata" not in page:
                raise ClusterError(f"list of {group_kind}: the answer is not a list", hint="is this an API server?")
            for item in page.get("items") or []:
                # Lists leave out what they say themselves.
                items.append({"apiVersion": resource.api_version, "kind": group_kind.kind, **item})
            token = page["metadata"].get("continue")
            if not token:
                return items, page["metadata"].get("resourceVersion", "")
            query["continue"] = token

    def get_path(self, path: str, *, query: Mapping[str, str] | None = None) -> Any:
        """The answer of a path as it is (a cluster's proxy, /version)."""
        return self._transport.request("GET", path, what=f"read {path}", query=query)

    def watch(self, group_kind: GroupKind, *, resource_version: str, namespace: str = "") -> Iterator[WatchEvent]:
        """Events from a version on, over as many connections as it takes.

        Ends never by itself. Raises Expired when the version is too old (list again), Unavailable when
        a connection cannot be made.
        """
        path = self._resource(group_kind).path(namespace)
        version = resource_version
        while True:
            query = {
                "watch": "1", "resourceVersion": version, "allowWatchBookmarks": "true",
                "timeoutSeconds": str(_WATCH_SECONDS),
            }  # fmt: skip
            for line in self._transport.lines(path, what=f"watch of {group_kind}", query=query, silence=_SILENCE):
                event = json.loads(line)
                body = event["object"]
                if event["type"] == "ERROR":
                    if body.get("code") == 410:
                        raise Expired(f"watch of {group_kind}: {body.get('message', '')}", status=410, reason="Expired")
                    raise ClusterError(f"watch of {group_kind}: {body.get('message', '')}", status=body.get("code", 0))
                version = body["metadata"]["resourceVersion"]
                if event["type"] != "BOOKMARK":
                    yield WatchEvent(event["type"], body)

    # ------------------------------------------------------------ writing

    def apply(self, manifest: Manifest, *, dry_run: bool = False, force: bool = True) -> Live:
        """Server-side apply under our name; the object as it is then.

        Raises Conflict (without force), Rejected, Denied, NotFound (its namespace), KindMissing.
        """
        key = manifest.key
        path = self._resource(key.group_kind).path(key.namespace, key.name)
        query = {"fieldManager": FIELD_MANAGER, "force": "true" if force else "false", "fieldValidation": "Strict"}
        if dry_run:
            query["dryRun"] = "All"
        live: Live = self._transport.request(
            "PATCH", path, what=f"{'dry run of ' if dry_run else 'apply '}{key}", query=query, body=manifest.body,
            content_type="application/apply-patch+yaml",
        )  # fmt: skip
        return live

    def create(self, body: Live) -> Live:
        """Create an object. Raises AlreadyExists, Rejected, Denied. Never sent twice."""
        key = key_of(body)
        path = self._resource(key.group_kind).path(key.namespace)
        live: Live = self._transport.request(
            "POST", path, what=f"create {key}", query={"fieldManager": FIELD_MANAGER}, body=body, idempotent=False
        )
        return live

    def replace(self, body: Live) -> Live:
        """Replace an object at its resourceVersion (our own bookkeeping only). Raises VersionConflict, NotFound."""
        key = key_of(body)
        path = self._resource(key.group_kind).path(key.namespace, key.name)
        live: Live = self._transport.request(
            "PUT", path, what=f"write {key}", query={"fieldManager": FIELD_MANAGER}, body=body, idempotent=False
        )
        return live

    def json_patch(self, key: ObjectKey, operations: Sequence[Mapping[str, Any]], *, dry_run: bool = False) -> Live:
        """Change single fields. Guard it by a `test` of resourceVersion. Raises Rejected, NotFound, Denied."""
        path = self._resource(key.group_kind).path(key.namespace, key.name)
        query = {"fieldManager": FIELD_MANAGER, **({"dryRun": "All"} if dry_run else {})}
        live: Live = self._transport.request(
            "PATCH", path, what=f"change {key}", query=query, body=list(operations),
            content_type="application/json-patch+json", idempotent=False,
        )  # fmt: skip
        return live

    def delete(self, key: ObjectKey, *, uid: str, resource_version: str | None = None, dry_run: bool = False) -> None:
        """Delete exactly the object with this uid; one that is gone already is fine.

        Raises VersionConflict when another object has the name now, Denied when it is protected.
        """
        preconditions = {"uid": uid, **({"resourceVersion": resource_version} if resource_version else {})}
        options: Live = {
            "apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background",
            "preconditions": preconditions,
        }  # fmt: skip
        query = {"dryRun": "All"} if dry_run else None
        path = self._resource(key.group_kind).path(key.namespace, key.name)
        try:
            self._transport.request("DELETE", path, what=f"delete {key}", query=query, body=options)
        except NotFound:
            return
