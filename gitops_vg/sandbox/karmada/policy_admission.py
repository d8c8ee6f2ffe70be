"""What karmada-webhook does to propagation and override policies: rewrites and refusals. Pure.

Every policy is read into Go types and written back, so empties vanish and missing required
texts come back as ""; then defaults are set, then the whole is checked. Messages are the
webhook's own, because people search for them.
"""

from __future__ import annotations

import copy
import uuid
from collections.abc import Iterator, Mapping
from typing import Any

from gitops_vg.sandbox.karmada import names
from gitops_vg.sandbox.karmada.override_admission import override_complaints
from gitops_vg.sandbox.karmada.placement_admission import invalid, placement_complaints
from gitops_vg.sandbox.karmada.wire import rewritten

Body = dict[str, Any]

PROPAGATION = {"PropagationPolicy": "propagationpolicy", "ClusterPropagationPolicy": "clusterpropagationpolicy"}
OVERRIDE = {"OverridePolicy": "overridepolicy", "ClusterOverridePolicy": "clusteroverridepolicy"}
FINALIZERS = {
    "PropagationPolicy": "karmada.io/propagation-policy-controller",
    "ClusterPropagationPolicy": "karmada.io/cluster-propagation-policy-controller",
}
GRACE_SECONDS = 600
"""Grace of a graceful application failover when none is given."""


class Denial(Exception):
    """The webhook refuses; `webhook` is its name, the text its reason."""

    def __init__(self, message: str, *, webhook: str) -> None:
        super().__init__(message)
        self.message = message
        self.webhook = webhook


def permanent_id_label(kind: str) -> str:
    return f"{PROPAGATION[kind]}.karmada.io/permanent-id"


def mutated_policy(body: Mapping[str, Any], *, creating: bool) -> Body:
    """The policy as the mutating webhook returns it. `creating` adds the permanent id and the finalizer."""
    policy: Body = copy.deepcopy(dict(body))
    kind, metadata = policy["kind"], policy["metadata"]
    spec = policy["spec"] = rewritten(policy.get("spec") or {})
    for selector in spec.get("resourceSelectors") or []:
        if metadata.get("namespace") and not selector.get("namespace"):
            selector["namespace"] = metadata["namespace"]
    if kind in OVERRIDE:
        spec.setdefault("overriders", {})
        if kind == "ClusterOverridePolicy" and not spec["overriders"] and "overriders" not in (body.get("spec") or {}):
            del spec["overriders"]
        return policy
    _propagation_defaults(spec)
    if creating:
        labels = metadata["labels"] = dict(metadata.get("labels") or {})
        labels[permanent_id_label(kind)] = str(uuid.uuid4())
        finalizers = metadata["finalizers"] = list(metadata.get("finalizers") or [])
        if FINALIZERS[kind] not in finalizers:
            finalizers.append(FINALIZERS[kind])
    return policy


def _propagation_defaults(spec: Body) -> None:
    placement = spec.setdefault("placement", {})
    for constraint in placement.get("spreadConstraints") or []:
        if not constraint.get("spreadByField") and not constraint.get("spreadByLabel"):
            constraint["spreadByField"] = "cluster"
        if not constraint.get("minGroups"):
            constraint["minGroups"] = 1
    scheduling = placement.get("replicaScheduling")
    if scheduling is not None and scheduling.get("replicaSchedulingType") == "Divided":
        scheduling.setdefault("replicaDivisionPreference", "Weighted")
    selectors = spec.get("resourceSelectors") or []
    if any(
        item["kind"] == "ServiceImport" and item["apiVersion"] == "multicluster.x-k8s.io/v1alpha1" for item in selectors
    ):
        spec["propagateDeps"] = True
    application = (spec.get("failover") or {}).get("application")
    if application is not None and application.get("purgeMode") in ("Gracefully", "Graciously"):
        application.setdefault("gracePeriodSeconds", GRACE_SECONDS)


def check_policy(body: Mapping[str, Any], *, old: Mapping[str, Any] | None) -> None:
    """Raises Denial for what the validating webhook refuses. `old` is the stored policy of an update."""
    kind = body["kind"]
    namespace = body["metadata"].get("namespace") or ""
    if kind in OVERRIDE:
        complaints = list(override_complaints(body["spec"], namespace=namespace))
        webhook = f"{OVERRIDE[kind]}.karmada.io"
    else:
        webhook = f"{PROPAGATION[kind]}.karmada.io"
        _check_fixed(body, old=old, webhook=webhook)
        complaints = list(propagation_complaints(body["spec"], namespace=namespace))
    unique = list(dict.fromkeys(complaints))
    if unique:
        raise Denial(unique[0] if len(unique) == 1 else f"[{', '.join(unique)}]", webhook=webhook)


def _check_fixed(body: Mapping[str, Any], *, old: Mapping[str, Any] | None, webhook: str) -> None:
    label = permanent_id_label(body["kind"])
    labels = body["metadata"].get("labels") or {}
    if old is not None:
        if body["spec"].get("schedulerName") != old["spec"].get("schedulerName"):
            raise Denial("the schedulerName should not be updated", webhook=webhook)
        if (labels.get(label) or "") != ((old["metadata"].get("labels") or {}).get(label) or ""):
            message = f"label {label} is immutable, it can only be set by the system during creation"
            raise Denial(message, webhook=webhook)
    if label not in labels:
        message = f"label {label} is required, it should be set by the mutating admission webhook during creation"
        raise Denial(message, webhook=webhook)


def propagation_complaints(spec: Mapping[str, Any], *, namespace: str) -> Iterator[str]:
    """Field errors of a propagation spec, in the webhook's order; `namespace` is "" for the cluster kind."""
    yield from placement_complaints(spec.get("placement") or {})
    failover = spec.get("failover") or {}
    if failover.get("application") is not None and not spec.get("propagateDeps"):
        yield invalid("spec.propagateDeps", False, "application failover is set, propagateDeps must be true")
    yield from _failover_complaints(failover)
    selectors = spec.get("resourceSelectors") or []
    for index, selector in enumerate(selectors):
        if namespace and selector.get("namespace", "") != namespace:
            path = f"spec.resourceSelectors[{index}].namespace"
            words = "namespace of resource selector must be the same as the namespace of the policy"
            yield invalid(path, selector.get("namespace", ""), words)
    for index, selector in enumerate(selectors):
        if spec.get("preemption") == "Always" and not selector.get("name"):
            words = (
                "name cannot be empty if preemption is Always, the empty name may cause unexpected resources preemption"
            )
            yield invalid(f"spec.resourceSelectors[{index}].name", "", words)
    suspension = spec.get("suspension") or {}
    if suspension.get("dispatching") and (suspension.get("dispatchingOnClusters") or {}).get("clusterNames"):
        words = "suspension dispatching cannot co-exist with dispatchingOnClusters.clusterNames"
        yield invalid("spec.suspension.suspension", suspension, words)


def _failover_complaints(failover: Mapping[str, Any]) -> Iterator[str]:
    path = "spec.failover.application"
    application = failover.get("application")
    if application is not None:
        seconds = (application.get("decisionConditions") or {}).get("tolerationSeconds", 300)
        if seconds < 0:
            words = "must be greater than or equal to 0"
            yield invalid(f"{path}.decisionConditions.tolerationSeconds", seconds, words)
        grace, graceful = (
            application.get("gracePeriodSeconds"),
            application.get("purgeMode")
            in (
                "Gracefully",
                "Graciously",
            ),
        )
        if grace is not None and not graceful:
            yield invalid(f"{path}.gracePeriodSeconds", grace, "only takes effect when purgeMode is gracefully")
        if grace is None and graceful:
            yield invalid(f"{path}.gracePeriodSeconds", None, "should not be empty when purgeMode is gracefully")
        if grace is not None and grace <= 0:
            yield invalid(f"{path}.gracePeriodSeconds", grace, "must be greater than 0")
    for part in ("application", "cluster"):
        rules = ((failover.get(part) or {}).get("statePreservation") or {}).get("rules") or []
        for index, rule in enumerate(rules):
            alias = rule.get("aliasLabelName", "")
            for words in names.label_key(alias):
                yield invalid(f"spec.failover.{part}.statePreservation.rules[{index}].aliasLabelName", alias, words)
