"""One API server: reads that are complete or fail, writes by server-side apply, watches that last."""

from __future__ import annotations

import builtins
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from gitops_vg.errors import ClusterError, Expired, KindMissing, NotFound, Unavailable
from gitops_vg.kube.discovery import Discovery, Resource, discover
from gitops_vg.kube.transport import Transport
from gitops_vg.objects import FIELD_MANAGER, GroupKind, Manifest, ObjectKey, key_of

Live = dict[str, Any]
"""An object as the server gave it."""

_PAGE = 500
_SILENCE = 70.0
"""Seconds without a byte after which a watch is taken for dead; bookmarks come every minute."""
_WATCH_SECONDS = 290
_WATCH_PAUSE = 1.0
"""Seconds at least between two connections of one watch."""


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
    def _discovery(self) -> Discovery:
        return discover(self._transport)

    def serves(self, group_kind: GroupKind) -> bool:
        """Whether the server serves this kind. Raises Unavailable when the kind's group does not answer."""
        discovery = self._discovery
        if group_kind in discovery.resources:
            return True
        if group_kind.group in discovery.silent:
            self.forget_discovery()
            raise Unavailable(
                f"{self.host}: the API group {group_kind.group} does not answer",
                hint="look at its APIService (`kubectl get apiservices`); until then nothing is known about its kinds",
            )
        return False

    def namespaced_kinds(self) -> tuple[GroupKind, ...]:
        """Every kind whose objects lie in namespaces and can be listed, asked anew.

        Raises Unavailable when a group does not answer: the answer would not be complete.
        """
        self.forget_discovery()
        discovery = self._discovery
        if discovery.silent:
            self.serves(GroupKind(min(discovery.silent), ""))
        return tuple(
            sorted(
                kind
                for kind, versions in discovery.resources.items()
                if versions[0].namespaced and "list" in versions[0].verbs
            )
        )

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
        self.__dict__.pop("_discovery", None)

    def _resource(self, group_kind: GroupKind, api_version: str = "") -> Resource:
        """Where a kind is served; in the preferred version unless one is named."""
        versions = self._versions(group_kind)
        if not api_version:
            return versions[0]
        found = next((resource for resource in versions if resource.api_version == api_version), None)
        if found is None:
            served = ", ".join(resource.api_version for resource in versions)
            raise KindMissing(
                f"{self.host} serves {group_kind} as {served}, not as {api_version}",
                hint="write a version that is served, or install a CRD that has this one",
            )
        return found

    def _versions(self, group_kind: GroupKind) -> tuple[Resource, ...]:
        if not self.serves(group_kind):
            # It may have been installed since we asked.
            self.forget_discovery()
        if not self.serves(group_kind):
            raise KindMissing(
                f"{self.host} does not serve {group_kind}", hint="is its CRD installed in karmada-apiserver?"
            )
        return self._discovery.resources[group_kind]

    def _doubt(self, group_kind: GroupKind, missing: KindMissing) -> ClusterError:
        """A 404 of a whole type counts only when the server also says that it does not serve it."""
        self.forget_discovery()
        if not self.serves(group_kind):
            return missing
        return Unavailable(
            f"{self.host} serves {group_kind} and answers 404 for it",
            status=404,
            hint="is a proxy in between, or its CRD being installed? nothing is taken for absent",
        )

    # ------------------------------------------------------------ reading

    def get(self, key: ObjectKey) -> Live | None:
        """The object; None only when the server says that it is not there. Raises KindMissing."""
        path = self._resource(key.group_kind).path(key.namespace, key.name)
        try:
            live: Live = self._transport.request("GET", path, what=f"read {key}")
        except NotFound:
            return None
        except KindMissing as missing:
            raise self._doubt(key.group_kind, missing) from None
        return live

    def list(
        self, group_kind: GroupKind, *, namespace: str = "", label_selector: str = "", api_version: str = ""
    ) -> list[Live]:
        """All objects of a kind: every page, or an error. Raises KindMissing."""
        return self.list_with_version(
            group_kind, namespace=namespace, label_selector=label_selector, api_version=api_version
        )[0]

    def list_with_version(
        self, group_kind: GroupKind, *, namespace: str = "", label_selector: str = "", api_version: str = ""
    ) -> tuple[builtins.list[Live], str]:
        """`list`, and the version from which a watch continues."""
        resource = self._resource(group_kind, api_version)
        try:
            return self._pages(group_kind, resource, namespace, label_selector)
        except Expired:
            # The pages took too long and the list has moved on: once more from the start.
            return self._pages(group_kind, resource, namespace, label_selector)
        except KindMissing as missing:
            raise self._doubt(group_kind, missing) from None

    def _pages(
        self, group_kind: GroupKind, resource: Resource, namespace: str, label_selector: str
    ) -> tuple[builtins.list[Live], str]:
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

        Ends never by itself: a connection that ends, breaks or falls silent is made again. Raises Expired when
        the version is too old (list again), Unavailable when a connection cannot be made.
        """
        path = self._resource(group_kind).path(namespace)
        version = resource_version
        while True:
            query = {
                "watch": "1", "resourceVersion": version, "allowWatchBookmarks": "true",
                "timeoutSeconds": str(_WATCH_SECONDS),
            }  # fmt: skip
            started = time.monotonic()
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
            # A server that closes at once must not be asked in a tight loop.
            self._transport.pause(_WATCH_PAUSE - (time.monotonic() - started))

    # ------------------------------------------------------------ writing

    def apply(self, manifest: Manifest, *, dry_run: bool = False, force: bool = True) -> Live:
        """Server-side apply under our name; the object as it is then.

        Raises Conflict (without force), Rejected, Denied, NotFound (its namespace), KindMissing.
        """
        key = manifest.key
        path = self._resource(key.group_kind, manifest.api_version).path(key.namespace, key.name)
        query = {"fieldManager": FIELD_MANAGER, "force": "true" if force else "false", "fieldValidation": "Strict"}
        if dry_run:
            query["dryRun"] = "All"
        return self._write(
            "PATCH", path, what=f"{'dry run of ' if dry_run else 'apply '}{key}", query=query, body=manifest.body,
            content_type="application/apply-patch+yaml",
        )  # fmt: skip

    def create(self, body: Live) -> Live:
        """Create an object. Raises AlreadyExists, Rejected, Denied. Never sent twice."""
        key = key_of(body)
        path = self._resource(key.group_kind, body["apiVersion"]).path(key.namespace)
        return self._write(
            "POST", path, what=f"create {key}", query={"fieldManager": FIELD_MANAGER}, body=body, idempotent=False
        )

    def replace(self, body: Live) -> Live:
        """Replace an object at its resourceVersion (our own bookkeeping only). Raises VersionConflict, NotFound."""
        key = key_of(body)
        path = self._resource(key.group_kind, body["apiVersion"]).path(key.namespace, key.name)
        return self._write(
            "PUT", path, what=f"write {key}", query={"fieldManager": FIELD_MANAGER}, body=body, idempotent=False
        )

    def _write(self, method: str, path: str, *, what: str, body: Mapping[str, Any], **options: Any) -> Live:
        try:
            live: Live = self._transport.request(method, path, what=what, body=body, **options)
        except ClusterError as error:
            if body.get("kind") == "Secret" and error.status:
                # Servers quote the value that they refuse.
                error.message = f"{what}: refused ({error.reason or error.status}; details may show a value)"
                error.args = (error.message,)
                raise error from None
            raise
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
