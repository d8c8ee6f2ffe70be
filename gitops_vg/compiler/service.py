"""Services: a Deployment, and a Service in front of it when it has ports."""

from __future__ import annotations

from typing import Any

from gitops_vg.compiler.defaults import schema_defaults
from gitops_vg.compiler.labels import QOS_ANNOTATION, QOS_LEVELS, intent_metadata
from gitops_vg.intents.models import Workload
from gitops_vg.intents.pods import pod_template
from gitops_vg.objects import FIELD_MANAGER, MANAGED_BY_LABEL, NAME_LABEL, Manifest


def deployment(workload: Workload, *, protect: bool) -> Manifest:
    """The Deployment; Karmada divides its replicas by the weights of the policy."""
    service = workload.spec.service
    assert service is not None
    selector = _selector(workload)
    template = pod_template(service, container=workload.name)
    metadata = template["metadata"] = template.get("metadata") or {}
    metadata["labels"] = {**(metadata.get("labels") or {}), **selector, MANAGED_BY_LABEL: FIELD_MANAGER}
    metadata["annotations"] = {QOS_ANNOTATION: QOS_LEVELS[workload.qos], **(metadata.get("annotations") or {})}
    if workload.spec.priority_class is not None:
        template["spec"].setdefault("priorityClassName", workload.spec.priority_class)
    body = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": intent_metadata(workload.metadata, namespace=workload.namespace, protect=protect),
        "spec": {"replicas": service.replicas, "selector": {"matchLabels": selector}, "template": template},
    }
    return Manifest(schema_defaults(body), origin=f"Workload {workload.key}")


def service(workload: Workload, *, protect: bool) -> Manifest | None:
    """The Service; None without ports."""
    spec = workload.spec.service
    assert spec is not None
    if not spec.ports:
        return None
    ports: list[dict[str, Any]] = [
        {"name": f"port-{port}", "port": port, "targetPort": port, "protocol": "TCP"} for port in spec.ports
    ]
    return Manifest(
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": intent_metadata(workload.metadata, namespace=workload.namespace, protect=protect),
            "spec": {"type": "ClusterIP", "selector": _selector(workload), "ports": ports},
        },
        origin=f"Workload {workload.key}",
    )


def _selector(workload: Workload) -> dict[str, str]:
    return {NAME_LABEL: workload.name}
