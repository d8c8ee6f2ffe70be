"""Labels that everything we render carries, and the label that asks Karmada for protection."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gitops_vg.intents.models import Fleet, Metadata
from gitops_vg.objects import FIELD_MANAGER, MANAGED_BY_LABEL, PROTECTED_LABEL

QOS_ANNOTATION = "volcano.sh/qos-level"
QOS_LEVELS = {"online": "LS", "offline": "BE"}


def metadata(
    name: str,
    *,
    namespace: str = "",
    protect: bool = False,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Metadata of a rendered object; our own labels win over given ones."""
    own = {MANAGED_BY_LABEL: FIELD_MANAGER}
    if protect:
        own[PROTECTED_LABEL] = "Always"
    result: dict[str, Any] = {"name": name, "labels": {**(labels or {}), **own}}
    if namespace:
        result["namespace"] = namespace
    if annotations:
        result["annotations"] = dict(annotations)
    return result


def intent_metadata(given: Metadata, *, namespace: str = "", protect: bool = False) -> dict[str, Any]:
    """Metadata of the object that stands for an intent."""
    return metadata(
        given.name, namespace=namespace, protect=protect, labels=given.labels, annotations=given.annotations
    )


def is_protected(kind: str, *, wish: bool | None, fleet: Fleet) -> bool:
    """The intent's own word, else the Fleet's default for the kind."""
    return wish if wish is not None else kind in fleet.spec.protect
