"""The inventory: what we own in the control plane, kept there, so that no object is ever forgotten or taken for ours.

One ConfigMap a fleet, written before the first change of a sync (old and new together) and shrunk only when
an object is confirmed gone: a sync that dies in the middle leaves nothing untracked.
"""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from gitops_vg.errors import AlreadyExists, ClusterError, GitopsVgError, VersionConflict
from gitops_vg.objects import FIELD_MANAGER, MANAGED_BY_LABEL, Manifest, ObjectKey

NAMESPACE = "gitops-vg-system"
_LARGEST = 1_000_000
"""Bytes that a ConfigMap may hold; compressed this is enough for about 30,000 objects."""


class Storage(Protocol):
    """The part of an API server that the inventory needs."""

    def get(self, key: ObjectKey) -> dict[str, Any] | None: ...
    def apply(self, manifest: Manifest, *, dry_run: bool = False, force: bool = True) -> dict[str, Any]: ...
    def create(self, body: dict[str, Any]) -> dict[str, Any]: ...
    def replace(self, body: dict[str, Any]) -> dict[str, Any]: ...


@dataclass(frozen=True)
class Record:
    """One object of ours. `applied` is the digest of the manifest, `seen` that of the live content after it.

    While both still hold, nothing has to be asked. `finished` is set once a job has ended: it is never run again.
    """

    uid: str = ""
    applied: str = ""
    seen: str = ""
    finished: bool = False


@dataclass(frozen=True)
class Inventory:
    """The records of a fleet, with the version they were read at ("" when there was no inventory yet)."""

    fleet: str
    records: Mapping[ObjectKey, Record] = field(default_factory=dict)
    version: str = ""
    uid: str = ""

    @property
    def key(self) -> ObjectKey:
        return ObjectKey("", "ConfigMap", NAMESPACE, f"inventory-{self.fleet}")


def load(server: Storage, *, fleet: str) -> Inventory:
    """The inventory of a fleet; an empty one only when the server says that there is none.

    Raises ClusterError when it cannot be read: then nothing is known about what we own.
    """
    empty = Inventory(fleet)
    body = server.get(empty.key)
    if body is None:
        return empty
    try:
        raw = gzip.decompress(base64.b64decode(body["binaryData"]["records"]))
        records = {ObjectKey(*entry["key"]): _record(entry) for entry in json.loads(raw)}
    except (KeyError, ValueError, TypeError, OSError, EOFError) as error:
        raise ClusterError(
            f"the inventory ConfigMap {NAMESPACE}/{empty.key.name} cannot be read: {error}",
            hint="restore it from a backup, or delete it: everything in Git is then adopted again, nothing is deleted",
        ) from None
    metadata = body["metadata"]
    return Inventory(fleet, records, metadata["resourceVersion"], metadata["uid"])


def _record(entry: Mapping[str, Any]) -> Record:
    return Record(entry["uid"], entry["applied"], entry["seen"], entry["finished"])


def save(server: Storage, inventory: Inventory, records: Mapping[ObjectKey, Record]) -> Inventory:
    """Write the records if they changed since they were read.

    Raises GitopsVgError when somebody else has written them: another sync is running.
    """
    if records == inventory.records and inventory.version:
        return inventory
    entries = [
        {
            "key": list(key),
            "uid": record.uid,
            "applied": record.applied,
            "seen": record.seen,
            "finished": record.finished,
        }
        for key, record in sorted(records.items())
    ]
    content = base64.b64encode(gzip.compress(json.dumps(entries, separators=(",", ":")).encode(), mtime=0)).decode()
    if len(content) > _LARGEST:
        raise GitopsVgError(
            f"the inventory of {len(records)} objects does not fit into one ConfigMap", hint="split the fleet in two"
        )
    body: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": inventory.key.name, "namespace": NAMESPACE, "labels": {MANAGED_BY_LABEL: FIELD_MANAGER},
        },
        "binaryData": {"records": content},
    }  # fmt: skip
    try:
        if inventory.version:
            body["metadata"] |= {"resourceVersion": inventory.version, "uid": inventory.uid}
            written = server.replace(body)
        else:
            server.apply(_namespace())
            written = server.create(body)
    except (VersionConflict, AlreadyExists):
        raise GitopsVgError(
            "another sync of this fleet is running: its inventory changed meanwhile",
            hint="let it finish and try again; two `gitops-vg run` must not share a fleet",
        ) from None
    metadata = written["metadata"]
    return replace(inventory, records=dict(records), version=metadata["resourceVersion"], uid=metadata["uid"])


def _namespace() -> Manifest:
    """Our own namespace, which Karmada must not bring to the members."""
    labels = {MANAGED_BY_LABEL: FIELD_MANAGER, "namespace.karmada.io/skip-auto-propagation": "true"}
    return Manifest({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE, "labels": labels}})
