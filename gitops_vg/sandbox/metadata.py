"""Rules of metadata that hold for every kind."""

from __future__ import annotations

import json
import re
from typing import Any

from gitops_vg.apis.catalog import Kind
from gitops_vg.apis.structural import Invalid

_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_LABEL_KEY = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")
_LABEL_VALUE = re.compile(r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?")

_LABEL_TEXT = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an "
    "alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
_SUBDOMAIN_TEXT = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end "
    "with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    r"'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
_LABEL_VALUE_TEXT = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with "
    "an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)


def clean_metadata(metadata: dict[str, Any]) -> dict[str, Any]:
    """Metadata without nulls and empty maps, which no server keeps."""
    return {
        key: value
        for key, value in metadata.items()
        if value is not None and not (value == {} and key in ("labels", "annotations"))
    }


_TEXTS = ("name", "generateName", "namespace", "uid", "resourceVersion", "creationTimestamp", "deletionTimestamp")
_OWNER_TEXTS = ("apiVersion", "kind", "name", "uid")


def misshapen(metadata: dict[str, Any]) -> str:
    """The first field of metadata that does not have the type of its Go struct, in the decoder's words; "" for none."""
    for field in _TEXTS:
        if not isinstance(metadata.get(field, ""), str):
            return _undecodable(metadata[field], field, "string")
    for field in ("labels", "annotations"):
        entries = metadata.get(field, {})
        if not isinstance(entries, dict):
            return _undecodable(entries, field, "map[string]string")
        for key, value in entries.items():
            if not isinstance(value, str):
                return _undecodable(value, f"{field}.{key}", "string")
    for field, form, go in (
        ("finalizers", str, "string"),
        ("ownerReferences", dict, "v1.OwnerReference"),
        ("managedFields", dict, "v1.ManagedFieldsEntry"),
    ):
        entries = metadata.get(field, [])
        if not isinstance(entries, list):
            return _undecodable(entries, field, f"[]{go}")
        for entry in entries:
            if not isinstance(entry, form):
                return _undecodable(entry, field, go)
    for owner in metadata.get("ownerReferences", []):
        for field in _OWNER_TEXTS:
            if not isinstance(owner.get(field, ""), str):
                return _undecodable(owner[field], f"ownerReferences.{field}", "string")
    return ""


def _undecodable(value: Any, field: str, go: str) -> str:
    found = {bool: "bool", int: "number", float: "number", str: "string", list: "array", dict: "object"}
    what = found.get(type(value), "null")
    return f"json: cannot unmarshal {what} into Go struct field ObjectMeta.metadata.{field} of type {go}"


def metadata_problems(kind: Kind, body: dict[str, Any]) -> list[Invalid]:
    """What is wrong with name and labels, in the server's words."""
    metadata = body["metadata"]
    name = metadata.get("name", "")
    if not name:
        return [Invalid("metadata.name", "FieldValueRequired", "Required value: name or generateName is required")]
    problems = []
    form, text, longest = (
        (_LABEL, _LABEL_TEXT, 63) if kind.kind in ("Namespace", "Service") else (_SUBDOMAIN, _SUBDOMAIN_TEXT, 253)
    )
    if len(name) > longest:
        problems.append(_invalid("metadata.name", name, f"must be no more than {longest} characters"))
    if not form.fullmatch(name):
        problems.append(_invalid("metadata.name", name, text))
    for index, owner in enumerate(metadata.get("ownerReferences") or ()):
        problems += [
            Invalid(f"metadata.ownerReferences[{index}].{name}", "FieldValueInvalid",
                    'Invalid value: "": must not be empty')
            for name in _OWNER_TEXTS
            if not owner.get(name)
        ]  # fmt: skip
    for field in ("labels", "annotations"):
        entries = metadata.get(field)
        if entries is None:
            continue
        if not isinstance(entries, dict) or not all(isinstance(value, str) for value in entries.values()):
            problems.append(_invalid(f"metadata.{field}", entries, "must be a map of strings"))
            continue
        problems += [problem for key, value in entries.items() for problem in _entry(field, key, value)]
    return problems


def _entry(field: str, key: str, value: str) -> list[Invalid]:
    problems = []
    prefix, _, name = key.rpartition("/")
    if (prefix and not _SUBDOMAIN.fullmatch(prefix.lower())) or len(name) > 63 or not _LABEL_KEY.fullmatch(name):
        problems.append(
            _invalid(f"metadata.{field}", key, "name part must consist of alphanumeric characters, '-', '_' or '.'")
        )
    if field == "labels" and (len(value) > 63 or not _LABEL_VALUE.fullmatch(value)):
        problems.append(_invalid("metadata.labels", value, _LABEL_VALUE_TEXT))
    return problems


def _invalid(field: str, value: Any, detail: str) -> Invalid:
    return Invalid(field, "FieldValueInvalid", f"Invalid value: {json.dumps(value)}: {detail}")
