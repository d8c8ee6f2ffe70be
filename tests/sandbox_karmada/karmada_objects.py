"""Small objects for tests of the embedded control plane."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Body = dict[str, Any]


def namespace(name: str = "ml") -> Body:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def policy(name: str, kind: str, api_version: str, placement: Mapping[str, Any], **spec: Any) -> Body:
    return {
        "apiVersion": "policy.karmada.io/v1alpha1",
        "kind": "PropagationPolicy",
        "metadata": {"name": name, "namespace": "ml"},
        "spec": {
            "resourceSelectors": [{"apiVersion": api_version, "kind": kind, "name": name}],
            "placement": dict(placement),
            **spec,
        },
    }


def job(name: str, *, replicas: int = 2, cpu: str = "2", queue: str = "default", **requests: str) -> Body:
    container = {"name": "main", "image": "trainer:1", "resources": {"requests": {"cpu": cpu, **requests}}}
    task = {
        "name": "worker",
        "replicas": replicas,
        "minAvailable": replicas,
        "maxRetry": 3,
        "template": {"spec": {"restartPolicy": "OnFailure", "containers": [container]}},
    }
    spec = {"minAvailable": replicas, "queue": queue, "schedulerName": "volcano", "maxRetry": 3, "tasks": [task]}
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": "ml"},
        "spec": spec,
    }


def deployment(name: str, *, replicas: int, cpu: str = "1") -> Body:
    container = {"name": "web", "image": "shop:2", "resources": {"requests": {"cpu": cpu}}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": "ml"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "template": {"metadata": {"labels": {"app": name}}, "spec": {"containers": [container]}},
        },
    }


def configmap(name: str, **data: str) -> Body:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "ml"}, "data": data}


def pinned(name: str) -> Body:
    return {"clusterAffinity": {"clusterNames": [name]}}
