"""Rules about clusters, priority classes, approvals and the fleet's own settings."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from gitops_vg.findings import Severity
from gitops_vg.intents.models import Cluster
from gitops_vg.quantities import duration_seconds
from gitops_vg.rules.examples import cluster, document, documents, workload
from gitops_vg.rules.facts import Facts
from gitops_vg.rules.registry import Problem, problem, rule

_NAME_LENGTH = 48
"""Karmada's limit for names of clusters."""
_DIGEST = "sha256:" + "0123456789abcdef" * 4
_BAD_REF = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//|^[/.-]|/\.|[/.]$|\.lock(/|$)|^@$|^$")
"""What `git check-ref-format --branch` refuses."""


@rule(
    "GVG501",
    title="a cluster's name is none that Karmada takes",
    wrong=cluster("a-cluster-with-a-name-that-is-longer-than-48-chars", "region: cn-north"),
    right=cluster("cluster-4", "region: cn-north"),
)
def cluster_name(facts: Facts) -> Iterator[Problem]:
    """48 characters at most, and no dots. Source: Karmada, cluster validation."""
    for one in facts.intents.clusters:
        if len(one.name) > _NAME_LENGTH or "." in one.name:
            yield problem(one, ("metadata", "name"), f"{one.name} cannot be the name of a Karmada cluster",
                          f"use letters, digits and -, {_NAME_LENGTH} characters at most")  # fmt: skip


@rule(
    "GVG502",
    title="one cluster has two cgroup drivers",
    wrong=cluster("cluster-4", "cgroupDriver: systemd\nnodePools: [{name: old, cgroupDriver: cgroupfs}]"),
    right=cluster("cluster-4", "cgroupDriver: systemd\nnodePools: [{name: old, cgroupDriver: systemd}]"),
)
def mixed_drivers(facts: Facts) -> Iterator[Problem]:
    """Volcano's agent has one setting for all nodes of a cluster, and writes limits under the driver's own paths.

    With the wrong driver the limits of offline work are written where nobody reads them.
    """
    for one in facts.intents.clusters:
        for index, pool in enumerate(one.spec.node_pools):
            if pool.cgroup_driver != one.spec.cgroup_driver:
                yield problem(one, ("spec", "nodePools", index, "cgroupDriver"),
                              f"node pool {pool.name} uses {pool.cgroup_driver}, its cluster {one.spec.cgroup_driver}",
                              "use one driver in the whole cluster")  # fmt: skip


@rule(
    "GVG507",
    severity=Severity.WARNING,
    title="cgroup drivers differ across the fleet",
    wrong=cluster("cluster-4", "cgroupDriver: cgroupfs"),
    right=cluster("cluster-4", "cgroupDriver: systemd"),
)
def drivers_differ(facts: Facts) -> Iterator[Problem]:
    """Colocation writes limits under the driver's own paths; one agent configuration cannot fit both kinds."""
    counted = Counter(one.spec.cgroup_driver for one in facts.intents.clusters)
    if len(counted) < 2:
        return
    (usual, most), (_, fewer) = counted.most_common(2)
    usual = "systemd" if most == fewer else usual
    for one in facts.intents.clusters:
        if one.spec.cgroup_driver != usual:
            yield problem(one, ("spec", "cgroupDriver"), "cgroup driver differs from the rest of the fleet "
                          f"({one.spec.cgroup_driver}; others {usual})",
                          "colocation writes limits under the driver's own paths: use one driver in all clusters")  # fmt: skip


@rule(
    "GVG503",
    title="a cluster oversells without being ready for colocation",
    wrong=cluster("cluster-4", "colocation: {oversell: {cpu: true}}"),
    right=cluster("cluster-4", "colocation: {ready: true, oversell: {cpu: true}}"),
)
def oversells_unready(facts: Facts) -> Iterator[Problem]:
    """Nothing publishes oversold resources there, and nothing would take them back."""
    for one in facts.intents.clusters:
        colocation = one.spec.colocation
        if not colocation.ready and (colocation.oversell.cpu or colocation.oversell.memory):
            yield problem(one, ("spec", "colocation", "oversell"), f"{one.name} oversells, but is not ready for "
                          "colocation", "write ready: true, or remove oversell", key=True)  # fmt: skip


@rule(
    "GVG506",
    title="a cluster keeps everything back",
    wrong=cluster("cluster-4", "headroom: {cpu: 100%}"),
    right=cluster("cluster-4", "headroom: {cpu: 10%}"),
)
def nothing_left(facts: Facts) -> Iterator[Problem]:
    """With all of a resource kept as headroom, or none of the oversold trusted, no work fits any more."""
    for one in facts.intents.clusters:
        for name, share in one.spec.headroom.items():
            if share == "100%":
                yield problem(one, ("spec", "headroom", name), f"headroom.{name} of {one.name} is everything it has",
                              "write less; to empty a cluster, exclude it in a policy")  # fmt: skip
        if _sells_nothing(one):
            yield problem(one, ("spec", "colocation", "oversell", "safety"), "of the oversold resources 0% are trusted",
                          "write more than 0%, or remove oversell")  # fmt: skip


def _sells_nothing(one: Cluster) -> bool:
    oversell = one.spec.colocation.oversell
    return (oversell.cpu or oversell.memory) and oversell.safety.lstrip("0") == "%"


@rule(
    "GVG508",
    title="two priority classes are the default of all pods",
    wrong=documents(
        document("PriorityClass", "low", "{value: 10, globalDefault: true}"),
        document("PriorityClass", "high", "{value: 20, globalDefault: true}"),
    ),
    right=documents(
        document("PriorityClass", "low", "{value: 10, globalDefault: true}"),
        document("PriorityClass", "high", "{value: 20}"),
    ),
)
def two_defaults(facts: Facts) -> Iterator[Problem]:
    """Kubernetes refuses the second, or silently takes the lower. Source: Kubernetes, priority admission."""
    defaults = [one for one in facts.intents.priority_classes if one.spec.global_default]
    for one in defaults[1:]:
        place = defaults[0].source_at(("spec", "globalDefault"))
        yield problem(one, ("spec", "globalDefault"), f"{one.name} and {defaults[0].name} ({place}) are both the "
                      "global default", "keep one")  # fmt: skip


@rule(
    "GVG509",
    title="a priority class has a name of the system",
    wrong=document("PriorityClass", "system-training", "{value: 10}"),
    right=document("PriorityClass", "low", "{value: 10}"),
)
def system_class(facts: Facts) -> Iterator[Problem]:
    """Names that start with `system-` are kept for Kubernetes itself. Source: Kubernetes, PriorityClass validation."""
    for one in facts.intents.priority_classes:
        if one.name.startswith("system-"):
            yield problem(one, ("metadata", "name"), f"{one.name}: names with system- belong to Kubernetes",
                          "choose another name")  # fmt: skip


@rule(
    "GVG510",
    severity=Severity.WARNING,
    title="a fleet without clusters",
    wrong="",
    right=workload("queue: ai-training\njob: {tasks: [{name: main, image: 'train:1'}]}"),
)
def no_clusters(facts: Facts) -> Iterator[Problem]:
    """Work is placed only onto clusters that are declared in clusters/; with none, everything waits."""
    if facts.intents.workloads and not facts.intents.clusters:
        yield problem(facts.intents.fleet, (), "no cluster is declared, so nothing can be placed",
                      "write an intent of kind Cluster for each member into clusters/")  # fmt: skip


@rule(
    "GVG511",
    severity=Severity.WARNING,
    title="one plan is approved twice",
    wrong=documents(
        document("Approval", "one", f"{{plan: {_DIGEST}, reason: moved, expires: 2030-01-01}}"),
        document("Approval", "two", f"{{plan: {_DIGEST}, reason: moved, expires: 2031-01-01}}"),
    ),
    right=document("Approval", "one", f"{{plan: {_DIGEST}, reason: moved, expires: 2030-01-01}}"),
)
def approved_twice(facts: Facts) -> Iterator[Problem]:
    """The later day counts; taking one approval back would leave the other in force."""
    first: dict[str, str] = {}
    for one in facts.intents.approvals:
        known = first.setdefault(one.spec.plan, f"{one.name} ({one.source_at(('spec', 'plan'))})")
        if not known.startswith(f"{one.name} ("):
            yield problem(one, ("spec", "plan"), f"this plan is approved by {known} already", "keep one of the two")


@rule(
    "GVG514",
    title="the fleet's times contradict each other",
    wrong=document("Fleet", "demo", "capacity: {refresh: 5m, staleAfter: 2m}"),
    right=document("Fleet", "demo", "capacity: {refresh: 15s, staleAfter: 2m}"),
)
def times(facts: Facts) -> Iterator[Problem]:
    """Capacity older than `staleAfter` gets no new work, so it must be read, and not be cached, within that time."""
    capacity = facts.intents.fleet.spec.capacity
    stale = duration_seconds(capacity.stale_after)
    for field, value in (("refresh", capacity.refresh), ("cacheTTL", capacity.cache_ttl)):
        if duration_seconds(value) >= stale:
            yield problem(facts.intents.fleet, ("spec", "capacity", field), f"{field} {value} is not below staleAfter "
                          f"{capacity.stale_after}: capacity would always be stale",
                          f"lower {field}, or raise staleAfter")  # fmt: skip


@rule(
    "GVG515",
    title="the rendered branch has no name that Git takes",
    wrong=document("Fleet", "demo", "rendered: {branch: 'rendered tree'}"),
    right=document("Fleet", "demo", "rendered: {branch: rendered}"),
)
def branch_name(facts: Facts) -> Iterator[Problem]:
    """Source: git check-ref-format. The branch is written by this program alone."""
    rendered = facts.intents.fleet.spec.rendered
    if _BAD_REF.search(rendered.branch):
        yield problem(facts.intents.fleet, ("spec", "rendered", "branch"), f"{rendered.branch!r} cannot be the name of "
                      "a branch", "use letters, digits, -, / and .")  # fmt: skip
