"""Raw manifests of a workload: as they are, with namespace, our labels and the wished protection."""

from __future__ import annotations

from typing import Any

from gitops_vg.apis.scopes import is_of_cluster
from gitops_vg.compiler import volcano
from gitops_vg.compiler.labels import is_protected, metadata
from gitops_vg.intents.models import Fleet, Workload
from gitops_vg.objects import GroupKind, Manifest

_VOLCANO = frozenset({volcano.JOB, volcano.CRON_JOB})


def raw_manifests(workload: Workload, *, fleet: Fleet) -> tuple[Manifest, ...]:
    """The workload's own objects; what a server writes (status, uid, …) is left out."""
    return tuple(_manifest(dict(body), workload=workload, fleet=fleet) for body in workload.raw)


def _manifest(body: dict[str, Any], *, workload: Workload, fleet: Fleet) -> Manifest:
    given = body["metadata"]
    group_kind = GroupKind(body["apiVersion"].rpartition("/")[0], body["kind"])
    content = {key: value for key, value in body.items() if key != "status"}
    content["metadata"] = metadata(
        given["name"],
        namespace="" if is_of_cluster(group_kind) else workload.namespace,
        protect=is_protected(group_kind.kind, wish=workload.spec.protect, fleet=fleet),
        labels=given.get("labels"),
        annotations=given.get("annotations"),
    )
    if group_kind in _VOLCANO:
        content = volcano.with_defaults(content)
    return Manifest(content, origin=f"Workload {workload.key}")
