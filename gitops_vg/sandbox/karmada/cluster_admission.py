"""Defaults and checks of Cluster objects, which Karmada's aggregated API server serves. Pure."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from gitops_vg.apis.structural import Invalid
from gitops_vg.quantities import parse_quantity
from gitops_vg.sandbox.karmada import names
from gitops_vg.sandbox.karmada.wire import quoted

Body = dict[str, Any]

LARGEST = str(2**63 - 1)
_CPU = ("0", "1", "2", "4", "8", "16", "32", "64", "128", LARGEST)
_MEMORY = ("0", "4Gi", "16Gi", "32Gi", "64Gi", "128Gi", "256Gi", "512Gi", "1Ti", LARGEST)
_FORM = "; desired format: hostname, hostname:port, IP or IP:port"


def default_models() -> list[Body]:
    """The nine grades that a Cluster gets when it names none."""
    return [
        {
            "grade": grade,
            "ranges": [
                {"name": "cpu", "min": _CPU[grade], "max": _CPU[grade + 1]},
                {"name": "memory", "min": _MEMORY[grade], "max": _MEMORY[grade + 1]},
            ],
        }
        for grade in range(9)
    ]


def mutated_cluster(body: Mapping[str, Any], *, creating: bool, now: str) -> Body:
    """The Cluster as it is stored: models completed and sorted, zone moved to zones, evicting taints dated."""
    cluster: Body = copy.deepcopy(dict(body))
    spec = cluster.setdefault("spec", {})
    for name in [name for name, value in spec.items() if value in ("", [], None)]:
        if name != "syncMode":
            del spec[name]
    if "resourceModels" in spec:
        models = sorted(spec["resourceModels"], key=lambda model: model.get("grade", 0))
        for item in models[0].get("ranges") or []:
            item["min"] = "0"
        for item in models[-1].get("ranges") or []:
            item["max"] = LARGEST
        spec["resourceModels"] = models
    elif creating:
        spec["resourceModels"] = default_models()
    if spec.get("zone") and not spec.get("zones"):
        spec["zones"] = [spec.pop("zone")]
    for taint in spec.get("taints") or []:
        if taint.get("effect") == "NoExecute":
            taint.setdefault("timeAdded", now)
    return cluster


def cluster_problems(body: Mapping[str, Any]) -> list[Invalid]:
    """What the aggregated API server has against a Cluster, with reason and field of each."""
    name, spec = body["metadata"].get("name", ""), body.get("spec") or {}
    found = [_invalid("metadata.name", name, words) for words in names.cluster_name(name)]
    mode = spec.get("syncMode", "")
    if not mode:
        found.append(_required("spec.syncMode"))
    if mode not in ("Pull", "Push"):
        words = f'Unsupported value: {quoted(mode)}: supported values: "Pull", "Push"'
        found.append(Invalid("spec.syncMode", "FieldValueNotSupported", words))
    found += _endpoint(spec.get("apiEndpoint", ""))
    for reference in ("secretRef", "impersonatorSecretRef"):
        if spec.get(reference) is not None:
            found += [
                _required(f"spec.{reference}.{key}") for key in ("namespace", "name") if not spec[reference].get(key)
            ]
    proxy = spec.get("proxyURL", "")
    if proxy and urlsplit(proxy).scheme not in ("http", "https", "socks5"):
        words = f"unsupported scheme {quoted(urlsplit(proxy).scheme)}, must be http, https, or socks5"
        found.append(_invalid("spec.proxyURL", proxy, words))
    for field in ("provider", "region"):
        words = "; ".join(names.label_value(spec.get(field, "")))
        if words:
            found.append(_invalid(f"spec.{field}", spec[field], words))
    if spec.get("zone") and spec.get("zones"):
        words = f"Invalid value: {quoted(spec)}: Zone and Zones cannot co-exist"
        found.append(Invalid("spec.spec", "FieldValueTypeInvalid", words))
    for zone in spec.get("zones") or []:
        words = "; ".join(names.label_value(zone))
        if words:
            found.append(_invalid("spec.Zones", zone, words))
    found += _taints(spec.get("taints") or [])
    models = spec.get("resourceModels") or []
    words = next(_model_problems(models), "")
    if words:
        found.append(_invalid("spec.resourceModels", models, words))
    return found


def _required(field: str) -> Invalid:
    return Invalid(field, "FieldValueRequired", "Required value")


def _invalid(field: str, value: Any, words: str) -> Invalid:
    return Invalid(field, "FieldValueInvalid", f"Invalid value: {quoted(value)}: {words}")


def _endpoint(endpoint: str) -> Iterator[Invalid]:
    if not endpoint:
        return
    parts = urlsplit(endpoint)
    field = "spec.apiEndpoint"
    if not parts.netloc:
        yield _invalid(field, "", f"host must be provided{_FORM}")
    if "@" in parts.netloc:
        yield _invalid(field, parts.netloc.rpartition("@")[0], "user information is not permitted in the URL")
    if parts.fragment:
        yield _invalid(field, parts.fragment, "fragments are not permitted in the URL")
    if parts.query:
        yield _invalid(field, parts.query, "query parameters are not permitted in the URL")


def _taints(taints: Sequence[Mapping[str, Any]]) -> Iterator[Invalid]:
    seen = set()
    for index, taint in enumerate(taints):
        here, effect = f"spec.taints[{index}]", taint.get("effect", "")
        for words in names.label_key(taint.get("key", "")):
            yield _invalid(f"{here}.key", taint.get("key", ""), words)
        words = "; ".join(names.label_value(taint.get("value", "")))
        if words:
            yield _invalid(f"{here}.value", taint["value"], words)
        if not effect:
            yield _required(f"{here}.effect")
        elif effect not in ("NoSchedule", "NoExecute"):
            words = f'Unsupported value: {quoted(effect)}: supported values: "NoSchedule", "NoExecute"'
            yield Invalid(f"{here}.effect", "FieldValueNotSupported", words)
        if (taint.get("key"), effect) in seen:
            shown = f'{{"key":{quoted(taint.get("key", ""))},"effect":{quoted(effect)}}}'
            words = f"Duplicate value: {shown}: taints must be unique by key and effect pair"
            yield Invalid(here, "FieldValueDuplicate", words)
        seen.add((taint.get("key"), effect))


def _model_problems(models: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for position, model in enumerate(models):
        ranges = model.get("ranges") or []
        before = models[position - 1] if position else None
        if before is not None and before.get("grade") == model.get("grade"):
            yield "The grade of each models should not be the same"
        if before is not None and len(before.get("ranges") or []) != len(ranges):
            yield "The number of resource types should be the same"
            return
        for index, item in enumerate(ranges):
            if parse_quantity(item["max"]) <= parse_quantity(item["min"]):
                yield "The max value of each resource must be greater than the min value"
            if before is None:
                continue
            other = before["ranges"][index]
            if other["name"] != item["name"]:
                yield "The resource types of each models should be the same"
            elif str(other["max"]) != str(item["min"]):  # texts are compared: "1" is not "1000m" there
                yield "Model intervals for resources must be contiguous and non-overlapping"
