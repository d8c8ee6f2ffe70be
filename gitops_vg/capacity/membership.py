"""Whose pod is it: the fleet's workloads recognised in a member cluster.

By what the compiler stamps on them and what Volcano writes: pods of a Volcano Job carry
its name and task; pods of a service the two labels of its template; a periodic job's runs
are Jobs named `<workload>-<scheduled minute>`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gitops_vg.intents.fleet import Intents
from gitops_vg.objects import FIELD_MANAGER, MANAGED_BY_LABEL, NAME_LABEL

JOB_NAME = "volcano.sh/job-name"
TASK_NAME = "volcano.sh/task-spec"


class Membership:
    """Finds the workload of a live object; built once from the intents."""

    def __init__(self, intents: Intents) -> None:
        self._form = {workload.key: workload.form for workload in intents.workloads}

    def of_job(self, *, namespace: str, name: str) -> str:
        """The key of the workload that a Volcano Job belongs to, "" for one of somebody else."""
        key = f"{namespace}/{name}"
        if self._form.get(key) == "job":
            return key
        parent, _, minute = key.rpartition("-")
        return parent if minute.isdecimal() and self._form.get(parent) == "periodic" else ""

    def of_pod(self, metadata: Mapping[str, Any]) -> tuple[str, str]:
        """(workload, task) of a pod, ("", "") for one of somebody else; a service has no task."""
        namespace = metadata.get("namespace") or ""
        labels, annotations = metadata.get("labels") or {}, metadata.get("annotations") or {}
        job = labels.get(JOB_NAME) or annotations.get(JOB_NAME)
        if job:
            workload = self.of_job(namespace=namespace, name=job)
            task = labels.get(TASK_NAME) or annotations.get(TASK_NAME) or ""
            return (workload, task) if workload else ("", "")
        key = f"{namespace}/{labels.get(NAME_LABEL, '')}"
        if labels.get(MANAGED_BY_LABEL) == FIELD_MANAGER and self._form.get(key) == "service":
            return key, ""
        return "", ""
