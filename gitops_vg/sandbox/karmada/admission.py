"""Karmada's admission, registered on the control plane's API server.

karmada-webhook's rewrites and refusals of policies, deletion protection, the ids of bindings and
Works, one script an operation among customizations; and the checks of the aggregated Cluster API.
"""

from __future__ import annotations

import copy
import uuid
from collections.abc import Mapping
from typing import Any

from gitops_vg.apis.structural import validate
from gitops_vg.objects import PROTECTED_LABEL, GroupKind
from gitops_vg.sandbox.api import AdmissionRequest, Api
from gitops_vg.sandbox.karmada.cluster_admission import cluster_problems, mutated_cluster
from gitops_vg.sandbox.karmada.interpreter import pruned
from gitops_vg.sandbox.karmada.policy_admission import OVERRIDE, PROPAGATION, Denial, check_policy, mutated_policy
from gitops_vg.sandbox.karmada.works import WORK_ID, stamped
from gitops_vg.sandbox.status import StatusError, bad_request, forbidden, invalid
from gitops_vg.sandbox.store import Object

POLICY_GROUP = "policy.karmada.io"
CLUSTER = GroupKind("cluster.karmada.io", "Cluster")
_BINDING_IDS = {
    GroupKind("work.karmada.io", "ResourceBinding"): "resourcebinding.karmada.io/permanent-id",
    GroupKind("work.karmada.io", "ClusterResourceBinding"): "clusterresourcebinding.karmada.io/permanent-id",
    GroupKind("work.karmada.io", "Work"): WORK_ID,
}
_CUSTOMIZATION = GroupKind("config.karmada.io", "ResourceInterpreterCustomization")
_OPERATIONS = {
    "retention": "Retain",
    "replicaResource": "InterpretReplica",
    "componentResource": "InterpretComponent",
    "replicaRevision": "ReviseReplica",
    "statusReflection": "InterpretStatus",
    "statusAggregation": "AggregateStatus",
    "healthInterpretation": "InterpretHealth",
}
"""Parts of a customization of which only one may exist a kind, and the operation's name in the refusal."""


def well_formed(request: AdmissionRequest) -> bool:
    """Whether every field has the type that its schema says; otherwise the schema check is to answer."""
    if request.object is None or request.kind.schema is None:
        return True
    problems = validate(request.kind.schema, request.object)
    return not any(problem.reason == "FieldValueTypeInvalid" for problem in problems)


def denied(webhook: str, message: str) -> StatusError:
    """The API server's words for a webhook that said no."""
    return forbidden(f'admission webhook "{webhook}" denied the request: {message}')


class Admission:
    """The hooks, with what they have to look up."""

    def __init__(self, api: Api) -> None:
        self._api = api

    def register(self) -> None:
        """Put the hooks into the API server, in the order of a real one."""
        self._api.mutating += [self._mutate_policy, self._mutate_identity, self._mutate_cluster]
        self._api.validating += [
            self._validate_policy,
            self._validate_cluster,
            self._validate_customization,
            self._protect,
        ]

    def _mutate_policy(self, request: AdmissionRequest) -> Object | None:
        if request.object is None or request.subresource or not _is_policy(request):
            return None
        if not well_formed(request):
            return None
        return mutated_policy(request.object, creating=request.operation == "CREATE")

    def _validate_policy(self, request: AdmissionRequest) -> None:
        if request.object is None or request.subresource or not _is_policy(request):
            return
        try:
            check_policy(request.object, old=request.old)
        except Denial as denial:
            raise denied(denial.webhook, denial.message) from denial

    def _mutate_identity(self, request: AdmissionRequest) -> Object | None:
        """Bindings and Works get an id of their own; the manifests of a Work carry it."""
        label = _BINDING_IDS.get(request.kind.group_kind)
        if label is None or request.object is None or request.subresource:
            return None
        body = copy.deepcopy(request.object)
        labels = body["metadata"].setdefault("labels", {})
        labels.setdefault(label, str(uuid.uuid4()))
        if label == WORK_ID:
            workload = body["spec"].get("workload") or {}
            if not all(_is_manifest(manifest) for manifest in workload.get("manifests") or []):
                raise bad_request(f"{body['metadata']['name']}: a manifest of this Work is no Kubernetes object")
            workload["manifests"] = [
                stamped(pruned(manifest), work_id=labels[label]) for manifest in workload.get("manifests") or []
            ]
        return body

    def _mutate_cluster(self, request: AdmissionRequest) -> Object | None:
        if request.object is None or request.subresource or request.kind.group_kind != CLUSTER:
            return None
        if not well_formed(request):
            raise bad_request(f"{request.kind.kind} in version {request.kind.version!r} cannot be handled: wrong types")
        return mutated_cluster(request.object, creating=request.operation == "CREATE", now=self._api.now())

    def _validate_cluster(self, request: AdmissionRequest) -> None:
        if request.object is None or request.subresource or request.kind.group_kind != CLUSTER:
            return
        problems = cluster_problems(request.object)
        if problems:
            raise invalid(request.kind, request.name, problems)

    def _validate_customization(self, request: AdmissionRequest) -> None:
        """Two customizations must not script the same operation of a kind (dependencies excepted)."""
        if request.object is None or request.kind.group_kind != _CUSTOMIZATION:
            return
        mine = _scripts(request.object)
        for other in self._api.list(request.kind):
            if other["metadata"]["name"] == request.name or other["spec"]["target"] != request.object["spec"]["target"]:
                continue
            for part in _OPERATIONS:
                if part in mine and part in _scripts(other):
                    message = (
                        f"conflicting with InterpreterOperation({_OPERATIONS[part]}) of existing "
                        f"ResourceInterpreterCustomization({other['metadata']['name']})"
                    )
                    raise denied("resourceinterpretercustomization.karmada.io", message)

    def _protect(self, request: AdmissionRequest) -> None:
        """DELETE of a protected object is refused; the aggregated Cluster API never asks."""
        if request.operation != "DELETE" or request.old is None or request.kind.group_kind == CLUSTER:
            return
        if (request.old["metadata"].get("labels") or {}).get(PROTECTED_LABEL) == "Always":
            message = f"This resource is protected, please make sure to remove the label: {PROTECTED_LABEL}"
            raise denied("resourcedeletionprotection.karmada.io", message)


def _is_policy(request: AdmissionRequest) -> bool:
    kind = request.kind.kind
    return request.kind.group == POLICY_GROUP and (kind in PROPAGATION or kind in OVERRIDE)


def _scripts(body: Mapping[str, Any]) -> set[str]:
    parts = body["spec"].get("customizations") or {}
    return {part for part in _OPERATIONS if (parts.get(part) or {}).get("luaScript")}


def _is_manifest(value: Any) -> bool:
    """Whether it has the outline of an object: a kind, metadata, and a spec that is a map where there is one."""
    return (
        isinstance(value, dict)
        and isinstance(value.get("kind"), str)
        and isinstance(value.get("metadata"), dict)
        and isinstance(value.get("spec", {}), dict)
    )
