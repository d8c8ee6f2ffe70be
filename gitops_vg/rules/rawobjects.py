"""Rules about raw manifests: what may be managed at all, where it may live, whether its fields exist."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gitops_vg.apis.scopes import is_of_cluster
from gitops_vg.intents.models import Workload
from gitops_vg.objects import GroupKind, ObjectKey, key_of
from gitops_vg.rules.examples import workload
from gitops_vg.rules.facts import Facts
from gitops_vg.rules.forms import is_reserved
from gitops_vg.rules.podschema import object_faults
from gitops_vg.rules.registry import Problem, rule

_POLICY, _WORK, _BUS, _SCHEDULING = "policy.karmada.io", "work.karmada.io", "bus.volcano.sh", "scheduling.volcano.sh"
_MADE_BY_OTHERS = "is made by controllers, never from Git"
_OURS = "is written by this program"
_NEVER = {
    GroupKind(_WORK, "ResourceBinding"): (_MADE_BY_OTHERS, "remove it; Karmada makes bindings from policies"),
    GroupKind(_WORK, "ClusterResourceBinding"): (_MADE_BY_OTHERS, "remove it; Karmada makes bindings from policies"),
    GroupKind(_WORK, "Work"): (_MADE_BY_OTHERS, "remove it; Karmada makes Works from bindings"),
    GroupKind(_BUS, "Command"): ("is an order that is carried out once", "give it with vcctl, not from Git"),
    GroupKind(_SCHEDULING, "PodGroup"): (_MADE_BY_OTHERS, "remove it; Volcano makes PodGroups from jobs"),
    GroupKind("", "Node"): (_MADE_BY_OTHERS, "remove it; nodes register themselves"),
    GroupKind("", "Event"): (_MADE_BY_OTHERS, "remove it"),
    GroupKind("", "Binding"): (_MADE_BY_OTHERS, "remove it"),
    GroupKind("coordination.k8s.io", "Lease"): (_MADE_BY_OTHERS, "remove it"),
    GroupKind("cluster.karmada.io", "Cluster"): (_OURS, "write an intent of kind Cluster"),
    GroupKind(_POLICY, "PropagationPolicy"): (_OURS, "write the workload's placement"),
    GroupKind(_POLICY, "ClusterPropagationPolicy"): (_OURS, "write the workload's placement"),
    GroupKind(_SCHEDULING, "Queue"): (_OURS, "write an intent of kind Queue"),
    GroupKind("scheduling.k8s.io", "PriorityClass"): (_OURS, "write an intent of kind PriorityClass"),
    GroupKind("", "Namespace"): (_OURS, "remove it; the namespace of a workload is made with it"),
    GroupKind("", "List"): ("is not an object but a list of them", "write the items as documents of their own"),
}


def _inline(body: str) -> str:
    return workload(f"manifests:\n  inline:\n    - {body}", name="legacy", namespace="web")


_CONFIG = "{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: {mode: fast}}"


def _objects(facts: Facts) -> Iterator[tuple[Workload, int, ObjectKey]]:
    for one in facts.intents.workloads:
        for index, body in enumerate(one.raw):
            yield one, index, key_of(body)


@rule(
    "GVG334",
    title="an object that must not come from raw manifests",
    wrong=_inline("{apiVersion: scheduling.volcano.sh/v1beta1, kind: Queue, metadata: {name: fast}}"),
    right=_inline(_CONFIG),
)
def never_managed(facts: Facts) -> Iterator[Problem]:
    """Bindings, Works, PodGroups and Nodes belong to controllers; policies and queues would compete with our own."""
    for one, index, key in _objects(facts):
        kind = GroupKind(key.group, "List") if key.kind.endswith("List") and not key.group else key.group_kind
        if kind in _NEVER:
            why, fix = _NEVER[kind]
            yield Problem(one.raw_at(index, ("kind",)), f"{key.kind} {key.name} {why}", fix)


@rule(
    "GVG335",
    title="a raw object lives in another namespace than its workload",
    wrong=_inline("{apiVersion: v1, kind: ConfigMap, metadata: {name: settings, namespace: shop}}"),
    right=_inline("{apiVersion: v1, kind: ConfigMap, metadata: {name: settings, namespace: web}}"),
)
def foreign_namespace(facts: Facts) -> Iterator[Problem]:
    """A PropagationPolicy places objects of its own namespace; those of another would not be placed at all.

    Left out, the namespace is the workload's.
    """
    for one, index, key in _objects(facts):
        at = one.raw_at(index, ("metadata", "namespace"))
        if key.namespace and key.namespace != one.namespace and not is_of_cluster(key.group_kind):
            reserved = " (which belongs to the system)" if is_reserved(key.namespace) else ""
            yield Problem(at, f"{key.kind} {key.name} is in namespace {key.namespace}{reserved}, its workload in "
                          f"{one.namespace}", "use one namespace, or write a workload for each")  # fmt: skip


_KIND = re.compile(r"[A-Za-z][A-Za-z0-9]{0,62}")
_API_VERSION = re.compile(r"([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?v[0-9][a-z0-9]*")
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_SEGMENT = re.compile(r"(?!\.\.?$)[^/%]+")
_FREELY_NAMED = "rbac.authorization.k8s.io"
"""Roles may be called anything that fits into a path (`system:reader`)."""


@rule(
    "GVG338",
    title="a raw object has a name, kind or version that no API server takes",
    wrong=_inline("{apiVersion: v1, kind: ConfigMap, metadata: {name: ../settings}, data: {mode: fast}}"),
    right=_inline(_CONFIG),
)
def unusable_name(facts: Facts) -> Iterator[Problem]:
    """Names are part of URLs and of the rendered files' paths: one that is no name must get into neither."""
    for one, index, key in _objects(facts):
        name_form = _SEGMENT if key.group == _FREELY_NAMED else _SUBDOMAIN
        parts = (
            (("apiVersion",), str(one.raw[index]["apiVersion"]), _API_VERSION, "write it as `group/v1`"),
            (("kind",), key.kind, _KIND, "write a kind such as ConfigMap"),
            (("metadata", "name"), key.name, name_form, "use lower-case letters, digits, - and ."),
        )
        for path, value, form, fix in parts:
            if len(value) > 253 or not form.fullmatch(value):
                yield Problem(one.raw_at(index, path), f"{value!r} is no {path[-1]} of an object", fix)


@rule(
    "GVG344",
    title="a raw object is not one that an API server takes",
    wrong=_inline("{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, dta: {mode: fast}}"),
    right=_inline(_CONFIG),
)
def bad_object(facts: Facts) -> Iterator[Problem]:
    """Unknown fields and wrong types of the kinds we have schemas of; other kinds are left to the server."""
    for one, index, _ in _objects(facts):
        for fault in object_faults(one.raw[index]):
            yield Problem(one.raw_at(index, fault.path), f"{one.raw[index]['kind']}: {fault.message}", fault.fix)


@rule(
    "GVG345",
    title="a workload of raw manifests without any",
    wrong=workload("manifests: {}", name="legacy", namespace="web"),
    right=_inline(_CONFIG),
)
def no_objects(facts: Facts) -> Iterator[Problem]:
    """Emptied manifests read like a deletion of everything that was in them."""
    for one in facts.intents.workloads:
        if one.spec.manifests is not None and not one.raw:
            yield Problem(one.source_at(("spec", "manifests"), key=True), f"workload {one.key} has no object",
                          "write manifests.inline or manifests.files, or delete the workload's file")  # fmt: skip
