"""Pods of a workload: their template, what they request, how many must start together.

Placement and compiler both stand on this, so that what is planned is what is rendered.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from gitops_vg.intents.models import JobSpec, PodShort, Quantity, Task
from gitops_vg.quantities import CPU, MEMORY, OVERSOLD_CPU, OVERSOLD_MEMORY, PODS, amount, amounts

SHORT_NAMES = {"oversold-cpu": OVERSOLD_CPU, "oversold-memory": OVERSOLD_MEMORY}
"""Our words for resources, and the names under which Volcano's agent publishes them."""


def resource_list(resources: Mapping[str, Quantity]) -> dict[str, str]:
    """A resource list as Kubernetes writes it: our words translated, every quantity a string.

    `oversold-cpu` counts CPUs as people do; `kubernetes.io/batch-cpu` counts whole millicores.
    Raises ValueError for what is no quantity (rules have said so before).
    """
    result = {}
    for name, quantity in resources.items():
        if name == "oversold-cpu":
            result[OVERSOLD_CPU] = str(amount(CPU, quantity))
        elif name == "oversold-memory":
            result[OVERSOLD_MEMORY] = str(amount(MEMORY, quantity))
        else:
            result[name] = str(quantity)
    return result


def pod_template(pod: PodShort, *, container: str) -> dict[str, Any]:
    """The pod template: `template` with the short form merged over its first container.

    `container` names the container when the template has none.
    """
    template = deepcopy(dict(pod.template))
    spec = template["spec"] = template.get("spec") or {}
    containers = spec["containers"] = spec.get("containers") or [{}]
    first = containers[0]
    first.setdefault("name", container)
    _merge_container(first, pod)
    if pod.restart_policy is not None:
        spec["restartPolicy"] = pod.restart_policy
    if pod.node_selector:
        spec["nodeSelector"] = {**spec.get("nodeSelector", {}), **pod.node_selector}
    return template


def _merge_container(container: dict[str, Any], pod: PodShort) -> None:
    if pod.image is not None:
        container["image"] = pod.image
    if pod.command:
        container["command"] = list(pod.command)
    if pod.args:
        container["args"] = list(pod.args)
    if pod.working_dir is not None:
        container["workingDir"] = pod.working_dir
    if pod.env:
        kept = [entry for entry in container.get("env", []) if entry.get("name") not in pod.env]
        container["env"] = kept + [{"name": name, "value": value} for name, value in pod.env.items()]
    if pod.ports:
        known = {port.get("containerPort") for port in container.get("ports", [])}
        new = [{"containerPort": port, "protocol": "TCP"} for port in pod.ports if port not in known]
        container["ports"] = container.get("ports", []) + new
    if pod.requests or pod.limits:
        container["resources"] = _resources(container.get("resources", {}), pod)


def _resources(written: Mapping[str, Any], pod: PodShort) -> dict[str, Any]:
    requests = {**written.get("requests", {}), **resource_list(pod.requests)}
    limits = {**written.get("limits", {}), **resource_list(pod.limits)}
    for name, quantity in requests.items():
        # Devices and huge pages cannot be overcommitted: the API server demands limit = request.
        if "/" in name or name.startswith("hugepages-"):
            limits.setdefault(name, quantity)
    resources = {key: value for key, value in written.items() if key not in ("requests", "limits")}
    if requests:
        resources["requests"] = requests
    if limits:
        resources["limits"] = limits
    return resources


def template_requests(template: Mapping[str, Any]) -> dict[str, int]:
    """What one pod of a template takes from its node, as the scheduler counts.

    Containers and restartable init containers add up; a plain init container counts where it
    needs more at its turn; a limit stands in for a request left out; overhead is added.
    """
    spec = template.get("spec", {})
    total: dict[str, int] = {}
    for container in spec.get("containers", []):
        _add(total, _container_requests(container))
    peak: dict[str, int] = {}
    sidecars: dict[str, int] = {}
    for container in spec.get("initContainers", []):
        own = _container_requests(container)
        if container.get("restartPolicy") == "Always":
            _add(total, own)
            _add(sidecars, own)
            own = sidecars
        else:
            own = {name: own.get(name, 0) + sidecars.get(name, 0) for name in own.keys() | sidecars.keys()}
        for name, value in own.items():
            peak[name] = max(peak.get(name, 0), value)
    for name, value in peak.items():
        total[name] = max(total.get(name, 0), value)
    _add(total, amounts(spec.get("overhead", {})))
    return {**total, PODS: 1}


def _container_requests(container: Mapping[str, Any]) -> dict[str, int]:
    resources = container.get("resources") or {}
    return amounts({**(resources.get("limits") or {}), **(resources.get("requests") or {})})


def _add(total: dict[str, int], more: Mapping[str, int]) -> None:
    for name, value in more.items():
        total[name] = total.get(name, 0) + value


def pod_requests(pod: PodShort) -> dict[str, int]:
    """What one pod takes from its node. Raises ValueError for what is no quantity."""
    return template_requests(pod_template(pod, container="main"))


def gang_minimum(job: JobSpec) -> int:
    """How many pods must start together: the job's `minAvailable`.

    Volcano reads 0 as "all of them" (its mutation sums the tasks), so no gang is a minimum of 1.
    """
    if job.gang == "none":
        return 1
    if job.gang == "all":
        return max(1, sum(task_minimum(job, task) for task in job.tasks))
    return job.gang


def task_minimum(job: JobSpec, task: Task) -> int:
    """How many pods of a task must start together: its `minAvailable`.

    With a gang of part of the pods each task may start with none of its own, unless it says otherwise;
    Volcano ignores minimums of tasks whose sum is more than the job's.
    """
    if task.min_available is not None:
        return task.min_available
    return task.replicas if job.gang == "all" else 0
