"""How objects end: finalizers, owners and their dependents, namespaces with all that is in them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gitops_vg.apis.catalog import Kind
from gitops_vg.sandbox import status
from gitops_vg.sandbox.store import Event, Object

if TYPE_CHECKING:
    from gitops_vg.sandbox.api import Api

_FOREGROUND = "foregroundDeletion"
_CONTENT = (
    "NamespaceDeletionContentFailure",
    "ContentDeleted",
    "All content successfully deleted, may be waiting on finalization",
)
_ENDING = (
    ("NamespaceDeletionDiscoveryFailure", "ResourcesDiscovered", "All resources successfully discovered"),
    ("NamespaceDeletionGroupVersionParsingFailure", "ParsedGroupVersions", "All legacy kube types successfully parsed"),
    _CONTENT,
    ("NamespaceContentRemaining", "ContentRemoved", "All content successfully removed"),
    ("NamespaceFinalizersRemaining", "ContentHasNoFinalizers", "All content-preserving finalizers finished"),
)
"""Conditions of a namespace that is ending: type, reason and message of each while nothing is wrong."""


class Lifecycle:
    """The garbage collector and the namespace controller of one API server."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._namespace = next((kind for kind in api.catalog.kinds() if str(kind.group_kind) == "Namespace"), None)
        self._dependents: dict[str, set[tuple[Kind, str, str]]] = {}
        self._ending: set[str] = set()
        for kind in api.catalog.kinds():
            for body in api.store.items(kind):
                self._index(kind, body)
        api.store.subscribe(self._on_event)

    # ------------------------------------------------------------ namespaces

    def check_namespace(self, kind: Kind, namespace: str, name: str) -> None:
        """Refuse a create in a namespace that is not there or is ending. Raises StatusError."""
        if not kind.namespaced or self._namespace is None:
            return
        found = self._api.store.get(self._namespace, "", namespace)
        if found is None:
            raise status.not_found(self._namespace, namespace)
        if "deletionTimestamp" in found["metadata"]:
            resource = f"{kind.plural}.{kind.group}" if kind.group else kind.plural
            raise status.forbidden(
                f'{resource} "{name}" is forbidden: unable to create new content in namespace {namespace} '
                "because it is being terminated",
                details={
                    "name": name, **({"group": kind.group} if kind.group else {}), "kind": kind.plural,
                    "causes": [{"reason": "NamespaceTerminating", "field": "metadata.namespace",
                                "message": f"namespace {namespace} is being terminated"}],
                },
            )  # fmt: skip

    def _empty(self, namespace: str) -> None:
        """Delete what is in an ending namespace; when nothing is left, the namespace goes too."""
        assert self._namespace is not None
        left = False
        refusals: list[str] = []
        for kind in self._api.catalog.kinds():
            if not kind.namespaced:
                continue
            for body in self._api.store.items(kind, namespace=namespace):
                try:
                    self._api.delete(kind, namespace, body["metadata"]["name"], manager="namespace-controller")
                except status.StatusError as error:
                    left = True  # Admission refused: the namespace hangs until that changes, as in a real server.
                    refusals.append(error.message)
                else:
                    left = left or self._api.store.get(kind, namespace, body["metadata"]["name"]) is not None
        found = self._api.store.get(self._namespace, "", namespace)
        if not left and found is not None:
            self._ending.discard(namespace)
            self._gone(self._namespace, "", namespace)
        elif found is not None:
            self._tell(found, refusals)

    def _tell(self, namespace: Object, refusals: list[str]) -> None:
        """Say in the namespace why it still stands."""
        assert self._namespace is not None
        unique = ", ".join(dict.fromkeys(refusals))
        failed = f"Failed to delete all resource types, {len(refusals)} remaining: {unique}"
        known = namespace["status"].get("conditions") or [{}] * 3
        if known[2].get("message", "") == (failed if refusals else _CONTENT[2]):
            return
        conditions = [
            {"type": name, "status": "False", "lastTransitionTime": self._api.now(), "reason": reason, "message": text}
            for name, reason, text in _ENDING
        ]
        if refusals:
            conditions[2] |= {"status": "True", "reason": "ContentDeletionFailed", "message": failed}
        status_ = {"phase": "Terminating", "conditions": conditions}
        self._api.store.put(self._namespace, {**namespace, "status": status_})

    # ------------------------------------------------------------ deleting

    def delete(self, kind: Kind, old: Object, *, propagation: str) -> Object:
        """Remove an object, or mark it when something has to happen first."""
        metadata = old["metadata"]
        namespace, name = metadata.get("namespace", ""), metadata["name"]
        if self._namespace is not None and kind.group_kind == self._namespace.group_kind:
            return self._delete_namespace(old)
        dependents = self._dependents.get(metadata["uid"])
        finalizers = list(metadata.get("finalizers") or ())
        if propagation == "Orphan" and dependents:
            self._orphan(metadata["uid"])
        elif propagation == "Foreground" and dependents and _FOREGROUND not in finalizers:
            finalizers.append(_FOREGROUND)
        if not finalizers:
            self._gone(kind, namespace, name)
            return status.success(kind, name, metadata["uid"])
        if "deletionTimestamp" not in metadata:
            old = self._api.store.put(kind, self.marked({**old, "metadata": {**metadata, "finalizers": finalizers}}))
        if _FOREGROUND in finalizers:
            self._collect(metadata["uid"])
            return self._api.store.get(kind, namespace, name) or status.success(kind, name, metadata["uid"])
        return old

    def marked(self, body: Object) -> Object:
        """The object as it is once its deletion waits for finalizers."""
        metadata = body["metadata"]
        if "deletionTimestamp" in metadata:
            return body
        marks = {"deletionTimestamp": self._api.now(), "deletionGracePeriodSeconds": 0}
        if "generation" in metadata:
            marks["generation"] = metadata["generation"] + 1
        return {**body, "metadata": {**metadata, **marks}}

    def _delete_namespace(self, old: Object) -> Object:
        assert self._namespace is not None
        name = old["metadata"]["name"]
        if "deletionTimestamp" not in old["metadata"]:
            metadata = {**old["metadata"], "deletionTimestamp": self._api.now()}
            old = self._api.store.put(
                self._namespace, {**old, "metadata": metadata, "status": {"phase": "Terminating"}}
            )
        self._ending.add(name)
        self._empty(name)
        return old

    def finalized(self, kind: Kind, body: Object) -> Object:
        """The last finalizer went: the object goes too."""
        metadata = body["metadata"]
        self._gone(kind, metadata.get("namespace", ""), metadata["name"])
        return body

    def _gone(self, kind: Kind, namespace: str, name: str) -> None:
        last = self._api.store.remove(kind, namespace, name)
        self._collect(last["metadata"]["uid"])

    # ------------------------------------------------------------ owners and dependents

    def _on_event(self, event: Event) -> None:
        if event.old is not None:
            self._unindex(event.kind, event.old)
        if event.type != "DELETED":
            self._index(event.kind, event.object)
        else:
            self._release_owners(event.object)
            namespace = event.object["metadata"].get("namespace", "")
            if namespace in self._ending:
                self._empty(namespace)
        if event.type == "MODIFIED" and event.object["metadata"].get("namespace", "") in self._ending:
            # A label that refused the deletion may be gone now.
            self._empty(event.object["metadata"]["namespace"])

    def dependents(self, uid: str) -> list[Object]:
        """Objects that name this owner, by kind and name."""
        places = sorted(self._dependents.get(uid, ()), key=lambda place: (place[0].kind, *place[1:]))
        found = (self._api.store.get(kind, namespace, name) for kind, namespace, name in places)
        return [body for body in found if body is not None]

    def _index(self, kind: Kind, body: Object) -> None:
        for owner in body["metadata"].get("ownerReferences") or ():
            self._dependents.setdefault(owner["uid"], set()).add(_place(kind, body))

    def _unindex(self, kind: Kind, body: Object) -> None:
        for owner in body["metadata"].get("ownerReferences") or ():
            places = self._dependents.get(owner["uid"])
            if places is not None:
                places.discard(_place(kind, body))
                if not places:
                    del self._dependents[owner["uid"]]

    def _collect(self, uid: str) -> None:
        """Delete the dependents of an owner that is gone or waits for them."""
        for kind, namespace, name in sorted(self._dependents.get(uid, ()), key=lambda place: place[1:]):
            body = self._api.store.get(kind, namespace, name)
            if body is None or self._has_other_owner(body, uid):
                continue
            try:
                self._api.delete(kind, namespace, name, manager="generic-garbage-collector")
            except status.StatusError:
                continue  # Refused by admission; the next event of the object tries again.

    def _has_other_owner(self, body: Object, uid: str) -> bool:
        owners = body["metadata"].get("ownerReferences") or ()
        return any(owner["uid"] != uid and self._lives(owner, body) for owner in owners)

    def _lives(self, owner: dict[str, Any], body: Object) -> bool:
        group = owner["apiVersion"].rpartition("/")[0]
        kind = next((k for k in self._api.catalog.kinds() if k.group == group and k.kind == owner["kind"]), None)
        found = kind and self._api.store.get(kind, body["metadata"].get("namespace", ""), owner["name"])
        return bool(found and found["metadata"]["uid"] == owner["uid"])

    def _release_owners(self, body: Object) -> None:
        """An owner that waited in the foreground for its last dependent goes now."""
        for reference in body["metadata"].get("ownerReferences") or ():
            if reference["uid"] in self._dependents:
                continue
            group = reference["apiVersion"].rpartition("/")[0]
            for kind in self._api.catalog.kinds():
                if (kind.group, kind.kind) != (group, reference["kind"]):
                    continue
                owner = self._api.store.get(kind, body["metadata"].get("namespace", ""), reference["name"])
                if owner is None or _FOREGROUND not in (owner["metadata"].get("finalizers") or ()):
                    continue
                rest = [name for name in owner["metadata"]["finalizers"] if name != _FOREGROUND]
                changed = {**owner, "metadata": {**owner["metadata"], "finalizers": rest}}
                if rest:
                    self._api.store.put(kind, changed)
                else:
                    self.finalized(kind, changed)

    def _orphan(self, uid: str) -> None:
        for kind, namespace, name in tuple(self._dependents.get(uid, ())):
            body = self._api.store.get(kind, namespace, name)
            if body is None:
                continue
            owners = [owner for owner in body["metadata"]["ownerReferences"] if owner["uid"] != uid]
            metadata = {**body["metadata"], "ownerReferences": owners}
            if not owners:
                del metadata["ownerReferences"]
            self._api.store.put(kind, {**body, "metadata": metadata})


def _place(kind: Kind, body: Object) -> tuple[Kind, str, str]:
    return (kind, body["metadata"].get("namespace", ""), body["metadata"]["name"])
