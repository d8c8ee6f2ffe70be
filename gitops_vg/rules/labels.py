"""Rules about labels: what an API server takes, and what belongs to Karmada or to us."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from gitops_vg.findings import Location
from gitops_vg.intents.source import Path, dotted
from gitops_vg.objects import FIELD_MANAGER, MANAGED_BY_LABEL, PROTECTED_LABEL
from gitops_vg.rules.examples import cluster, document, workload
from gitops_vg.rules.facts import Facts
from gitops_vg.rules.registry import Problem, problem, rule

_VALUE = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?")
_NAME = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
_PREFIX = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_LONGEST_PREFIX = 253


def is_key(key: str) -> bool:
    """Whether a text can be the key of a label: a name, or `<DNS name>/<name>`."""
    prefix, slash, name = key.rpartition("/")
    good_prefix = not slash or (len(prefix) <= _LONGEST_PREFIX and _PREFIX.fullmatch(prefix) is not None)
    return good_prefix and _NAME.fullmatch(name) is not None


def _written(facts: Facts) -> Iterator[tuple[Location, Path, str, Any]]:
    """Every label of an intent and of a raw object: its place, its path, key and value."""
    for one in facts.intents:
        for key, value in one.metadata.labels.items():
            path: Path = ("metadata", "labels", key)
            yield one.source_at(path, key=True), path, key, value
    for each in facts.intents.workloads:
        for index, body in enumerate(each.raw):
            labels = body["metadata"].get("labels")
            for key, value in labels.items() if isinstance(labels, Mapping) else ():
                path = ("metadata", "labels", key)
                yield each.raw_at(index, path), path, key, value


@rule(
    "GVG346",
    title="a label that an API server refuses",
    wrong=cluster("cluster-4", 'region: "cn north"'),
    right=cluster("cluster-4", "region: cn-north"),
)
def bad_label(facts: Facts) -> Iterator[Problem]:
    """Keys and values have 63 characters at most: letters, digits, `-`, `_` and `.`, with a letter or digit at the ends.

    Region, zone and provider of a cluster become labels of the Karmada Cluster. Source: Kubernetes, label validation.
    """
    fix = "use letters, digits, -, _ and ., 63 characters at most"
    for at, path, key, value in _written(facts):
        if not is_key(key):
            yield Problem(at, f"{key} cannot be the key of a label", fix, dotted(path))
        if isinstance(value, str) and not _VALUE.fullmatch(value):
            yield Problem(at, f"label {key}: {value!r} cannot be its value", fix, dotted(path))
    for one in facts.intents.clusters:
        for field in ("region", "zone", "provider"):
            given = getattr(one.spec, field)
            if given is not None and (not given or not _VALUE.fullmatch(given)):
                yield problem(one, ("spec", field), f"{field} {given!r} cannot be the value of a label", fix)


@rule(
    "GVG347",
    title="a label that belongs to Karmada or to this program",
    wrong=document("Queue", "research", "weight: 2").replace(
        "{name: research}", "{name: research, labels: {resourcetemplate.karmada.io/deletion-protected: Always}}"
    ),
    right=document("Queue", "research", "weight: 2\nprotect: true"),
)
def reserved_label(facts: Facts) -> Iterator[Problem]:
    """Protection is asked for with `protect: true`, so that it can be seen and lifted in one place.

    `*/permanent-id` is Karmada's identity of an object: written or dropped, its members lose the object.
    """
    for at, path, key, value in _written(facts):
        if key == PROTECTED_LABEL:
            yield Problem(
                at, f"the label {key} is written by this program", "write protect: true instead", dotted(path)
            )
        elif key.endswith(".karmada.io/permanent-id") or key == "karmada.io/managed":
            yield Problem(at, f"the label {key} belongs to Karmada", "remove it", dotted(path))
        elif key == MANAGED_BY_LABEL and value != FIELD_MANAGER:
            yield Problem(at, f"the label {key} is written by this program", "remove it", dotted(path))


_POD = "queue: ai-training\njob: {tasks: [{name: main, image: 'train:1', nodeSelector: {gpu: SELECTOR}}]}"


@rule(
    "GVG348",
    title="a node selector that no label can match",
    wrong=workload(_POD.replace("SELECTOR", "'Tesla T4'")),
    right=workload(_POD.replace("SELECTOR", "Tesla-T4")),
)
def bad_selector(facts: Facts) -> Iterator[Problem]:
    """A selector is made of labels, so what cannot be a label selects nothing. Source: Kubernetes, pod validation."""
    for pod in facts.pods:
        for key, value in pod.short.node_selector.items():
            if not is_key(key) or not _VALUE.fullmatch(value):
                yield problem(pod.workload, (*pod.path, "nodeSelector", key), f"no node can have the label {key}={value}",
                              "write a label as nodes have it")  # fmt: skip
