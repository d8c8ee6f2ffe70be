"""Rules about what a workload is: its form, its schedule, its mode, its namespace."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from functools import cache

from gitops_vg.findings import Severity
from gitops_vg.rules.examples import workload
from gitops_vg.rules.facts import Facts
from gitops_vg.rules.registry import Problem, problem, rule
from gitops_vg.rules.schedule import schedule_fault

_JOB = "job: {tasks: [{name: main, image: 'train:1'}]}"
_FORMS = ("job", "service", "manifests")


@rule(
    "GVG301",
    title="a workload is not exactly one of job, service, manifests",
    wrong=workload("queue: ai-training"),
    right=workload(f"queue: ai-training\n{_JOB}"),
)
def one_form(facts: Facts) -> Iterator[Problem]:
    """A workload is placed and protected as one thing; two things are two workloads."""
    for one in facts.intents.workloads:
        forms = [form for form in _FORMS if getattr(one.spec, form) is not None]
        if not forms:
            yield problem(one, ("spec",), f"workload {one.key} has no job, no service and no manifests",
                          "write one of the three", key=True)  # fmt: skip
        for form in forms[1:]:
            yield problem(one, ("spec", form), f"workload {one.key} has {' and '.join(forms)}",
                          "keep one here and write a workload of its own for the other", key=True)  # fmt: skip


@rule(
    "GVG302",
    title="a schedule or time zone without a job",
    wrong=workload('schedule: "0 2 * * *"\nservice: {image: "shop:1"}', namespace="web"),
    right=workload(f'queue: ai-training\nschedule: "0 2 * * *"\n{_JOB}'),
)
def schedule_without_job(facts: Facts) -> Iterator[Problem]:
    """Only jobs are periodic; anywhere else the schedule would have no effect."""
    for one in facts.intents.workloads:
        if one.spec.schedule is not None and one.spec.job is None:
            yield problem(one, ("spec", "schedule"), "a schedule needs a job", "write a job, or remove the schedule",
                          key=True)  # fmt: skip
        if one.spec.time_zone is not None and one.spec.schedule is None:
            yield problem(one, ("spec", "timeZone"), "a time zone needs a schedule",
                          "write a schedule, or remove the time zone", key=True)  # fmt: skip


@rule(
    "GVG303",
    title="a schedule is not one that Volcano reads",
    wrong=workload(f'queue: ai-training\nschedule: "0 2 * * 7"\n{_JOB}'),
    right=workload(f'queue: ai-training\nschedule: "0 2 * * 0"\n{_JOB}'),
)
def bad_schedule(facts: Facts) -> Iterator[Problem]:
    """Five fields, with Sunday as 0 and not 7, or @hourly, @daily, @every 30m and the like; no time zone inside.

    Source: Volcano, CronJob admission (robfig/cron, standard parser).
    """
    for one in facts.intents.workloads:
        fault = schedule_fault(one.spec.schedule) if one.spec.schedule is not None else None
        if fault is not None:
            yield problem(one, ("spec", "schedule"), f'schedule "{one.spec.schedule}": {fault.message}', fault.fix)


@cache
def _zones() -> frozenset[str]:
    """All time zones this machine knows; none where no time zone database is installed."""
    from zoneinfo import available_timezones

    return frozenset(available_timezones())


@rule(
    "GVG304",
    title="a time zone does not exist",
    wrong=workload(f'queue: ai-training\nschedule: "0 2 * * *"\ntimeZone: Asia/Shangai\n{_JOB}'),
    right=workload(f'queue: ai-training\nschedule: "0 2 * * *"\ntimeZone: Asia/Shanghai\n{_JOB}'),
)
def unknown_time_zone(facts: Facts) -> Iterator[Problem]:
    """Names of the IANA database, in their own upper and lower case; `Local` would differ from member to member.

    Where this machine has no time zone database, only `Local` and the empty name are refused.
    """
    for one in facts.intents.workloads:
        zone = one.spec.time_zone
        if zone is None:
            continue
        if not zone or zone == "Local" or (_zones() and zone not in _zones()):
            near = difflib.get_close_matches(zone, sorted(_zones()), n=1)
            yield problem(one, ("spec", "timeZone"), f"there is no time zone {zone or '(empty)'}",
                          f"did you mean {near[0]}?" if near else "write one such as Europe/Berlin or UTC")  # fmt: skip


@rule(
    "GVG312",
    severity=Severity.WARNING,
    title="a job names no queue",
    wrong=workload(_JOB),
    right=workload(f"queue: ai-training\n{_JOB}"),
)
def no_queue(facts: Facts) -> Iterator[Problem]:
    """It goes to Volcano's queue `default`, which has neither a guarantee nor a limit, in competition with all others."""
    for one in facts.intents.workloads:
        if one.spec.job is not None and one.spec.queue is None:
            yield problem(one, ("spec",), f"job {one.key} names no queue and goes to the queue default",
                          "write queue: and a queue of policies/ (or `default`, if that is meant)", key=True)  # fmt: skip


@rule(
    "GVG317",
    title="work that cannot be divided is divided",
    wrong=workload(f"queue: ai-training\n{_JOB}\nplacement: {{mode: divide}}"),
    right=workload('service: {replicas: 4, image: "shop:1"}\nplacement: {mode: divide}', namespace="web"),
)
def undividable(facts: Facts) -> Iterator[Problem]:
    """Karmada copies a Volcano Job whole to each cluster, whatever the division says; raw objects have no replicas here.

    Source: seen on Karmada 1.18: Divided over two clusters puts the whole job into both.
    """
    for one in facts.intents.workloads:
        if one.spec.placement.mode == "divide" and one.form != "service":
            what = "a job is never divided" if one.spec.job is not None else "raw manifests cannot be divided"
            fix = "one (or leave it out)" if one.spec.job is not None else "everywhere, or one"
            yield problem(one, ("spec", "placement", "mode"), f"mode divide: {what}", f"write mode: {fix}")


@rule(
    "GVG333",
    title="a workload is in a namespace of the system",
    wrong=workload(f"queue: ai-training\n{_JOB}", namespace="kube-system"),
    right=workload(f"queue: ai-training\n{_JOB}"),
)
def reserved_namespace(facts: Facts) -> Iterator[Problem]:
    """Karmada propagates nothing in kube-* and karmada-* namespaces, and members run themselves from there.

    Source: Karmada, detector: skipped propagating namespaces.
    """
    for one in facts.intents.workloads:
        if is_reserved(one.namespace):
            yield problem(one, ("metadata", "namespace"), f"the namespace {one.namespace} belongs to the system",
                          "choose a namespace of your own")  # fmt: skip


def is_reserved(namespace: str) -> bool:
    return namespace.startswith(("kube-", "karmada-")) or namespace == "volcano-system"
