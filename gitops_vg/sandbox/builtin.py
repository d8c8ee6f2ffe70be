"""What a real API server writes into built-in kinds by itself, as far as anybody here looks at it."""

from __future__ import annotations

from typing import Any

from gitops_vg.sandbox.api import AdmissionRequest, Api
from gitops_vg.sandbox.store import Object

NAMESPACES = ("default", "kube-system", "kube-public", "kube-node-lease")


def install_builtin(api: Api) -> None:
    """Register the defaults of built-in kinds, and create the namespaces that are always there."""
    api.mutating.append(_default_builtin)
    kind = api.kind("", "Namespace")
    for name in NAMESPACES:
        if api.find(kind, "", name) is None:
            body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
            api.create(kind, body, manager="kube-apiserver")


def _default_builtin(request: AdmissionRequest) -> Object | None:
    body = request.object
    assert body is not None
    match str(request.kind.group_kind):
        case "Namespace":
            return _namespace(body)
        case "Deployment.apps":
            return _deployment(body)
        case "Job.batch":
            return _job(body) if request.old is None else None
        case "Service":
            return _service(body)
        case "PriorityClass.scheduling.k8s.io":
            return {"preemptionPolicy": "PreemptLowerPriority", **body}
    return None


def _namespace(body: Object) -> Object:
    labels = {**body["metadata"].get("labels", {}), "kubernetes.io/metadata.name": body["metadata"]["name"]}
    return {
        **body,
        "metadata": {**body["metadata"], "labels": labels},
        "spec": {"finalizers": ["kubernetes"], **body.get("spec", {})},
        "status": body.get("status") or {"phase": "Active"},
    }


def _deployment(body: Object) -> Object:
    spec = {
        "progressDeadlineSeconds": 600,
        "replicas": 1,
        "revisionHistoryLimit": 10,
        "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"}},
        **body.get("spec", {}),
    }
    if isinstance(spec.get("template"), dict):
        spec["template"] = _template(spec["template"])
    return {**body, "spec": spec}


def _job(body: Object) -> Object:
    """A batch/v1 Job knows its pods by its own uid."""
    metadata = body["metadata"]
    names = {"job-name": metadata["name"], "controller-uid": metadata["uid"]}
    labels = {**names, **{f"batch.kubernetes.io/{key}": value for key, value in names.items()}}
    spec = body.get("spec", {})
    template = _template(spec.get("template") or {})
    inner = {key: value for key, value in (template.get("metadata") or {}).items() if value is not None}
    inner["labels"] = {**(inner.get("labels") or {}), **labels}
    own = {"matchLabels": {"batch.kubernetes.io/controller-uid": metadata["uid"]}}
    spec = {
        "parallelism": 1,
        "completions": 1,
        "backoffLimit": 6,
        "manualSelector": False,
        "completionMode": "NonIndexed",
        "suspend": False,
        "podReplacementPolicy": "TerminatingOrFailed",
        "selector": own,
        **spec,
        "template": {**template, "metadata": inner},
    }
    return {**body, "metadata": {**metadata, "labels": {**(metadata.get("labels") or {}), **labels}}, "spec": spec}


def _template(template: dict[str, Any]) -> dict[str, Any]:
    pod = {
        "dnsPolicy": "ClusterFirst",
        "restartPolicy": "Always",
        "schedulerName": "default-scheduler",
        "securityContext": {},
        "terminationGracePeriodSeconds": 30,
        **template.get("spec", {}),
    }
    for name in ("containers", "initContainers"):
        if name in pod:
            pod[name] = [_container(container) for container in pod[name]]
    metadata = template.get("metadata") or {}
    return {**template, "metadata": metadata or {"creationTimestamp": None}, "spec": pod}


def _container(container: dict[str, Any]) -> dict[str, Any]:
    image = str(container.get("image", ""))
    tagged = ":" in image.rpartition("/")[2] and not image.endswith(":latest")
    return {
        "imagePullPolicy": "IfNotPresent" if tagged or "@" in image else "Always",
        "resources": {},
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
        **container,
    }


def _service(body: Object) -> Object:
    spec = {"sessionAffinity": "None", "type": "ClusterIP", "internalTrafficPolicy": "Cluster", **body.get("spec", {})}
    spec["ports"] = [{"targetPort": port.get("port"), **port} for port in spec.get("ports", [])]
    return {**body, "spec": spec}
