"""Field errors of an override spec, in the order and the words of karmada-webhook. Pure.

Plaintext paths are not looked at: a wrong one fails later, when a Work is built, and leaves no trace.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from gitops_vg.sandbox.karmada import names
from gitops_vg.sandbox.karmada.placement_admission import affinity_complaints, invalid

_OVERRIDERS = (
    "plaintext",
    "imageOverrider",
    "commandOverrider",
    "argsOverrider",
    "labelsOverrider",
    "annotationsOverrider",
)
_POINTER = 'JSON pointer must be empty or start with a "/\nJSON pointer error'


def override_complaints(spec: Mapping[str, Any], *, namespace: str) -> Iterator[str]:
    """Everything the webhook has against an override spec; `namespace` is "" for the cluster kind."""
    target, rules = spec.get("targetCluster"), spec.get("overrideRules") or []
    yield from affinity_complaints(target, path="spec.targetCluster")
    if target is not None and rules:
        yield invalid("spec.targetCluster", target, "overrideRules and targetCluster can't co-exist")
    overriders = spec.get("overriders") or {}
    if rules and any(overriders.get(part) for part in _OVERRIDERS):
        yield invalid("spec.overriders", overriders, "overrideRules and overriders can't co-exist")
    for index, rule in enumerate(rules):
        yield from _rule_complaints(rule, path=f"spec.overrideRules[{index}]")
    for index, selector in enumerate(spec.get("resourceSelectors") or []):
        if namespace and selector.get("namespace", "") != namespace:
            words = "namespace of resource selector must be the same as the namespace of the policy"
            yield invalid(f"spec.resourceSelectors[{index}].namespace", selector.get("namespace", ""), words)


def _rule_complaints(rule: Mapping[str, Any], *, path: str) -> Iterator[str]:
    overriders, here = rule.get("overriders") or {}, f"{path}.overriders"
    for index, item in enumerate(overriders.get("annotationsOverrider") or []):
        for key in sorted(item.get("value") or {}):
            for words in names.label_key(key.lower()):
                yield invalid(f"{here}.annotationsOverrider[{index}].value", key, words)
    for index, item in enumerate(overriders.get("labelsOverrider") or []):
        at = f"{here}.labelsOverrider[{index}].value"
        for key, value in sorted((item.get("value") or {}).items()):
            for words in names.label_key(key):
                yield invalid(at, key, words)
            for words in names.label_value(value):
                yield invalid(at, value, words)
    for index, item in enumerate(overriders.get("imageOverrider") or []):
        pointer = (item.get("predicate") or {}).get("path", "")
        if not _is_pointer(pointer):
            yield invalid(f"{here}.imageOverrider[{index}].predicate.path", pointer, _POINTER)
    for index, item in enumerate(overriders.get("fieldOverrider") or []):
        yield from _field_complaints(item, path=f"{here}.fieldOverrider[{index}]")
    yield from affinity_complaints(rule.get("targetCluster"), path=f"{path}.targetCluster")


def _field_complaints(item: Mapping[str, Any], *, path: str) -> Iterator[str]:
    if item.get("yaml") and item.get("json"):
        yield invalid(path, item, "FieldOverrider has both YAML and JSON set. Only one is allowed")
    if not item.get("yaml") and not item.get("json"):
        yield f"{path}: Required value: FieldOverrider must have either JSON or YAML set"
    if not _is_pointer(item.get("fieldPath", "")):
        yield invalid(f"{path}.fieldPath", item.get("fieldPath", ""), _POINTER)
    for form in ("json", "yaml"):
        for index, patch in enumerate(item.get(form) or []):
            here = f"{path}.{form}[{index}]"
            if not _is_pointer(patch.get("subPath", "")):
                yield invalid(f"{here}.subPath", patch.get("subPath", ""), _POINTER)
            value, operator = patch.get("value"), patch.get("operator")
            if operator in ("add", "replace") and value is None:
                yield invalid(f"{here}.value", None, "value is required for add or replace operation")
            if operator == "remove" and value is not None:
                yield invalid(f"{here}.value", value, "value is not allowed for remove operation")


def _is_pointer(text: str) -> bool:
    return text == "" or text.startswith("/")
