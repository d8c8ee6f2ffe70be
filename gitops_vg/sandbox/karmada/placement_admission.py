"""Field errors of a placement, in the order and the words of karmada-webhook. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gitops_vg.sandbox.karmada import names
from gitops_vg.sandbox.karmada.wire import quoted

_PLACEMENT = "spec.placement"


def invalid(path: str, value: Any, words: str) -> str:
    """A field error as apimachinery prints it."""
    return f"{path}: Invalid value: {quoted(value)}: {words}"


def placement_complaints(placement: Mapping[str, Any]) -> Iterator[str]:
    """Everything the webhook has against a placement."""
    affinities = placement.get("clusterAffinities") or []
    if placement.get("clusterAffinity") is not None and affinities:
        yield invalid(_PLACEMENT, placement, "clusterAffinities cannot co-exist with clusterAffinity")
    if not _overflow_allowed(placement.get("replicaScheduling") or {}):
        for index, term in enumerate(affinities):
            if term.get("overflowAffinities"):
                words = "overflowAffinities can only be used together with dynamic weight or aggregated scheduling"
                path = f"{_PLACEMENT}.clusterAffinities[{index}].overflowAffinities"
                yield invalid(path, term["overflowAffinities"], words)
    yield from affinity_complaints(placement.get("clusterAffinity"), path=f"{_PLACEMENT}.clusterAffinity")
    yield from _group_complaints(affinities, path=f"{_PLACEMENT}.clusterAffinities")
    constraints = placement.get("spreadConstraints") or []
    yield from _spread_complaints(constraints, path=f"{_PLACEMENT}.spreadConstraints")
    yield from _grouping_complaints(placement.get("workloadAffinity") or {}, path=f"{_PLACEMENT}.workloadAffinity")
    for index, toleration in enumerate(placement.get("clusterTolerations") or []):
        operator = toleration.get("operator")
        if operator in ("Lt", "Gt"):
            path = f"{_PLACEMENT}.clusterTolerations[{index}].operator"
            yield f'{path}: Unsupported value: "{operator}": supported values: "", "Exists", "Equal"'


def _overflow_allowed(scheduling: Mapping[str, Any]) -> bool:
    if scheduling.get("replicaSchedulingType") != "Divided":
        return False
    if scheduling.get("replicaDivisionPreference") == "Aggregated":
        return True
    return bool((scheduling.get("weightPreference") or {}).get("dynamicWeight"))


def affinity_complaints(affinity: Mapping[str, Any] | None, *, path: str) -> Iterator[str]:
    """The first thing wrong with the field selector of an affinity."""
    selector = (affinity or {}).get("fieldSelector")
    for item in (selector or {}).get("matchExpressions") or []:
        if item.get("key", "") not in ("provider", "region", "zone"):
            words = f"unsupported key {quoted(item.get('key', ''))}, must be provider, region, or zone"
            yield invalid(f"{path}.fieldSelector", selector, words)
            return
        if item.get("operator", "") not in ("In", "NotIn"):
            words = f"unsupported operator {quoted(item.get('operator', ''))}, must be In or NotIn"
            yield invalid(f"{path}.fieldSelector", selector, words)
            return


def _group_complaints(affinities: Sequence[Mapping[str, Any]], *, path: str) -> Iterator[str]:
    seen: set[str] = set()
    for index, term in enumerate(affinities):
        here, name = f"{path}[{index}]", term.get("affinityName", "")
        for words in names.label_key(name):
            yield invalid(here, name, words)
        if name in seen:
            yield invalid(path, affinities, "each affinity term in a policy must have a unique name")
        seen.add(name)
        yield from affinity_complaints(term, path=here)
        yield from _overflow_complaints(term, path=f"{here}.overflowAffinities")


def _overflow_complaints(term: Mapping[str, Any], *, path: str) -> Iterator[str]:
    overflow = term.get("overflowAffinities") or []
    parts = (term.get("clusterNames"), term.get("exclude"))
    bare = term.get("labelSelector") is None and term.get("fieldSelector") is None and not any(parts)
    if overflow and bare:
        yield invalid(path, overflow, "overflowAffinities can only be used together with the inline ClusterAffinity")
    seen = {term.get("affinityName", "")}
    for index, item in enumerate(overflow):
        here, name = f"{path}[{index}]", item.get("affinityName", "")
        for words in names.label_key(name):
            yield invalid(f"{here}.affinityName", name, words)
        if name in seen:
            words = "overflow affinity name must be unique and must not duplicate the primary group's affinityName"
            yield invalid(f"{here}.affinityName", name, words)
        seen.add(name)
        yield from affinity_complaints(item, path=here)


def _spread_complaints(constraints: Sequence[Mapping[str, Any]], *, path: str) -> Iterator[str]:
    seen: dict[str, int] = {}
    for index, constraint in enumerate(constraints):
        here = f"{path}[{index}]"
        by_field, least, most = (
            constraint.get("spreadByField"),
            constraint.get("minGroups", 0),
            constraint.get("maxGroups", 0),
        )
        if by_field and constraint.get("spreadByLabel"):
            yield invalid(here, constraint, "spreadByLabel should not co-exist with spreadByField")
        if least < 0:
            yield invalid(here, constraint, "minGroups lower than 0 is not allowed")
        if most < 0:
            yield invalid(here, constraint, "maxGroups lower than 0 is not allowed")
        if 0 < most < least:
            yield invalid(here, constraint, "maxGroups lower than minGroups is not allowed")
        if by_field:
            seen[by_field] = seen.get(by_field, 0) + 1
            if seen[by_field] == 2:
                yield invalid(path, constraints, f"multiple {by_field} spread constraints are not allowed")
    if seen and "cluster" not in seen:
        words = (
            "the cluster spread constraint must be enabled in one of the constraints "
            "in case of SpreadByField is enabled"
        )
        yield invalid(path, constraints, words)


def _grouping_complaints(grouping: Mapping[str, Any], *, path: str) -> Iterator[str]:
    keys = {}
    for part in ("affinity", "antiAffinity"):
        if grouping.get(part) is not None:
            keys[part] = grouping[part].get("groupByLabelKey", "")
            for words in names.label_key(keys[part]):
                yield invalid(f"{path}.{part}.groupByLabelKey", keys[part], words)
    if len(keys) == 2 and keys["affinity"] == keys["antiAffinity"]:
        yield invalid(path, grouping, "affinity and antiAffinity must not use the same groupByLabelKey")
