"""The inventory: what we own in the control plane, kept there, so that no object is ever forgotten or taken for ours.

One ConfigMap a fleet, written before the first change of a sync (old and new together) and shrunk only when
an object is confirmed gone: a sync that dies in the middle leaves nothing untracked.
"""

from __future__ import annotations

import base64
import gzip
import json
import uuid
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from gitops_vg.errors import AlreadyExists, ClusterError, GitopsVgError, NotFound, VersionConflict
from gitops_vg.objects import FIELD_MANAGER, MANAGED_BY_LABEL, GroupKind, Manifest, ObjectKey

NAMESPACE = "gitops-vg-system"
_LARGEST = 1_000_000
"""Bytes that a ConfigMap may hold, before base64; compressed this is enough for about 14,000 objects."""
_PREFIX = "inventory-"
_COMMIT = "gitops-vg.io/commit"
"""Annotation of the inventory: the rendered commit that was last synced."""
_RUN = "gitops-vg.io/run"


class Shelf(Protocol):
    """The part of an API server that reading inventories needs."""

    def list(self, group_kind: GroupKind, *, namespace: str = "") -> list[dict[str, Any]]: ...


class Storage(Protocol):
    """The part of an API server that writing the inventory needs."""

    def apply(self, manifest: Manifest, *, dry_run: bool = False, force: bool = True) -> dict[str, Any]: ...
    def create(self, body: dict[str, Any]) -> dict[str, Any]: ...
    def replace(self, body: dict[str, Any]) -> dict[str, Any]: ...


@dataclass(frozen=True)
class Record:
    """One object of ours. `applied` is the digest of the manifest, `seen` that of the live content after it.

    While both still hold, nothing has to be asked. `finished` is set once a job has ended: it is never run again.
    `repairs` counts how often a change by others was taken back since Git last changed the manifest.
    """

    uid: str = ""
    applied: str = ""
    seen: str = ""
    finished: bool = False
    repairs: int = 0


@dataclass(frozen=True)
class Other:
    """What another fleet says of an object: `uid` is "" while it only wishes to have it."""

    fleet: str
    uid: str = ""


@dataclass(frozen=True)
class Inventory:
    """The records of a fleet, with the version they were read at ("" when there was no inventory yet)."""

    fleet: str
    records: Mapping[ObjectKey, Record] = field(default_factory=dict)
    version: str = ""
    uid: str = ""
    marks: Mapping[str, str] = field(default_factory=dict)
    """Annotations that say which run wrote it last, and of which commit."""
    others: Mapping[ObjectKey, Other] = field(default_factory=dict, repr=False)
    """What other fleets own or wish in the same control plane."""

    @property
    def key(self) -> ObjectKey:
        return ObjectKey("", "ConfigMap", NAMESPACE, f"{_PREFIX}{self.fleet}")


def load(server: Shelf, *, fleet: str) -> Inventory:
    """The inventory of a fleet; an empty one only when the server says that there is none.

    Raises ClusterError when it, or that of another fleet beside it, cannot be read: then nothing is known
    about who owns what.
    """
    found = Inventory(fleet)
    others: dict[ObjectKey, Other] = {}
    for body in server.list(GroupKind("", "ConfigMap"), namespace=NAMESPACE):
        metadata = body["metadata"]
        name = metadata["name"]
        if name == found.key.name:
            marks = {key: text for key, text in (metadata.get("annotations") or {}).items() if key in (_COMMIT, _RUN)}
            found = Inventory(fleet, _unpacked(body), metadata["resourceVersion"], metadata["uid"], marks)
        elif name.startswith(_PREFIX):
            other = name.removeprefix(_PREFIX)
            others |= {key: Other(other, record.uid) for key, record in _unpacked(body).items()}
    return replace(found, others=others)


def _unpacked(body: Mapping[str, Any]) -> dict[ObjectKey, Record]:
    try:
        raw = gzip.decompress(base64.b64decode(body["binaryData"]["records"]))
        return {ObjectKey(*entry["key"]): _record(entry) for entry in json.loads(raw)}
    except (KeyError, ValueError, TypeError, OSError, EOFError, zlib.error) as error:
        raise ClusterError(
            f"the inventory ConfigMap {NAMESPACE}/{body['metadata']['name']} cannot be read: {error}",
            hint="restore it from a backup, or delete it: everything in Git is then adopted again, nothing is deleted",
        ) from None


def _record(entry: Mapping[str, Any]) -> Record:
    return Record(entry["uid"], entry["applied"], entry["seen"], entry["finished"], entry.get("repairs", 0))


def save(server: Storage, inventory: Inventory, records: Mapping[ObjectKey, Record]) -> Inventory:
    """Write the records if they changed since they were read.

    Raises GitopsVgError when somebody else has written them: another sync is running.
    """
    if records == inventory.records and inventory.version:
        return inventory
    return _write(server, inventory, records)


def claim(server: Storage, inventory: Inventory, records: Mapping[ObjectKey, Record], *, commit: str = "") -> Inventory:
    """Write the records before the first change of a sync, in any case.

    A mark of this one run makes it a new version: of two syncs that read the same inventory, only one goes on.
    Raises GitopsVgError for the other.
    """
    return _write(server, inventory, records, annotations={_COMMIT: commit, _RUN: uuid.uuid4().hex})


def _write(
    server: Storage,
    inventory: Inventory,
    records: Mapping[ObjectKey, Record],
    *,
    annotations: Mapping[str, str] | None = None,
) -> Inventory:
    marks = dict(inventory.marks if annotations is None else annotations)
    body: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": inventory.key.name, "namespace": NAMESPACE, "labels": {MANAGED_BY_LABEL: FIELD_MANAGER},
            **({"annotations": marks} if marks else {}),
        },
        "binaryData": {"records": _packed(records)},
    }  # fmt: skip
    try:
        if inventory.version:
            body["metadata"] |= {"resourceVersion": inventory.version, "uid": inventory.uid}
            written = server.replace(body)
        else:
            server.apply(_namespace())
            written = server.create(body)
    except (VersionConflict, AlreadyExists, NotFound):
        raise GitopsVgError(
            "another sync of this fleet is running: its inventory changed meanwhile",
            hint="let it finish and try again; two `gitops-vg run` must not share a fleet",
        ) from None
    metadata = written["metadata"]
    return replace(
        inventory, records=dict(records), version=metadata["resourceVersion"], uid=metadata["uid"], marks=marks
    )


def _packed(records: Mapping[ObjectKey, Record]) -> str:
    """Raises GitopsVgError for more than one ConfigMap can hold."""
    entries = [
        {
            "key": list(key),
            "uid": record.uid,
            "applied": record.applied,
            "seen": record.seen,
            "finished": record.finished,
            **({"repairs": record.repairs} if record.repairs else {}),
        }
        for key, record in sorted(records.items())
    ]
    content = gzip.compress(json.dumps(entries, separators=(",", ":")).encode(), mtime=0)
    if len(content) > _LARGEST:
        raise GitopsVgError(
            f"the inventory of {len(records)} objects does not fit into one ConfigMap", hint="split the fleet in two"
        )
    return base64.b64encode(content).decode()


def _namespace() -> Manifest:
    """Our own namespace, which Karmada must not bring to the members."""
    labels = {MANAGED_BY_LABEL: FIELD_MANAGER, "namespace.karmada.io/skip-auto-propagation": "true"}
    return Manifest({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE, "labels": labels}})
