"""Rules about names that have to exist: queues, clusters, policies, priority classes, kinds."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator

from gitops_vg.findings import Severity
from gitops_vg.intents.models import ClusterChoice, Intent
from gitops_vg.intents.source import Path
from gitops_vg.rules.examples import document, policy, queue, workload
from gitops_vg.rules.facts import DEFAULT_QUEUE, ROOT_QUEUE, Facts
from gitops_vg.rules.podschema import known_kinds
from gitops_vg.rules.registry import Problem, problem, rule

_JOB = "job: {tasks: [{name: main, image: 'train:1'}]}"
_SYSTEM_CLASSES = ("system-cluster-critical", "system-node-critical")


def _meant(name: str, known: Iterable[str], *, otherwise: str) -> str:
    near = difflib.get_close_matches(name, list(known), n=1)
    return f"did you mean {near[0]}? {otherwise}" if near else otherwise


@rule(
    "GVG201",
    title="a workload names a queue that does not exist",
    wrong=workload(f"queue: ai-trainnig\n{_JOB}"),
    right=workload(f"queue: ai-training\n{_JOB}"),
)
def unknown_queue(facts: Facts) -> Iterator[Problem]:
    """Volcano refuses a job whose queue does not exist, in the member, long after the commit.

    Source: Volcano, job admission: the queue must exist, be open and have no child queues.
    """
    known = (*facts.intents.queue, DEFAULT_QUEUE)
    for each in facts.intents.workloads:
        name = each.spec.queue
        if name is not None and name not in known and name != ROOT_QUEUE:
            yield problem(each, ("spec", "queue"), f"there is no queue {name}",
                          _meant(name, known, otherwise="name a queue of policies/, or write one"))  # fmt: skip


def _choices(facts: Facts) -> Iterator[tuple[Intent, Path, ClusterChoice]]:
    """Every `clusters` block that somebody wrote, each once."""
    for one in facts.intents.policies:
        yield one, ("spec", "clusters"), one.spec.clusters
    for each in facts.intents.workloads:
        yield each, ("spec", "placement", "clusters"), each.spec.placement.clusters


@rule(
    "GVG202",
    title="a placement names a cluster that does not exist",
    wrong=workload(f"queue: ai-training\n{_JOB}\nplacement: {{clusters: {{names: [cluster-9]}}}}"),
    right=workload(f"queue: ai-training\n{_JOB}\nplacement: {{clusters: {{names: [cluster-1]}}}}"),
)
def unknown_cluster(facts: Facts) -> Iterator[Problem]:
    """Beside a name that exists Karmada ignores one that does not; alone, nothing is scheduled.

    An unknown name under `exclude` lets in what it was meant to keep out. Source: seen on Karmada 1.18.
    """
    known = facts.intents.cluster
    for intent, path, choice in _choices(facts):
        for field, names in (("names", choice.names), ("exclude", choice.exclude)):
            for index, name in enumerate(names):
                if name not in known:
                    yield problem(intent, (*path, field, index), f"there is no cluster {name}",
                                  _meant(name, known, otherwise="name a cluster of clusters/, or write one"))  # fmt: skip


@rule(
    "GVG203",
    title="a workload names a policy that does not exist",
    wrong=workload(f"queue: ai-training\n{_JOB}\nplacement: {{policy: offlin}}"),
    right=workload(f"queue: ai-training\n{_JOB}\nplacement: {{clusters: {{where: {{colocation: ready}}}}}}"),
)
def unknown_policy(facts: Facts) -> Iterator[Problem]:
    """Without its policy the workload would be placed by the defaults, anywhere."""
    for each in facts.intents.workloads:
        name = each.spec.placement.policy
        if name is not None and name not in facts.intents.policy:
            yield problem(each, ("spec", "placement", "policy"), f"there is no PlacementPolicy {name}",
                          _meant(name, facts.intents.policy, otherwise="name one of policies/, or write one"))  # fmt: skip


@rule(
    "GVG204",
    title="a workload names a priority class that does not exist",
    wrong=workload(f"queue: ai-training\npriorityClass: trainig\n{_JOB}"),
    right=workload(f"queue: ai-training\npriorityClass: training\n{_JOB}"),
)
def unknown_priority_class(facts: Facts) -> Iterator[Problem]:
    """Priority classes must exist in karmada-apiserver and in every member, or pods are refused there."""
    known = {*(one.name for one in facts.intents.priority_classes), *_SYSTEM_CLASSES}
    for each in facts.intents.workloads:
        name = each.spec.priority_class
        if name is not None and name not in known:
            yield problem(each, ("spec", "priorityClass"), f"there is no priority class {name}",
                          _meant(name, sorted(known), otherwise="name one of policies/, or write one"))  # fmt: skip


@rule(
    "GVG205",
    title="a policy selects by a queue that does not exist",
    wrong=policy("research", "selects: {queue: reserch}"),
    right=queue("research", "weight: 2"),
)
def policy_of_unknown_queue(facts: Facts) -> Iterator[Problem]:
    """The policy would apply to nothing, and its workloads would be placed by the defaults."""
    known = (*facts.intents.queue, DEFAULT_QUEUE)
    for one in facts.intents.policies:
        name = one.spec.selects.queue
        if name is not None and name not in known:
            yield problem(one, ("spec", "selects", "queue"), f"there is no queue {name}",
                          _meant(name, known, otherwise="name a queue of policies/, or write one"))  # fmt: skip


@rule(
    "GVG206",
    title="a cluster is both named and excluded",
    wrong=workload(
        f"queue: ai-training\n{_JOB}\nplacement: {{clusters: {{names: [cluster-1], exclude: [cluster-1]}}}}"
    ),
    right=workload(f"queue: ai-training\n{_JOB}\nplacement: {{clusters: {{exclude: [cluster-1]}}}}"),
)
def named_and_excluded(facts: Facts) -> Iterator[Problem]:
    """Exclusion wins in Karmada, so the name has no effect."""
    for intent, path, choice in _choices(facts):
        for index, name in enumerate(choice.exclude):
            if name in choice.names:
                yield problem(intent, (*path, "exclude", index), f"{name} is both named and excluded",
                              "remove it from one of the two lists")  # fmt: skip


@rule(
    "GVG207",
    title="the fleet protects a kind that does not exist",
    wrong=document("Fleet", "demo", "protect: [Namespace, Queu]"),
    right=document("Fleet", "demo", "protect: [Namespace, Queue]"),
)
def unknown_protected_kind(facts: Facts) -> Iterator[Problem]:
    """A typing mistake in this list leaves unprotected what somebody believes to be protected."""
    raw = {str(body["kind"]) for each in facts.intents.workloads for body in each.raw}
    known = known_kinds() | raw
    for index, name in enumerate(facts.intents.fleet.spec.protect):
        if name not in known:
            yield problem(facts.intents.fleet, ("spec", "protect", index), f"there is no kind {name}",
                          _meant(name, sorted(known), otherwise="name kinds as manifests do, for example Queue"))  # fmt: skip


@rule(
    "GVG208",
    title="a queue's parent does not exist",
    wrong=queue("vision", "parent: reserch"),
    right=queue("vision", "parent: ai-training"),
)
def unknown_parent(facts: Facts) -> Iterator[Problem]:
    """With one missing parent Volcano's hierarchical capacity plugin schedules nothing at all.

    `default` belongs to Volcano, not to this fleet, and takes no children here.
    """
    known = (*facts.intents.queue, ROOT_QUEUE)
    for one in facts.intents.queues:
        parent = one.spec.parent
        if parent not in known:
            yield problem(one, ("spec", "parent"), f"there is no queue {parent}, the parent of {one.name}",
                          _meant(parent, known, otherwise="name a queue of policies/, or leave the field out"))  # fmt: skip


@rule(
    "GVG209",
    severity=Severity.WARNING,
    title="a policy applies to no workload",
    wrong=policy("nightly", "selects: {namespace: nightly}"),
    right=workload(f"queue: ai-training\n{_JOB}"),
)
def idle_policy(facts: Facts) -> Iterator[Problem]:
    """It restricts nothing: mostly a typing mistake in `selects`, or a left-over."""
    intents = facts.intents
    used = {one.name for each in intents.workloads for one in intents.policies_of(each)}
    for one in intents.policies:
        selects = one.spec.selects
        if one.name in used or (selects.queue is not None and selects.queue not in (*intents.queue, DEFAULT_QUEUE)):
            continue
        empty = not any((selects.qos, selects.queue, selects.namespace, selects.labels))
        what = "selects nothing, and no workload names it" if empty else "selects no workload"
        yield problem(one, ("spec", "selects"), f"policy {one.name} {what}",
                      "correct `selects`, name the policy in a workload's placement, or remove it", key=True)  # fmt: skip
