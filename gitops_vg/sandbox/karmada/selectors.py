"""Label selectors, cluster affinities and tolerations, as Karmada matches them. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Object = Mapping[str, Any]


def labels_of(body: Object) -> Mapping[str, str]:
    return body["metadata"].get("labels") or {}


def matches_labels(selector: Mapping[str, Any] | None, labels: Mapping[str, str]) -> bool:
    """A metav1.LabelSelector against a label set. None and an empty selector match everything."""
    if not selector:
        return True
    wanted = selector.get("matchLabels") or {}
    if any(labels.get(key) != value for key, value in wanted.items()):
        return False
    return all(_expression(item, labels) for item in selector.get("matchExpressions") or [])


def _expression(item: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    value, values = labels.get(item["key"]), item.get("values") or []
    match item["operator"]:
        case "In":
            return value is not None and value in values
        case "NotIn":
            return value is None or value not in values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case _:
            return False


def matches_cluster(affinity: Mapping[str, Any] | None, cluster: Object) -> bool:
    """A ClusterAffinity against a Cluster: all its parts must hold, `exclude` first. None matches all."""
    if affinity is None:
        return True
    name, spec = cluster["metadata"]["name"], cluster.get("spec") or {}
    if name in (affinity.get("exclude") or []):
        return False
    if not matches_labels(affinity.get("labelSelector"), labels_of(cluster)):
        return False
    fields = {key: spec[key] for key in ("provider", "region") if spec.get(key)}
    for item in (affinity.get("fieldSelector") or {}).get("matchExpressions") or []:
        if item["key"] == "zone":
            if not _zones(item, spec.get("zones") or []):
                return False
        elif not _expression(item, fields):
            return False
    names = affinity.get("clusterNames") or []
    return not names or name in names


def _zones(item: Mapping[str, Any], zones: Sequence[str]) -> bool:
    overlap = any(zone in (item.get("values") or []) for zone in zones)
    match item["operator"]:
        case "In":
            return overlap
        case "NotIn":
            return not overlap
        case "Exists":
            return bool(zones)
        case "DoesNotExist":
            return not zones
        case _:
            return False


def untolerated(
    taints: Iterable[Mapping[str, Any]], tolerations: Sequence[Mapping[str, Any]], *, effects: Sequence[str]
) -> Mapping[str, Any] | None:
    """The first taint with one of `effects` that nothing tolerates."""
    for taint in taints:
        if taint.get("effect") in effects and not any(_tolerates(item, taint) for item in tolerations):
            return taint
    return None


def _tolerates(toleration: Mapping[str, Any], taint: Mapping[str, Any]) -> bool:
    if toleration.get("effect") and toleration["effect"] != taint.get("effect"):
        return False
    if toleration.get("key") and toleration["key"] != taint["key"]:
        return False
    if toleration.get("operator", "Equal") == "Exists":
        return True
    return bool(toleration.get("key")) and (toleration.get("value") or "") == (taint.get("value") or "")


def taint_text(taint: Mapping[str, Any]) -> str:
    """A taint as messages print it: `key=value:Effect`, `key:Effect` without a value."""
    value, effect = taint.get("value"), taint.get("effect")
    if value:
        return f"{taint['key']}={value}:{effect}"
    return f"{taint['key']}:{effect}" if effect else str(taint["key"])
