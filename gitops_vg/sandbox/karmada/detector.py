"""From template and policy to binding: claims, and what the binding says.

A claim sticks: a template keeps its policy until that is deleted or stops matching.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from gitops_vg.objects import GroupKind, ObjectKey, key_of
from gitops_vg.sandbox.karmada.control import MANAGER, Body, Objects, Queue
from gitops_vg.sandbox.karmada.interpreter import replicas_of
from gitops_vg.sandbox.karmada.policies import (
    CLUSTER,
    NAMESPACED,
    best,
    binding_name,
    claim_keys,
    claim_of,
    claimed_by,
    policy_key,
    precision,
    propagated,
)
from gitops_vg.sandbox.status import StatusError
from gitops_vg.sandbox.store import Event

POLICY_GROUP = "policy.karmada.io"
WORK_GROUP = "work.karmada.io"
FINALIZERS = {
    NAMESPACED: "karmada.io/propagation-policy-controller",
    CLUSTER: "karmada.io/cluster-propagation-policy-controller",
}
BINDING_FINALIZERS = {
    "ResourceBinding": "karmada.io/binding-controller",
    "ClusterResourceBinding": "karmada.io/cluster-resource-binding-controller",
}
RELEASE_AFTER = 0.2
"""Seconds that a deleted policy is still there: a real one answers for a moment after its deletion."""
_FROM_POLICY = ("propagateDeps", "preserveResourcesOnDeletion", "suspension", "failover")


class Detector:
    """Finds a policy for every template and keeps its binding in step with both."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects
        self._seen: dict[ObjectKey, int] = {}
        self._templates: Queue[ObjectKey] = Queue("detector", self._reconcile_template)
        self._policies: Queue[ObjectKey] = Queue("policies", self._reconcile_policy)
        self.queues = (self._templates, self._policies)

    def on_event(self, event: Event) -> None:
        """Template, policy and override events wake what depends on them; a status alone wakes nothing."""
        body = event.object
        key = key_of(body)
        if key.group == POLICY_GROUP:
            if key.kind in FINALIZERS:
                leaving = bool(body["metadata"].get("deletionTimestamp"))
                self._policies.add(key, after=RELEASE_AFTER if leaving else 0.0)
            elif event.type == "ADDED":
                self._wake_waiting(key)
        elif propagated(body):
            if event.type == "DELETED":
                self._seen.pop(key, None)
            elif self._changed(key, body):
                self._templates.add(key)

    def _changed(self, key: ObjectKey, body: Mapping[str, Any]) -> bool:
        """Whether anything but status and bookkeeping differs from what was seen last."""
        metadata = {name: body["metadata"].get(name) for name in ("uid", "labels", "annotations", "deletionTimestamp")}
        rest = {name: value for name, value in body.items() if name not in ("metadata", "status")}
        print_ = hash(json.dumps([metadata, rest], sort_keys=True))
        if self._seen.get(key) == print_:
            return False
        self._seen[key] = print_
        return True

    def _wake_waiting(self, override: ObjectKey) -> None:
        for kind in FINALIZERS:
            for policy in self._objects.list(GroupKind(POLICY_GROUP, kind)):
                if override.name in (policy["spec"].get("dependentOverrides") or []):
                    self._policies.add(key_of(policy))

    # ------------------------------------------------------------------ policies

    def _reconcile_policy(self, key: ObjectKey) -> float | None:
        policy = self._objects.get(key)
        if policy is None:
            return None
        if policy["metadata"].get("deletionTimestamp"):
            self._release(policy)
            return None
        identity = claim_of(policy)[0].popitem()[1]
        lazy = policy["spec"].get("activationPreference") == "Lazy"
        for template in self._candidates(policy):
            claim = claimed_by(template)
            if claim is None or (claim[1] == identity and not lazy):
                self._templates.add(key_of(template))
        for binding in self._claimed(policy):
            resource = binding["spec"]["resource"]
            group = resource["apiVersion"].rpartition("/")[0]
            if not lazy:
                where = resource.get("namespace") or ""
                self._templates.add(ObjectKey(group, resource["kind"], where, resource["name"]))
        return None

    def _candidates(self, policy: Mapping[str, Any]) -> list[Body]:
        found: dict[ObjectKey, Body] = {}
        for selector in policy["spec"].get("resourceSelectors") or []:
            for template in self._selected(selector, namespace=policy["metadata"].get("namespace") or ""):
                if propagated(template) and precision(template, [selector]):
                    found[key_of(template)] = template
        return list(found.values())

    def _selected(self, selector: Mapping[str, Any], *, namespace: str) -> Iterable[Body]:
        """Objects among which a selector finds its own; just the one when it names one in a namespace."""
        group_kind = GroupKind(selector["apiVersion"].rpartition("/")[0], selector["kind"])
        namespace = namespace or selector.get("namespace") or ""
        if selector.get("name") and namespace:
            one = self._objects.get(ObjectKey(*group_kind, namespace, selector["name"]))
            return () if one is None else (one,)
        return self._objects.list(group_kind, namespace=namespace)

    def _claimed(self, policy: Mapping[str, Any]) -> list[Body]:
        """Bindings that carry the claim of the policy."""
        labels = claim_of(policy)[0].items()
        kinds = ("ResourceBinding",) if policy["kind"] == NAMESPACED else tuple(BINDING_FINALIZERS)
        return [
            binding
            for kind in kinds
            for binding in self._objects.list(
                GroupKind(WORK_GROUP, kind), namespace=policy["metadata"].get("namespace") or ""
            )
            if labels <= (binding["metadata"].get("labels") or {}).items()
        ]

    def _release(self, policy: Body) -> None:
        """A policy goes: its claims are taken off, bindings and Works stay as they are."""
        finalizers = policy["metadata"].get("finalizers") or []
        if FINALIZERS[policy["kind"]] not in finalizers:
            return
        for binding in self._claimed(policy):
            resource = binding["spec"]["resource"]
            group = resource["apiVersion"].rpartition("/")[0]
            key = ObjectKey(group, resource["kind"], resource.get("namespace") or "", resource["name"])
            template = self._objects.get(key)
            self._unclaim(binding, kind=policy["kind"])
            if template is not None and claimed_by(template) == claimed_by(binding):
                self._unclaim(template, kind=policy["kind"])
        left = [item for item in finalizers if item != FINALIZERS[policy["kind"]]]
        self._objects.update({**policy, "metadata": {**policy["metadata"], "finalizers": left}}, manager=MANAGER)

    def _unclaim(self, body: Body, *, kind: str) -> None:
        changed: Body = {**body, "metadata": dict(body["metadata"])}
        for part, keys in zip(("labels", "annotations"), claim_keys(kind), strict=True):
            kept = {key: value for key, value in (changed["metadata"].get(part) or {}).items() if key not in keys}
            changed["metadata"].pop(part, None)
            if kept:
                changed["metadata"][part] = kept
        if changed["metadata"] != body["metadata"]:
            self._objects.update(changed, manager=MANAGER)

    # ------------------------------------------------------------------ templates

    def _reconcile_template(self, key: ObjectKey) -> float | None:
        template = self._objects.get(key)
        if template is None or template["metadata"].get("deletionTimestamp"):
            return None
        policy = self._holder(template)
        if policy is None and claimed_by(template) is not None:
            kind, _ = claimed_by(template) or ("", "")
            self._unclaim(template, kind=kind)
            return None  # the change of the template brings it back
        chosen = policy or self._finder(template)
        if chosen is None or not self._overrides_ready(chosen):
            return None
        template = self._claim(template, chosen)
        self._bind(template, chosen)
        return None

    def _holder(self, template: Mapping[str, Any]) -> Body | None:
        """The policy that claims the template, as long as it is there and still matches."""
        claim = claimed_by(template)
        if claim is None:
            return None
        kind, identity = claim
        policy = self._objects.get(policy_key(template, kind=kind))
        if policy is None or claim_of(policy)[0].popitem()[1] != identity:
            return None
        gone = policy["metadata"].get("deletionTimestamp")
        return None if gone or not precision(template, policy["spec"]["resourceSelectors"]) else policy

    def _finder(self, template: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """The best policy for a template that nobody claims: its namespace's first, then the cluster's."""
        namespace = template["metadata"].get("namespace") or ""
        if namespace:
            found = best(template, self._objects.list(GroupKind(POLICY_GROUP, NAMESPACED), namespace=namespace))
            if found is not None:
                return found
        return best(template, self._objects.list(GroupKind(POLICY_GROUP, CLUSTER)))

    def _overrides_ready(self, policy: Mapping[str, Any]) -> bool:
        kind = "OverridePolicy" if policy["kind"] == NAMESPACED else "ClusterOverridePolicy"
        namespace = policy["metadata"].get("namespace") or ""
        return all(
            self._objects.get(ObjectKey(POLICY_GROUP, kind, namespace, name)) is not None
            for name in policy["spec"].get("dependentOverrides") or []
        )

    def _claim(self, template: Body, policy: Mapping[str, Any]) -> Body:
        labels, annotations = claim_of(policy)
        metadata = dict(template["metadata"])
        metadata["labels"] = {**(metadata.get("labels") or {}), **labels}
        metadata["annotations"] = {**(metadata.get("annotations") or {}), **annotations}
        if metadata == template["metadata"]:
            return template
        return self._objects.update({**template, "metadata": metadata}, manager=MANAGER)

    def _bind(self, template: Mapping[str, Any], policy: Mapping[str, Any]) -> None:
        wanted = binding_for(template, policy, priority_of=self._priority)
        key = key_of(wanted)
        live = self._objects.get(key)
        if live is None:
            self._objects.create(wanted, manager=MANAGER)
            return
        owners = live["metadata"].get("ownerReferences") or []
        if live["metadata"].get("deletionTimestamp") or owners[:1] != wanted["metadata"]["ownerReferences"]:
            # Same name, other owner (a batch/v1 Job beside a Volcano Job) or the old one still going.
            raise StatusError(409, "Conflict", f"{key} belongs to another object")
        metadata = dict(live["metadata"])
        for part in ("labels", "annotations"):
            metadata[part] = {**_unclaimed(metadata.get(part) or {}), **wanted["metadata"][part]}
        spec = {name: value for name, value in live["spec"].items() if name not in _rewritten_fields()}
        scheduling = (live["spec"].get("suspension") or {}).get("scheduling")
        spec.update(wanted["spec"])
        if scheduling is not None:
            spec["suspension"] = {**spec.get("suspension", {}), "scheduling": scheduling}
        if metadata != live["metadata"] or spec != live["spec"]:
            self._objects.update({**live, "metadata": metadata, "spec": spec}, manager=MANAGER)

    def _priority(self, name: str) -> int | None:
        found = self._objects.get(ObjectKey("scheduling.k8s.io", "PriorityClass", "", name))
        return None if found is None else int(found["value"])


def _unclaimed(mapping: Mapping[str, str]) -> dict[str, str]:
    dropped = {key for kind in FINALIZERS for keys in claim_keys(kind) for key in keys}
    return {key: value for key, value in mapping.items() if key not in dropped}


def _rewritten_fields() -> tuple[str, ...]:
    return ("replicas", "replicaRequirements", "schedulePriority", *_FROM_POLICY)


def binding_for(
    template: Mapping[str, Any], policy: Mapping[str, Any], *, priority_of: Callable[[str], int | None]
) -> Body:
    """The binding of a template under a policy, before it is scheduled.

    Raises StatusError when the policy names a PriorityClass that is not there.
    """
    metadata, rules = template["metadata"], policy["spec"]
    namespace = metadata.get("namespace") or ""
    kind = "ResourceBinding" if namespace else "ClusterResourceBinding"
    labels, annotations = claim_of(policy)
    resource = {
        "apiVersion": template["apiVersion"],
        "kind": template["kind"],
        "name": metadata["name"],
        "resourceVersion": metadata["resourceVersion"],
        "uid": metadata["uid"],
    }
    owner = {
        "apiVersion": template["apiVersion"],
        "kind": template["kind"],
        "name": metadata["name"],
        "uid": metadata["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }
    spec: Body = {
        "resource": resource,
        "placement": rules.get("placement") or {},
        "schedulerName": rules.get("schedulerName", "default-scheduler"),
        "conflictResolution": rules.get("conflictResolution", "Abort"),
        **{name: rules[name] for name in _FROM_POLICY if rules.get(name)},
    }
    replicas, requirements = replicas_of(template)
    if replicas:
        spec["replicas"] = replicas
    if requirements:
        spec["replicaRequirements"] = requirements
    if rules.get("schedulePriority") and namespace:
        name = rules["schedulePriority"]["priorityClassName"]
        priority = priority_of(name)
        if priority is None:
            raise StatusError(404, "NotFound", f'priorityclasses.scheduling.k8s.io "{name}" not found')
        spec["schedulePriority"] = {"priority": priority}
    body: Body = {
        "apiVersion": f"{WORK_GROUP}/v1alpha2",
        "kind": kind,
        "metadata": {
            "name": binding_name(template["kind"], metadata["name"]),
            "labels": labels,
            "annotations": annotations,
            "finalizers": [BINDING_FINALIZERS[kind]],
            "ownerReferences": [owner],
        },
        "spec": spec,
    }
    if namespace:
        body["metadata"]["namespace"] = namespace
        resource["namespace"] = namespace
    return body
