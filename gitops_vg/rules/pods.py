"""Rules about pods: templates, containers, what they request."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from gitops_vg.intents.source import Path
from gitops_vg.quantities import OVERSOLD_CPU
from gitops_vg.rules.amounts import QuantityFault, amount_of, unmeant, unreadable
from gitops_vg.rules.examples import workload
from gitops_vg.rules.facts import Facts, Pod
from gitops_vg.rules.registry import Problem, problem, rule

_NATIVE = ("cpu", "memory", "ephemeral-storage", "oversold-cpu", "oversold-memory")
"""What may be requested below its limit; everything else is given out whole, request = limit."""


def _job(task: str) -> str:
    return workload(f"queue: ai-training\njob:\n  tasks:\n    - {{name: main, {task}}}")


def _service(pod: str) -> str:
    return workload(f"service: {{{pod}}}", namespace="web", name="shop")


@rule(
    "GVG309",
    title="two containers of a pod have one name",
    wrong=_job("image: 'train:1', template: {spec: {containers: [{name: a}, {name: a, image: 'log:1'}]}}"),
    right=_job("image: 'train:1', template: {spec: {containers: [{name: a}, {name: b, image: 'log:1'}]}}"),
)
def duplicate_containers(facts: Facts) -> Iterator[Problem]:
    """Init containers count too. Source: Kubernetes, pod validation."""
    for pod in facts.pods:
        seen: set[str] = set()
        for path, container in pod.containers:
            if container["name"] in seen:
                yield problem(pod.workload, (*path, "name"), f"there are two containers {container['name']}",
                              "rename one of them")  # fmt: skip
            seen.add(container["name"])


@rule(
    "GVG311",
    title="a container has no image",
    wrong=_job("replicas: 2"),
    right=_job("replicas: 2, image: 'train:1'"),
)
def no_image(facts: Facts) -> Iterator[Problem]:
    """Every container needs one: in the short form, or in the template. Source: Kubernetes, pod validation."""
    for pod in facts.pods:
        for path, container in pod.containers:
            if not container.get("image"):
                yield problem(pod.workload, path if pod.short.template else pod.path,
                              f"container {container['name']} has no image", "write image: <repository>:<tag>")  # fmt: skip


Written = tuple[Path, str, Any]
"""Where a quantity stands, its resource, and what was written."""


def _quantities(pod: Pod) -> Iterator[Written]:
    """Every quantity that somebody wrote for a pod, in the short form and in the template."""
    for field in ("requests", "limits"):
        for name, quantity in getattr(pod.short, field).items():
            yield (*pod.path, field, name), name, quantity
    if pod.faults:
        return
    spec = pod.short.template.get("spec") or {}
    for name, quantity in (spec.get("overhead") or {}).items():
        yield (*pod.path, "template", "spec", "overhead", name), name, quantity
    for kind in ("initContainers", "containers"):
        for index, container in enumerate(spec.get(kind) or ()):
            for field in ("requests", "limits"):
                for name, quantity in ((container.get("resources") or {}).get(field) or {}).items():
                    path = (*pod.path, "template", "spec", kind, index, "resources", field, name)
                    yield path, name, quantity


def _of_quantity(pod: Pod, written: Written, fault: QuantityFault | None) -> Iterator[Problem]:
    path, name, _ = written
    if fault is not None:
        yield problem(pod.workload, path, f"{name}: {fault.message}", fault.fix)


@rule(
    "GVG320",
    title="a quantity is not one",
    wrong=_job("image: 'train:1', requests: {cpu: 4cores}"),
    right=_job("image: 'train:1', requests: {cpu: 4}"),
)
def not_a_quantity(facts: Facts) -> Iterator[Problem]:
    """Kubernetes takes 2, 1.5 (in quotes), 500m, 4Gi, 1e3 (in quotes); not 1K, `1 Gi`, 4GB, NaN. Floats lose digits."""
    for pod in facts.pods:
        for written in _quantities(pod):
            yield from _of_quantity(pod, written, unreadable(written[2]))


@rule(
    "GVG321",
    title="a quantity cannot be meant",
    wrong=_job("image: 'train:1', requests: {nvidia.com/gpu: 100m}"),
    right=_job("image: 'train:1', requests: {nvidia.com/gpu: 1}"),
)
def unmeant_quantity(facts: Facts) -> Iterator[Problem]:
    """Negative amounts, a fraction of a GPU, memory of a few bytes (`100m`, `512`), 1e12 CPUs in one pod."""
    for pod in facts.pods:
        for written in _quantities(pod):
            if unreadable(written[2]) is None:
                yield from _of_quantity(pod, written, unmeant(written[1], written[2]))


def _resources(pod: Pod) -> Iterator[tuple[Path, str, Mapping[str, Any], Mapping[str, Any]]]:
    """Requests and limits of each container, merged, with the container's path and name."""
    for path, container in pod.containers:
        resources = container.get("resources") or {}
        yield path, container["name"], resources.get("requests") or {}, resources.get("limits") or {}


def _written_at(pod: Pod, path: Path, field: str, name: str) -> Path:
    """Where a merged quantity was written: the short form of the first container covers the template."""
    short = {"kubernetes.io/batch-cpu": "oversold-cpu", "kubernetes.io/batch-memory": "oversold-memory"}.get(name, name)
    written: Mapping[str, Any] = getattr(pod.short, field)
    for word in (short, name):
        if path[-2:] == ("containers", 0) and word in written:
            return (*pod.path, field, word)
    return (*path, "resources", field, name)


@rule(
    "GVG325",
    title="a container requests more than its limit",
    wrong=_job("image: 'train:1', requests: {cpu: 4}, limits: {cpu: 2}"),
    right=_job("image: 'train:1', requests: {cpu: 2}, limits: {cpu: 4}"),
)
def request_above_limit(facts: Facts) -> Iterator[Problem]:
    """Source: Kubernetes, pod validation."""
    for pod in facts.pods:
        for path, container, requests, limits in _resources(pod):
            for name in requests.keys() & limits.keys():
                request, limit = amount_of(name, requests[name]), amount_of(name, limits[name])
                if request is not None and limit is not None and request > limit:
                    yield problem(pod.workload, _written_at(pod, path, "requests", name),
                                  f"container {container} requests {name} {requests[name]}, above its limit "
                                  f"{limits[name]}", f"lower the request, or raise limits.{name}")  # fmt: skip


@rule(
    "GVG326",
    title="a device is requested below its limit",
    wrong=_job("image: 'train:1', requests: {nvidia.com/gpu: 1}, limits: {nvidia.com/gpu: 2}"),
    right=_job("image: 'train:1', requests: {nvidia.com/gpu: 2}"),
)
def device_below_limit(facts: Facts) -> Iterator[Problem]:
    """Extended resources cannot be overcommitted: request and limit are equal.

    Source: Kubernetes, pod validation. In the short form a limit left out is filled in from the request.
    """
    for pod in facts.pods:
        for path, container, requests, limits in _resources(pod):
            for name in requests.keys() - limits.keys() - set(_NATIVE):
                yield problem(pod.workload, _written_at(pod, path, "requests", name),
                              f"container {container} requests {name} without a limit",
                              f"write the same under limits, or request it in the short form: {name}")  # fmt: skip
            for name in requests.keys() & limits.keys() - set(_NATIVE):
                request, limit = amount_of(name, requests[name]), amount_of(name, limits[name])
                if request is not None and limit is not None and request < limit:
                    yield problem(pod.workload, _written_at(pod, path, "limits", name),
                                  f"container {container} requests {name} {requests[name]} with the limit "
                                  f"{limits[name]}; of {name} both must be equal", "leave the limit out")  # fmt: skip


@rule(
    "GVG327",
    title="online work asks for oversold resources",
    wrong=_service("image: 'shop:1', requests: {oversold-cpu: 1}"),
    right=_service("image: 'shop:1', requests: {cpu: 1}"),
)
def oversold_online(facts: Facts) -> Iterator[Problem]:
    """Oversold resources are what online work leaves unused; they vanish just when online work needs them."""
    for pod in facts.pods:
        if pod.workload.qos == "online":
            for name in pod.oversold:
                word = "oversold-cpu" if name == OVERSOLD_CPU else "oversold-memory"
                field = "requests" if {word, name} & pod.short.requests.keys() else "limits"
                path = (*pod.path, "template", "spec", "containers", 0)
                yield problem(pod.workload, _written_at(pod, path, field, name),
                              f"online workload {pod.workload.key} asks for {word}",
                              "ask for cpu or memory, or write qos: offline")  # fmt: skip


@rule(
    "GVG339",
    title="a port is there twice",
    wrong=_service("image: 'shop:1', ports: [8080, 8080]"),
    right=_service("image: 'shop:1', ports: [8080, 8443]"),
)
def duplicate_ports(facts: Facts) -> Iterator[Problem]:
    """A Service refuses two ports of one number. Source: Kubernetes, service validation."""
    for pod in facts.pods:
        for index, port in enumerate(pod.short.ports):
            if port in pod.short.ports[:index]:
                yield problem(pod.workload, (*pod.path, "ports", index), f"port {port} is there twice",
                              "remove one of them")  # fmt: skip


@rule(
    "GVG340",
    title="a service whose pods do not restart",
    wrong=_service("image: 'shop:1', restartPolicy: Never"),
    right=_service("image: 'shop:1'"),
)
def service_without_restart(facts: Facts) -> Iterator[Problem]:
    """A Deployment takes only restartPolicy Always. Source: Kubernetes, deployment validation."""
    for pod in facts.pods:
        if pod.workload.spec.service is None or pod.template is None:
            continue
        policy = pod.template.get("spec", {}).get("restartPolicy", "Always")
        if policy != "Always":
            path = (*pod.path, "restartPolicy") if pod.short.restart_policy else (
                *pod.path, "template", "spec", "restartPolicy")  # fmt: skip
            yield problem(pod.workload, path, f"restartPolicy {policy}: the pods of a service always restart",
                          "remove it, or write a job")  # fmt: skip


@rule(
    "GVG343",
    title="a pod template is not one that an API server takes",
    wrong=_job("image: 'train:1', template: {spec: {imagePullPolcy: Always}}"),
    right=_job("image: 'train:1', template: {spec: {containers: [{imagePullPolicy: Always}]}}"),
)
def bad_template(facts: Facts) -> Iterator[Problem]:
    """An unknown field is answered with error 500 under server-side apply, a wrong type with 422; neither has a line.

    Source: the structural schemas of Kubernetes 1.35.
    """
    for pod in facts.pods:
        for fault in pod.faults:
            yield problem(pod.workload, (*pod.path, "template", *fault.path), f"template: {fault.message}", fault.fix,
                          key=True)  # fmt: skip
