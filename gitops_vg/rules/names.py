"""Rules about names: lengths after derivation, and objects that would have the same name."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gitops_vg.findings import Severity
from gitops_vg.intents.models import Workload
from gitops_vg.rules.examples import documents, workload
from gitops_vg.rules.facts import Facts, Owned, brings_service
from gitops_vg.rules.registry import Problem, problem, rule

_JOB = "queue: ai-training\njob: {tasks: [{name: main, image: 'train:1'}]}"
_LABEL = 63
_CRON_NAME = 52
"""Volcano's limit for CronJobs: the run's minute follows the name."""
_RUN_SUFFIX = 11
"""`-` and the minute of a run of a CronJob."""
_COMPONENT_NAME = 32
"""Karmada's limit for the names of components of a binding."""
_BINDING = 253
_DNS_1035 = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_LONG = "a-name-that-is-as-long-as-names-of-jobs-must-never-become-1"


@rule(
    "GVG313",
    title="two objects have the same binding in Karmada",
    wrong=documents(
        workload(_JOB),
        workload(
            "manifests:\n  inline:\n    - {apiVersion: batch/v1, kind: Job, metadata: {name: train}, spec: {template: "
            "{spec: {restartPolicy: Never, containers: [{name: main, image: 'x:1'}]}}}}",
            name="migration",
        ),
    ),
    right=documents(
        workload(_JOB),
        workload(
            "manifests:\n  inline:\n    - {apiVersion: batch/v1, kind: Job, metadata: {name: migrate}, spec: {template: "
            "{spec: {restartPolicy: Never, containers: [{name: main, image: 'x:1'}]}}}}",
            name="migration",
        ),
    ),
)
def same_binding(facts: Facts) -> Iterator[Problem]:
    """Karmada names a binding `<name>-<kind>` without the API group, so a batch/v1 Job and a Volcano Job collide.

    The second of them never gets a binding, without an error anywhere. Source: seen on Karmada 1.18.
    """
    first: dict[tuple[str, str, str], Owned] = {}
    for owned in facts.objects:
        name = f"{owned.key.name}-{owned.key.kind.lower()}"
        known = first.setdefault((owned.key.namespace, owned.key.kind.lower(), owned.key.name), owned)
        if known.key.group != owned.key.group:
            yield Problem(owned.at, f"{owned.key} and {known.key} ({known.at}) would share the binding {name}",
                          "rename one of them")  # fmt: skip


@rule(
    "GVG336",
    title="two sources for one object",
    wrong=documents(
        workload("service: {image: 'shop:1', ports: [80]}", name="shop", namespace="web"),
        workload(
            "manifests:\n  inline:\n    - {apiVersion: v1, kind: Service, metadata: {name: shop}}",
            name="extra",
            namespace="web",
        ),
    ),
    right=documents(
        workload("service: {image: 'shop:1', ports: [80]}", name="shop", namespace="web"),
        workload(
            "manifests:\n  inline:\n    - {apiVersion: v1, kind: Service, metadata: {name: shop-extra}}",
            name="extra",
            namespace="web",
        ),
    ),
)
def two_sources(facts: Facts) -> Iterator[Problem]:
    """The two would overwrite each other for ever. Services that Volcano's svc plugin makes in members count too."""
    first: dict[object, Owned] = {}
    for owned in facts.objects:
        known = first.setdefault(owned.key, owned)
        if known is not owned:
            yield Problem(owned.at, f"{owned.key} comes from {owned.what} and from {known.what} ({known.at})",
                          "keep one of them, or rename one")  # fmt: skip


@rule(
    "GVG314",
    title="the names of a job's pods become too long",
    wrong=workload(_JOB, name=_LONG),
    right=workload(_JOB, name="short"),
)
def pod_name_too_long(facts: Facts) -> Iterator[Problem]:
    """Pods are named `<job>-<task>-<number>`, 63 characters at most; a run of a periodic job has 11 more.

    Source: Volcano, job admission (jobs of a CronJob are not checked before they are made).
    """
    for one in facts.intents.workloads:
        if one.spec.job is None or _is_long_cron(one):
            continue
        run = _RUN_SUFFIX if one.spec.schedule is not None else 0
        for index, task in enumerate(one.spec.job.tasks):
            number = max(index, task.replicas - 1, 0)
            length = len(one.name) + run + len(f"-{task.name}-{number}")
            if length > _LABEL:
                yield problem(one, ("spec", "job", "tasks", index, "name"),
                              f"pods of task {task.name} would be named with {length} characters, {_LABEL} are possible",
                              f"shorten the name of the workload or of the task by {length - _LABEL}")  # fmt: skip


@rule(
    "GVG315",
    title="the name of a periodic job is too long",
    wrong=workload(f'schedule: "@daily"\nqueue: ai-training\n{_JOB.splitlines()[1]}', name=_LONG[:53].rstrip("-")),
    right=workload(f'schedule: "@daily"\nqueue: ai-training\n{_JOB.splitlines()[1]}', name="daily"),
)
def cron_name_too_long(facts: Facts) -> Iterator[Problem]:
    """52 characters at most. Source: Volcano, CronJob admission."""
    for one in facts.intents.workloads:
        if _is_long_cron(one):
            yield problem(one, ("metadata", "name"), f"the name has {len(one.name)} characters; a periodic job may "
                          f"have {_CRON_NAME}", "shorten it")  # fmt: skip


def _is_long_cron(one: Workload) -> bool:
    return one.form == "periodic" and len(one.name) > _CRON_NAME


@rule(
    "GVG316",
    title="a name is none that a Service can have",
    wrong=workload("service: {image: 'shop:1', ports: [80]}", name="2nd.shop", namespace="web"),
    right=workload("service: {image: 'shop:1', ports: [80]}", name="second-shop", namespace="web"),
)
def not_a_service_name(facts: Facts) -> Iterator[Problem]:
    """A Service is found by DNS: its name starts with a letter, has no dots, and 63 characters at most.

    A service with ports gets one, and so does a job with the plugins svc, tensorflow, pytorch, mpi or ray.
    """
    for one in facts.intents.workloads:
        served = one.spec.service is not None and bool(one.spec.service.ports)
        if (served or brings_service(one)) and not (len(one.name) <= _LABEL and _DNS_1035.fullmatch(one.name)):
            yield problem(one, ("metadata", "name"), f"the Service {one.name} that this workload brings cannot be named "
                          "so", "start with a letter; letters, digits and - up to 63 characters")  # fmt: skip


@rule(
    "GVG318",
    severity=Severity.WARNING,
    title="the name of a task is longer than Karmada takes",
    wrong=workload("queue: ai-training\njob: {tasks: [{name: a-task-with-a-name-beyond-32-chars, image: 'train:1'}]}"),
    right=workload(_JOB),
)
def task_name_too_long(facts: Facts) -> Iterator[Problem]:
    """With the gate MultiplePodTemplatesScheduling a task is a component of the binding, and such names have 32 at most.

    Source: Karmada, ResourceBinding validation.
    """
    for one in facts.intents.workloads:
        for index, task in enumerate(one.spec.job.tasks if one.spec.job is not None else ()):
            if len(task.name) > _COMPONENT_NAME:
                yield problem(one, ("spec", "job", "tasks", index, "name"),
                              f"the task's name has {len(task.name)} characters; Karmada's components have "
                              f"{_COMPONENT_NAME} at most", "shorten it")  # fmt: skip


@rule(
    "GVG322",
    title="a name too long for what is derived from it",
    wrong=workload("service: {image: 'shop:1'}", name="a" * 64, namespace="web"),
    right=workload("service: {image: 'shop:1'}", name="shop", namespace="web"),
)
def derived_too_long(facts: Facts) -> Iterator[Problem]:
    """A service's name is a label of its pods: 63 characters. A binding is `<name>-<kind>`: 253 characters.

    Karmada makes no binding where its name would be longer, and the object stays unplaced without an error.
    """
    for one in facts.intents.workloads:
        if one.spec.service is not None and len(one.name) > _LABEL and not one.spec.service.ports:
            yield problem(one, ("metadata", "name"), f"the name has {len(one.name)} characters; the label of a service's "
                          f"pods may have {_LABEL}", "shorten it")  # fmt: skip
    for owned in facts.objects:
        length = len(f"{owned.key.name}-{owned.key.kind}")
        if length > _BINDING:
            yield Problem(owned.at, f"the binding of {owned.key.kind} {owned.key.name[:20]}… would have a name of {length} "
                          f"characters, {_BINDING} are possible", "shorten the name")  # fmt: skip
