"""Names and labels as apimachinery checks them, with its words. Pure.

Each function gives the complaints about one value, in order; none means it is fine.
"""

from __future__ import annotations

import re

_PART = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")
_DNS_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_DNS_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_PART_FORM = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_CHARACTERS = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"
)
_KEY_FORM = f"{_CHARACTERS} (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '{_PART_FORM}')"


def label_key(value: str) -> list[str]:
    """Complaints about a label key or another qualified name."""
    prefix, slash, name = value.rpartition("/")
    if "/" in prefix:
        return [
            f"a valid label key {_KEY_FORM} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        ]
    complaints = []
    if slash and not prefix:
        complaints.append("prefix part must be non-empty")
    elif slash:
        complaints += [f"prefix part {text}" for text in dns_subdomain(prefix)]
    if not name:
        complaints.append("name part must be non-empty")
    elif len(name.encode()) > 63:
        complaints.append("name part must be no more than 63 bytes")
    if not _PART.fullmatch(name):
        complaints.append(f"name part {_KEY_FORM}")
    return complaints


def label_value(value: str) -> list[str]:
    """Complaints about a label value."""
    complaints = ["must be no more than 63 bytes"] if len(value.encode()) > 63 else []
    if value and not _PART.fullmatch(value):
        complaints.append(
            "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', "
            "and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', "
            f"regex used for validation is '({_PART_FORM})?')"
        )
    return complaints


def dns_subdomain(value: str) -> list[str]:
    """Complaints about a DNS-1123 subdomain."""
    complaints = ["must be no more than 253 bytes"] if len(value) > 253 else []
    if not _DNS_SUBDOMAIN.fullmatch(value):
        complaints.append(
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', "
            "and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation "
            r"is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
        )
    return complaints


def cluster_name(value: str) -> list[str]:
    """Complaints about the name of a Cluster: a DNS-1123 label of at most 48 characters."""
    if len(value) > 48:
        return ["must be no more than 48 characters"]
    if _DNS_LABEL.fullmatch(value):
        return []
    if _DNS_SUBDOMAIN.fullmatch(value):
        return ["must not contain dots"]
    return [
        "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and "
        "end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
        "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
    ]
