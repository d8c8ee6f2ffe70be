"""Rules about batch jobs: gangs, tasks, plugins."""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from gitops_vg.findings import Severity
from gitops_vg.intents.models import JobSpec, Workload
from gitops_vg.rules.examples import workload
from gitops_vg.rules.facts import Facts
from gitops_vg.rules.registry import Problem, problem, rule

PLUGINS = ("env", "hcclrank", "mpi", "pytorch", "ray", "ssh", "svc", "tensorflow")
"""What Volcano has built in (pkg/controllers/job/plugins)."""


def _job(job: str) -> str:
    return workload(f"queue: ai-training\njob:\n  {job}")


def _jobs(facts: Facts) -> Iterator[tuple[Workload, JobSpec]]:
    for one in facts.intents.workloads:
        if one.spec.job is not None:
            yield one, one.spec.job


@rule(
    "GVG305",
    title="a gang is larger than its job",
    wrong=_job("gang: 4\n  tasks: [{name: worker, replicas: 3, image: 'train:1'}]"),
    right=_job("gang: all\n  tasks: [{name: worker, replicas: 3, image: 'train:1'}]"),
)
def gang_too_large(facts: Facts) -> Iterator[Problem]:
    """Volcano refuses a job whose minAvailable is more than its pods; a gang of no pod has nothing to start."""
    for one, job in _jobs(facts):
        pods = sum(task.replicas for task in job.tasks)
        largest = max(range(len(job.tasks)), key=lambda index: job.tasks[index].replicas)
        if isinstance(job.gang, int) and job.gang > pods:
            yield problem(
                one, ("spec", "job", "gang"), f"gang: {job.gang} is more than the {pods} replicas of its tasks",
                f"write `gang: all`, or raise tasks[{job.tasks[largest].name}].replicas to at least "
                f"{job.tasks[largest].replicas + job.gang - pods}",
            )  # fmt: skip
        elif isinstance(job.gang, int) and job.gang < 1:
            yield problem(one, ("spec", "job", "gang"), f"gang: {job.gang} is no number of pods",
                          "write `none` for pods that start one by one, or at least 1")  # fmt: skip
        elif pods == 0:
            yield problem(one, ("spec", "job", "tasks"), f"job {one.key} has no pod: every task has 0 replicas",
                          "give a task at least 1 replica", key=True)  # fmt: skip


@rule(
    "GVG306",
    title="a task must start more pods than it has",
    wrong=_job("tasks: [{name: worker, replicas: 2, minAvailable: 3, image: 'train:1'}]"),
    right=_job("tasks: [{name: worker, replicas: 3, minAvailable: 2, image: 'train:1'}]"),
)
def task_minimum_too_large(facts: Facts) -> Iterator[Problem]:
    """Source: Volcano, job admission: a task's minAvailable is between 0 and its replicas."""
    for one, job in _jobs(facts):
        for index, task in enumerate(job.tasks):
            if task.min_available is not None and task.min_available > task.replicas:
                yield problem(one, ("spec", "job", "tasks", index, "minAvailable"),
                              f"minAvailable: {task.min_available} is more than the {task.replicas} replicas of task "
                              f"{task.name}", f"write at most {task.replicas}, or raise replicas")  # fmt: skip


@rule(
    "GVG307",
    severity=Severity.WARNING,
    title="minimums of tasks that have no effect",
    wrong=_job("gang: 2\n  tasks: [{name: worker, replicas: 4, minAvailable: 3, image: 'train:1'}]"),
    right=_job("gang: 3\n  tasks: [{name: worker, replicas: 4, minAvailable: 3, image: 'train:1'}]"),
)
def minimums_ignored(facts: Facts) -> Iterator[Problem]:
    """With a gang smaller than the sum of its tasks' minimums, Volcano skips the checks of all tasks.

    Source: Volcano, pkg/scheduler/api/job_info.go.
    """
    for one, job in _jobs(facts):
        total = sum(task.min_available or 0 for task in job.tasks)
        gang = {"all": total, "none": 1}.get(job.gang, 0) if isinstance(job.gang, str) else job.gang
        index = next((index for index, task in enumerate(job.tasks) if task.min_available), None)
        if index is not None and 0 < gang < total:
            yield problem(one, ("spec", "job", "tasks", index, "minAvailable"),
                          f"the tasks' minAvailable are {total} together, more than the gang of {gang}: all are ignored",
                          f"write `gang: {total}`, or leave the tasks' minAvailable out")  # fmt: skip


@rule(
    "GVG308",
    title="two tasks have one name",
    wrong=_job("tasks: [{name: worker, image: 'train:1'}, {name: worker, image: 'train:2'}]"),
    right=_job("tasks: [{name: master, image: 'train:1'}, {name: worker, image: 'train:2'}]"),
)
def duplicate_tasks(facts: Facts) -> Iterator[Problem]:
    """Pods are named `<job>-<task>-<number>`. Source: Volcano, job admission."""
    for one, job in _jobs(facts):
        seen: dict[str, int] = {}
        for index, task in enumerate(job.tasks):
            first = seen.setdefault(task.name, index)
            if first != index:
                place = one.source_at(("spec", "job", "tasks", first, "name"))
                yield problem(one, ("spec", "job", "tasks", index, "name"),
                              f"there are two tasks {task.name}: also in {place}", "rename one of them")  # fmt: skip


@rule(
    "GVG310",
    title="a plugin does not exist",
    wrong=_job("plugins: [envs]\n  tasks: [{name: worker, image: 'train:1'}]"),
    right=_job("plugins: [env]\n  tasks: [{name: worker, image: 'train:1'}]"),
)
def unknown_plugin(facts: Facts) -> Iterator[Problem]:
    """Volcano refuses a job with a plugin that it has not built in."""
    for one, job in _jobs(facts):
        listed = not isinstance(job.plugins, dict)
        for index, name in enumerate(job.plugins):
            if name not in PLUGINS:
                near = difflib.get_close_matches(name, PLUGINS, n=1)
                fix = f"did you mean {near[0]}? " if near else ""
                yield problem(one, ("spec", "job", "plugins", index if listed else name), f"there is no plugin {name}",
                              f"{fix}The plugins are {', '.join(PLUGINS)}", key=not listed)  # fmt: skip


@rule(
    "GVG319",
    title="the mpi plugin without its master task",
    wrong=_job("plugins: [mpi]\n  tasks: [{name: worker, replicas: 2, image: 'train:1'}]"),
    right=_job("plugins: [mpi]\n  tasks: [{name: master, image: 'train:1'}, {name: worker, image: 'train:1'}]"),
)
def mpi_without_master(facts: Facts) -> Iterator[Problem]:
    """Source: Volcano, job admission. The task is called `master` unless the plugin says `--master=<name>`."""
    for one, job in _jobs(facts):
        if "mpi" not in job.plugins:
            continue
        arguments = job.plugins["mpi"] if isinstance(job.plugins, dict) else ()
        master = next((text.split("=", 1)[1] for text in arguments if text.startswith(("--master=", "-master="))), "")
        if (master or "master") not in {task.name for task in job.tasks}:
            yield problem(one, ("spec", "job", "plugins"), f"the mpi plugin needs a task {master or 'master'}",
                          "add the task, or name another: mpi: [--master=<task>]", key=True)  # fmt: skip


@rule(
    "GVG341",
    severity=Severity.WARNING,
    title="a job whose pods always restart",
    wrong=_job("tasks: [{name: worker, image: 'train:1', restartPolicy: Always}]"),
    right=_job("tasks: [{name: worker, image: 'train:1', restartPolicy: OnFailure}]"),
)
def never_ends(facts: Facts) -> Iterator[Problem]:
    """Its containers start again when they are done, so the job never completes and keeps its queue's share."""
    for pod in facts.pods:
        if pod.workload.spec.job is None or pod.template is None:
            continue
        if pod.template.get("spec", {}).get("restartPolicy") == "Always":
            path = (*pod.path, "restartPolicy") if pod.short.restart_policy else (
                *pod.path, "template", "spec", "restartPolicy")  # fmt: skip
            yield problem(pod.workload, path, "restartPolicy Always: the job never completes",
                          "write OnFailure or Never")  # fmt: skip
