"""Names of API objects and the manifests we render of them.

Used by every stage from the compiler on; nothing here knows how an object is sent.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

PROTECTED_LABEL = "resourcetemplate.karmada.io/deletion-protected"
"""Karmada refuses DELETE of an object with this label set to exactly `Always`."""

MANAGED_BY_LABEL = "app.kubernetes.io/managed-by"
"""Constant on everything we render: dropping our last label would drop `metadata.labels` as a whole."""

NAME_LABEL = "app.kubernetes.io/name"
"""On the pods of a service: which workload they belong to."""

FIELD_MANAGER = "gitops-vg"
"""Name under which we own fields in server-side apply, and value of MANAGED_BY_LABEL."""


class GroupKind(NamedTuple):
    """A kind without its version. The core group is ""."""

    group: str
    kind: str

    def __str__(self) -> str:
        return f"{self.kind}.{self.group}" if self.group else self.kind


class ObjectKey(NamedTuple):
    """Identity of an object in one API server; `namespace` is "" for cluster-scoped kinds."""

    group: str
    kind: str
    namespace: str
    name: str

    @property
    def group_kind(self) -> GroupKind:
        return GroupKind(self.group, self.kind)

    def __str__(self) -> str:
        where = f"{self.namespace}/{self.name}" if self.namespace else self.name
        return f"{self.group_kind} {where}"


def key_of(body: Mapping[str, Any]) -> ObjectKey:
    """Identity of a raw object, as read from a file or from an API server."""
    group, _, _ = body["apiVersion"].rpartition("/")
    metadata = body["metadata"]
    return ObjectKey(group, body["kind"], metadata.get("namespace") or "", metadata["name"])


@dataclass(frozen=True)
class Manifest:
    """One object to apply: its body, and the workload or intent it comes from.

    `origin` names the intent as people know it ("Queue ai-training", "Workload ml/bert-training").
    The body is never changed after construction.
    """

    body: Mapping[str, Any] = field(hash=False)
    origin: str = ""

    @property
    def key(self) -> ObjectKey:
        return key_of(self.body)

    @property
    def api_version(self) -> str:
        return str(self.body["apiVersion"])

    @property
    def labels(self) -> Mapping[str, str]:
        return self.body["metadata"].get("labels") or {}

    @property
    def protected(self) -> bool:
        """Whether Karmada is asked to refuse the deletion of this object."""
        return self.labels.get(PROTECTED_LABEL) == "Always"

    @property
    def path(self) -> str:
        """Its place in the rendered tree: manifests/<namespace or _cluster>/<kind>.<group>/<name>.yaml."""
        key = self.key
        kind = str(key.group_kind).lower()
        return f"manifests/{key.namespace or '_cluster'}/{kind}/{key.name}.yaml"


def destructive_digest(lines: Iterable[str]) -> str:
    """The digest that an Approval names: of what a plan destroys, and of nothing else.

    A line is `delete <key>`, `recreate <key>` or `unprotect <key>`. Publishing and syncing
    compute it alike, so one Approval opens the same removal in both.
    """
    text = "\n".join(sorted(set(lines)))
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()
