"""Values as Karmada's Go types write them: field order and omitted empties. Pure.

Karmada stores JSON text of its types in annotations (`policy.karmada.io/applied-placement`)
and prints it in refusals, so the order of the fields is part of what clients see.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

_FIELD_ORDER = (
    *("apiVersion", "affinityName", "spreadByField", "spreadByLabel", "maxGroups", "minGroups"),
    *("clusterAffinity", "clusterAffinities", "clusterTolerations", "spreadConstraints", "replicaScheduling"),
    *("workloadAffinity", "affinity", "antiAffinity", "groupByLabelKey", "targetCluster", "weight"),
    *("replicaSchedulingType", "replicaDivisionPreference", "weightPreference", "staticWeightList", "dynamicWeight"),
    *("labelSelector", "matchLabels", "fieldSelector", "matchExpressions", "clusterNames", "exclude"),
    *("overflowAffinities", "dispatching", "dispatchingOnClusters", "plaintext", "imageOverrider"),
    *("commandOverrider", "argsOverrider", "labelsOverrider", "annotationsOverrider", "fieldOverrider"),
    *("predicate", "component", "fieldPath", "json", "yaml", "subPath", "path", "key", "operator", "effect"),
    *("tolerationSeconds", "values", "value"),
)
_RANK = {name: rank for rank, name in enumerate(_FIELD_ORDER)}

_POINTERS = frozenset(
    {
        *("placement", "clusterAffinity", "replicaScheduling", "labelSelector", "fieldSelector", "weightPreference"),
        *("targetCluster", "workloadAffinity", "affinity", "antiAffinity", "failover", "application", "cluster"),
        *("suspension", "dispatchingOnClusters", "statePreservation", "decisionConditions", "schedulePriority"),
        *("predicate", "overriders"),
    }
)
"""Fields whose empty object means something to Go (a pointer that is set, or a struct that is always written)."""


def go_json(value: Any) -> str:
    """JSON text with the fields in the order of Karmada's Go types, maps sorted by key."""
    return json.dumps(_ordered(value), separators=(",", ":"), ensure_ascii=False)


def _ordered(value: Any) -> Any:
    if isinstance(value, Mapping):
        keys = sorted(value, key=lambda key: (_RANK.get(key, len(_RANK)), key))
        return {key: _ordered(value[key]) for key in keys}
    if isinstance(value, list):
        return [_ordered(item) for item in value]
    return value


_ALWAYS_WRITTEN: Mapping[str, Mapping[str, Any]] = {
    "resourceSelectors": {"apiVersion": "", "kind": ""},
    "clusterAffinities": {"affinityName": ""},
    "overflowAffinities": {"affinityName": ""},
    "matchExpressions": {"key": "", "operator": ""},
    "staticWeightList": {"targetCluster": {}, "weight": 0},
    "affinity": {"groupByLabelKey": ""},
    "antiAffinity": {"groupByLabelKey": ""},
    "application": {"decisionConditions": {}},
    "rules": {"aliasLabelName": "", "jsonPath": ""},
    "schedulePriority": {"priorityClassName": "", "priorityClassSource": ""},
    "overrideRules": {"overriders": {}},
    "plaintext": {"path": "", "operator": ""},
    "imageOverrider": {"component": "", "operator": ""},
    "predicate": {"path": ""},
    "commandOverrider": {"containerName": "", "operator": ""},
    "argsOverrider": {"containerName": "", "operator": ""},
    "labelsOverrider": {"operator": ""},
    "annotationsOverrider": {"operator": ""},
    "fieldOverrider": {"fieldPath": ""},
    "json": {"subPath": "", "operator": ""},
    "yaml": {"subPath": "", "operator": ""},
}
"""Fields that Go writes even when they are empty, by the field that holds them."""

_VERBATIM = frozenset({"value", "matchLabels"})
"""Maps and values of people's own making, kept as they are."""


def rewritten(value: Any, *, within: str = "") -> Any:
    """A policy as Go writes it back.

    Nulls, empty texts, lists, maps, zero counts and false flags of optional fields are gone;
    required fields that were left out are there, empty.
    """
    if isinstance(value, Mapping):
        always = _ALWAYS_WRITTEN.get(within, {})
        kept = {key: item if key in _VERBATIM else rewritten(item, within=key) for key, item in value.items()}
        return {
            **always,
            **{key: item for key, item in kept.items() if key in always or not _omitted(key, item, within=within)},
        }
    if isinstance(value, list):
        return [rewritten(item, within=within) for item in value]
    return value


_VALUES_THAT_VANISH = frozenset({"imageOverrider", "commandOverrider", "argsOverrider"})
"""Overriders whose empty `value` is left out; elsewhere an empty value is a value."""


def _omitted(key: str, value: Any, *, within: str) -> bool:
    if key == "value" and within not in _VALUES_THAT_VANISH:
        return value is None
    if value is None or value is False:
        return key != "dispatching" or value is None
    if key in ("minGroups", "maxGroups") and value == 0:
        return True
    if isinstance(value, Mapping):
        return not value and key not in _POINTERS
    if isinstance(value, list):
        return not value and key not in ("resourceSelectors",)
    return bool(value == "")


def quoted(value: Any) -> str:
    """A value as a field error prints it."""
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, bool):
        return str(value).lower()
    return go_json(value)
