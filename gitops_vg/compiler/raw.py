"""Raw manifests of a workload: as they are, with namespace, our labels and the wished protection."""

from __future__ import annotations

from typing import Any

from gitops_vg.intents.models import Workload
from gitops_vg.objects import FIELD_MANAGER, MANAGED_BY_LABEL, PROTECTED_LABEL, Manifest


def raw_manifests(workload: Workload, *, protect: bool) -> tuple[Manifest, ...]:
    """The workload's own objects; status and what a server writes is left out."""
    return tuple(_manifest(dict(body), workload=workload, protect=protect) for body in workload.raw)


def _manifest(body: dict[str, Any], *, workload: Workload, protect: bool) -> Manifest:
    given = body["metadata"]
    labels = {**(given.get("labels") or {}), MANAGED_BY_LABEL: FIELD_MANAGER}
    if protect:
        labels[PROTECTED_LABEL] = "Always"
    metadata: dict[str, Any] = {"name": given["name"], "namespace": workload.namespace, "labels": labels}
    if given.get("annotations"):
        metadata["annotations"] = given["annotations"]
    content = {key: value for key, value in body.items() if key != "status"}
    return Manifest({**content, "metadata": metadata}, origin=f"Workload {workload.key}")
