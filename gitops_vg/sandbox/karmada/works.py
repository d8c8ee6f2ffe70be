"""The Work that carries a template to one cluster, and the object it becomes there. Pure."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping, Sequence
from typing import Any

from gitops_vg.sandbox.karmada.division import fnv1a
from gitops_vg.sandbox.karmada.interpreter import pruned

Body = dict[str, Any]

NAMESPACE_PREFIX = "karmada-es-"
FINALIZER = "karmada.io/execution-controller"
MANAGED = "karmada.io/managed"
WORK_ID = "work.karmada.io/permanent-id"
CONFLICT_RESOLUTION = "work.karmada.io/conflict-resolution"
MANAGED_ANNOTATIONS = "resourcetemplate.karmada.io/managed-annotations"
MANAGED_LABELS = "resourcetemplate.karmada.io/managed-labels"
GENERATION = "resourcetemplate.karmada.io/generation"
TEMPLATE_UID = "resourcetemplate.karmada.io/uid"
_SAFE = "bcdfghjklmnpqrstvwxz2456789"
"""Letters of apimachinery's rand.SafeEncodeString: nothing that could spell a word."""


def work_name(*, kind: str, name: str, namespace: str) -> str:
    """Karmada's name of the Work: the object's name and a hash of namespace, name and kind (no group)."""
    plain = name.replace(":", ".").lower()
    whole = f"{namespace}-{plain}-{kind}" if namespace else f"{plain}-{kind}"
    digits = str(fnv1a(whole.lower()))
    return f"{plain}-{''.join(_SAFE[ord(digit) % len(_SAFE)] for digit in digits)}"


def binding_keys(binding: Mapping[str, Any]) -> tuple[dict[str, str], dict[str, str]]:
    """Labels and annotations that tie a Work and its object to their binding."""
    metadata = binding["metadata"]
    prefix = "resourcebinding" if binding["kind"] == "ResourceBinding" else "clusterresourcebinding"
    label = f"{prefix}.karmada.io/permanent-id"
    annotations = {f"{prefix}.karmada.io/name": metadata["name"]}
    if metadata.get("namespace"):
        annotations[f"{prefix}.karmada.io/namespace"] = metadata["namespace"]
    return {label: metadata["labels"][label]}, annotations


def work_for(
    template: Mapping[str, Any],
    *,
    binding: Mapping[str, Any],
    cluster: str,
    applied: Sequence[tuple[str, Sequence[Mapping[str, Any]]]],
) -> Body:
    """The Work of `template` (already overridden) for `cluster`.

    `applied` has pairs of annotation key and override rules that were used, for people to read.
    """
    spec, metadata = binding["spec"], template["metadata"]
    labels, annotations = binding_keys(binding)
    namespace = NAMESPACE_PREFIX + cluster
    name = work_name(kind=template["kind"], name=metadata["name"], namespace=metadata.get("namespace") or "")
    annotations = {**annotations, CONFLICT_RESOLUTION: _conflict_resolution(template, spec)}
    for key, rules in applied:
        if rules:
            annotations[key] = json.dumps(rules, separators=(",", ":"))
    workload = pruned(template)
    workload["metadata"].setdefault("labels", {}).update({**labels, MANAGED: "true"})
    workload["metadata"].setdefault("annotations", {}).update(
        {
            **{key: value for key, value in annotations.items() if not key.startswith("policy.karmada.io/")},
            TEMPLATE_UID: metadata["uid"],
            "work.karmada.io/name": name,
            "work.karmada.io/namespace": namespace,
        }
    )
    if metadata.get("generation"):
        workload["metadata"]["annotations"][GENERATION] = str(metadata["generation"])
    return {
        "apiVersion": "work.karmada.io/v1alpha1",
        "kind": "Work",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "labels": labels,
            "annotations": annotations,
            "finalizers": [FINALIZER],
        },
        "spec": {
            "workload": {"manifests": [workload]},
            "suspendDispatching": suspended(spec.get("suspension") or {}, cluster=cluster),
            "preserveResourcesOnDeletion": bool(spec.get("preserveResourcesOnDeletion")),
        },
    }


def _conflict_resolution(template: Mapping[str, Any], spec: Mapping[str, Any]) -> str:
    wish = (template["metadata"].get("annotations") or {}).get(CONFLICT_RESOLUTION)
    if wish in ("overwrite", "abort"):
        return str(wish)
    return "overwrite" if spec.get("conflictResolution") == "Overwrite" else "abort"


def suspended(suspension: Mapping[str, Any], *, cluster: str) -> bool:
    """Whether dispatching to the cluster is held back."""
    named = (suspension.get("dispatchingOnClusters") or {}).get("clusterNames") or []
    return bool(suspension.get("dispatching")) or cluster in named


def stamped(workload: Mapping[str, Any], *, work_id: str) -> Body:
    """The manifest of a Work with the Work's id and the record of the keys that Karmada manages."""
    body: Body = copy.deepcopy(dict(workload))
    metadata = body["metadata"]
    annotations = metadata.setdefault("annotations", {})
    labels = metadata.setdefault("labels", {})
    labels[WORK_ID] = work_id
    keys = {*annotations, MANAGED_ANNOTATIONS, MANAGED_LABELS}
    annotations[MANAGED_ANNOTATIONS] = ",".join(sorted(keys))
    annotations[MANAGED_LABELS] = ",".join(sorted(labels))
    return body


def merged_metadata(desired: Mapping[str, Any], observed: Mapping[str, Any]) -> Body:
    """`desired` for a PUT over `observed`: keys that the member added stay, keys that we dropped go."""
    body: Body = copy.deepcopy(dict(desired))
    metadata, seen = body["metadata"], observed["metadata"]
    for part, record in (("annotations", MANAGED_ANNOTATIONS), ("labels", MANAGED_LABELS)):
        ours = (seen.get("annotations") or {}).get(record, "").split(",")
        now = metadata.setdefault(part, {})
        for key, value in (seen.get(part) or {}).items():
            if key not in now and key not in ours:
                now[key] = value
        if not now:
            del metadata[part]
    for key in ("resourceVersion", "finalizers", "ownerReferences"):
        if seen.get(key):
            metadata[key] = copy.deepcopy(seen[key])
    return body
