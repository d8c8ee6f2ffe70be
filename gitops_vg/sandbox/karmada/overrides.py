"""What OverridePolicies make of a template for one cluster. Pure.

Cluster-wide policies come first, then those of the namespace; in each set the more precise
selector comes later and so wins. A plaintext path that does not exist is an error that stops
the Work of that cluster, and Karmada tells nobody.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import yaml

from gitops_vg.sandbox.karmada.policies import precision
from gitops_vg.sandbox.karmada.selectors import matches_cluster

Body = dict[str, Any]

_POD_TEMPLATE_KINDS = frozenset({"Deployment", "ReplicaSet", "DaemonSet", "StatefulSet", "Job"})
_TAG = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}")


class OverrideFailed(Exception):
    """An override cannot be applied to this object."""


def overridden(
    template: Mapping[str, Any], *, policies: Sequence[Mapping[str, Any]], cluster: Mapping[str, Any]
) -> tuple[Body, list[dict[str, Any]]]:
    """The template after `policies` (all of one scope), and what was applied, for the Work's annotation.

    Raises OverrideFailed.
    """
    body: Body = copy.deepcopy(dict(template))
    applied = []
    for policy in _in_order(template, policies):
        spec = policy["spec"]
        rules = spec.get("overrideRules") or [
            {"targetCluster": spec.get("targetCluster"), "overriders": spec.get("overriders") or {}}
        ]
        for rule in rules:
            if matches_cluster(rule.get("targetCluster"), cluster):
                _apply(body, rule["overriders"])
                applied.append({"policyName": policy["metadata"]["name"], "overriders": rule["overriders"]})
    return body, applied


def _in_order(template: Mapping[str, Any], policies: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    ranked = []
    for policy in policies:
        selectors = policy["spec"].get("resourceSelectors") or []
        rank = precision(template, selectors) if selectors else 1
        if rank:
            ranked.append((rank, policy["metadata"]["name"], policy))
    return [policy for _, _, policy in sorted(ranked, key=lambda item: item[:2])]


def _apply(body: Body, overriders: Mapping[str, Any]) -> None:
    for item in overriders.get("imageOverrider") or []:
        _override_image(body, item)
    for part in ("command", "args"):
        for item in overriders.get(f"{part}Overrider") or []:
            _override_words(body, item, part=part)
    for part in ("labels", "annotations"):
        for item in overriders.get(f"{part}Overrider") or []:
            _override_map(body, item, part=part)
    for item in overriders.get("fieldOverrider") or []:
        _override_text(body, item)
    for item in overriders.get("plaintext") or []:
        patch(body, path=item["path"], operator=item["operator"], value=item.get("value"))


def patch(body: Any, *, path: str, operator: str, value: Any) -> None:
    """One RFC 6902 operation in place. Raises OverrideFailed when the path is not there."""
    parts = [part.replace("~1", "/").replace("~0", "~") for part in path.split("/")[1:]]
    if not parts:
        raise OverrideFailed(f"{operator} operation does not apply: the whole document cannot be replaced")
    at = body
    for part in parts[:-1]:
        at = _step(at, part, path=path, operator=operator)
    last = parts[-1]
    if isinstance(at, list):
        if operator == "add":
            at.insert(len(at) if last == "-" else _index(at, last, path=path, extra=1), copy.deepcopy(value))
        elif operator == "replace":
            at[_index(at, last, path=path)] = copy.deepcopy(value)
        else:
            del at[_index(at, last, path=path)]
    elif isinstance(at, dict) and (operator == "add" or last in at):
        if operator == "remove":
            del at[last]
        else:
            at[last] = copy.deepcopy(value)
    else:
        raise OverrideFailed(f"{operator} operation does not apply: doc is missing key: {path}: missing value")


def _step(at: Any, part: str, *, path: str, operator: str) -> Any:
    if isinstance(at, dict) and part in at:
        return at[part]
    if isinstance(at, list):
        return at[_index(at, part, path=path)]
    raise OverrideFailed(f"{operator} operation does not apply: doc is missing path: {path}: missing value")


def _index(at: list[Any], part: str, *, path: str, extra: int = 0) -> int:
    if part.isdigit() and int(part) < len(at) + extra:
        return int(part)
    raise OverrideFailed(f"Unable to access invalid index: {part} of {path}")


def _containers(body: Body) -> list[Body]:
    spec = body.get("spec") or {}
    if body["kind"] == "Pod":
        return spec.get("containers") or []
    if body["kind"] in _POD_TEMPLATE_KINDS:
        return ((spec.get("template") or {}).get("spec") or {}).get("containers") or []
    return []


def _override_image(body: Body, item: Mapping[str, Any]) -> None:
    predicate = item.get("predicate")
    if predicate is None:
        for container in _containers(body):
            if "image" not in container:
                raise OverrideFailed("failed to parse image value(), error: invalid reference format")
            container["image"] = image_with(container["image"], item)
        return
    parts = predicate["path"].strip("/").split("/")
    at: Any = body
    for part in parts[:-1]:
        at = _step(at, part, path=predicate["path"], operator="replace")
    if not isinstance(at, dict) or not isinstance(at.get(parts[-1]), str):
        raise OverrideFailed(f"failed to obtain imageValue with predicate path({predicate['path']})")
    at[parts[-1]] = image_with(at[parts[-1]], item)


def image_with(image: str, item: Mapping[str, Any]) -> str:
    """The image reference with one component (Registry, Repository, Tag) added to, replaced or removed."""
    digest = tag = ""
    if "@" in image:
        image, digest = image.split("@", 1)
    head, _, tail = image.rpartition("/")
    if ":" in tail:
        tail, tag = tail.split(":", 1)
    name = f"{head}/{tail}" if head else tail
    first, slash, rest = name.partition("/")
    has_registry = bool(slash) and (any(mark in first for mark in ".:") or first == "localhost")
    parts = {
        "Registry": first if has_registry else "",
        "Repository": rest if has_registry else name,
        "Tag": tag or digest,
    }
    value, component = item.get("value") or "", item["component"]
    match item["operator"]:
        case "add":
            parts[component] += value
        case "replace":
            parts[component] = value
        case "remove":
            parts[component] = ""
    full = f"{parts['Registry']}/{parts['Repository']}" if parts["Registry"] else parts["Repository"]
    if not parts["Tag"]:
        return full
    return f"{full}:{parts['Tag']}" if _TAG.fullmatch(parts["Tag"]) else f"{full}@{parts['Tag']}"


def _override_words(body: Body, item: Mapping[str, Any], *, part: str) -> None:
    for container in _containers(body):
        if container.get("name") == item["containerName"]:
            now, value = list(container.get(part) or []), item.get("value") or []
            if item["operator"] == "add":
                container[part] = now + value
            elif item["operator"] == "remove":
                container[part] = [word for word in now if word not in value]


def _override_map(body: Body, item: Mapping[str, Any], *, part: str) -> None:
    now = body["metadata"].get(part)
    for key, value in (item.get("value") or {}).items():
        if item["operator"] == "add":
            now = body["metadata"].setdefault(part, {})
            now[key] = value
        elif now is not None and key in now:
            if item["operator"] == "remove":
                del now[key]
            else:
                now[key] = value


def _override_text(body: Body, item: Mapping[str, Any]) -> None:
    """Patches inside a text field that holds JSON or YAML (a key of a ConfigMap, say)."""
    parts = [part.replace("~1", "/").replace("~0", "~") for part in item["fieldPath"].split("/")[1:]]
    at: Any = body
    for part in parts[:-1]:
        at = _step(at, part, path=item["fieldPath"], operator="replace")
    if not parts or not isinstance(at, dict) or not isinstance(at.get(parts[-1]), str):
        raise OverrideFailed(f"get object's value by overrider's path({item['fieldPath']}) is not string")
    form = "json" if item.get("json") else "yaml"
    try:
        content = json.loads(at[parts[-1]]) if form == "json" else yaml.safe_load(at[parts[-1]])
    except (ValueError, yaml.YAMLError) as error:
        raise OverrideFailed(f"{item['fieldPath']} does not hold {form}: {error}") from error
    for operation in item.get(form) or []:
        patch(content, path=operation["subPath"], operator=operation["operator"], value=operation.get("value"))
    at[parts[-1]] = (
        json.dumps(content, separators=(",", ":"), sort_keys=True) if form == "json" else yaml.safe_dump(content)
    )
