"""Rules about placements: clusters that what is written rules out, counts that cannot be met."""

from __future__ import annotations

from collections.abc import Iterator

from gitops_vg.findings import Severity
from gitops_vg.intents.models import Cluster, Intent, Workload
from gitops_vg.intents.source import Path
from gitops_vg.quantities import OVERSOLD_CPU
from gitops_vg.rules.examples import documents, policy, workload
from gitops_vg.rules.facts import Choice, Facts
from gitops_vg.rules.registry import Problem, problem, rule

_JOB = "queue: ai-training\njob: {tasks: [{name: main, image: 'train:1'}]}"
_SERVICE = "service: {replicas: 4, image: 'shop:1'}"
_LABELS = ("volcano.sh/colocation-ready", "volcano.sh/colocation", "volcano.sh/oversubscription",
           "topology.kubernetes.io/region", "topology.kubernetes.io/zone", "kubernetes.io/os")  # fmt: skip
"""Keys that stand on clusters or nodes as labels; nothing taints with them."""


def _service(placement: str) -> str:
    return workload(f"{_SERVICE}\nplacement: {{{placement}}}", name="shop", namespace="web")


@rule(
    "GVG329",
    severity=Severity.WARNING,
    title="a toleration names a label",
    wrong=workload(f"{_JOB}\nplacement: {{tolerate: [{{key: volcano.sh/colocation-ready}}]}}"),
    right=workload(f"{_JOB}\nplacement: {{clusters: {{where: {{colocation: ready}}}}}}"),
)
def tolerated_label(facts: Facts) -> Iterator[Problem]:
    """Taints are tolerated, labels are selected: a toleration lets work in, it does not lead it there."""
    tolerating: list[tuple[Intent, Path]] = []
    for one in facts.intents.policies:
        tolerating += [(one, ("spec", "tolerate", i)) for i, t in enumerate(one.spec.tolerate) if t.key in _LABELS]
    for each in facts.intents.workloads:
        tolerate = each.spec.placement.tolerate
        tolerating += [(each, ("spec", "placement", "tolerate", i)) for i, t in enumerate(tolerate) if t.key in _LABELS]
    for intent, path in tolerating:
        yield problem(intent, (*path, "key"), "this is a label of clusters, and a label needs no toleration",
                      "remove it; to ask for such clusters write clusters: {where: {colocation: ready}}")  # fmt: skip


@rule(
    "GVG330",
    title="online work is let onto a cluster that packs",
    wrong=_service("clusters: {names: [cluster-1, cluster-2]}"),
    right=_service("clusters: {names: [cluster-1, cluster-3]}"),
)
def online_on_binpack(facts: Facts) -> Iterator[Problem]:
    """A cluster that packs its nodes full leaves no room for the peaks of latency-sensitive work.

    It is never placed there, so naming such a cluster contradicts what will happen.
    """
    for one in facts.intents.workloads:
        if one.qos == "online":
            for choice in facts.choices(one):
                yield from _admits_binpack(facts, one, choice)


def _admits_binpack(facts: Facts, one: Workload, given: Choice) -> Iterator[Problem]:
    intent, path, choice = given
    fix = "name clusters with packing: spread, or write qos: offline"
    for index, name in enumerate(choice.names):
        cluster = facts.intents.cluster.get(name)
        if cluster is not None and cluster.spec.packing == "binpack" and name not in choice.exclude:
            yield problem(intent, (*path, "names", index), f"online workload {one.key} is let onto {name}, which packs "
                          f"(packing: binpack, {cluster.source_at(('spec', 'packing'))})", fix)  # fmt: skip
    if choice.where.packing == "binpack":
        yield problem(intent, (*path, "where", "packing"), f"online workload {one.key} is let only onto clusters that "
                      "pack", fix)  # fmt: skip


@rule(
    "GVG331",
    title="a count of clusters that runs backwards",
    wrong=_service("clusters: {count: 3-2}"),
    right=_service("clusters: {count: 2-3}"),
)
def backward_count(facts: Facts) -> Iterator[Problem]:
    """Karmada: minGroups may not be more than maxGroups."""
    intents = facts.intents
    places: list[Choice] = [Choice(one, ("spec", "clusters"), one.spec.clusters) for one in intents.policies]
    places += [Choice(one, ("spec", "placement", "clusters"), one.spec.placement.clusters) for one in intents.workloads]
    for intent, path, choice in places:
        low, high = _bounds(choice.count)
        if low > high:
            yield problem(intent, (*path, "count"), f"count {choice.count} runs backwards", f"write {high}-{low}")
        elif choice.count == 0 or (isinstance(choice.count, int) and choice.count < 0):
            yield problem(intent, (*path, "count"), f"count {choice.count} is no number of clusters",
                          "write at least 1")  # fmt: skip


def _bounds(count: str | int | None) -> tuple[int, int]:
    """Least and most clusters of a count; (1, 1) without one."""
    if count is None:
        return 1, 1
    low, _, high = str(count).partition("-") if isinstance(count, str) else (str(count), "", "")
    return int(low), int(high or low)


@rule(
    "GVG337",
    title="more clusters are asked for than can be had",
    wrong=_service("clusters: {count: 3}"),
    right=_service("clusters: {count: 2}"),
)
def too_many_clusters(facts: Facts) -> Iterator[Problem]:
    """The declared clusters that the placement lets in are fewer than its count, or lie in fewer regions.

    The example's fleet has three clusters, and one of them packs, so that an online service has two.
    """
    for one in facts.intents.workloads:
        if one.form == "manifests" or _contradicted(facts, one):
            continue
        candidates = facts.candidates(one)
        for choice in facts.choices(one):
            least, most = _bounds(choice.choice.count)
            if least > most:
                continue  # Said by GVG331.
            if least > 1 and one.spec.job is not None and choice.intent is one:
                yield problem(one, (*choice.path, "count"), f"a job runs in one cluster, and count is {least}",
                              "remove the count")  # fmt: skip
            elif one.spec.job is None and candidates and least > _places(one, candidates):
                what = "clusters" if one.spec.placement.spread in (None, "cluster") else f"{one.spec.placement.spread}s"
                yield problem(
                    choice.intent, (*choice.path, "count"),
                    f"{one.key} wants {least} {what}, and only {_places(one, candidates)} can be had "
                    f"({', '.join(cluster.name for cluster in candidates)})",
                    "lower the count, or let in more clusters",
                )  # fmt: skip


def _places(one: Workload, candidates: tuple[Cluster, ...]) -> int:
    """How many different places the candidates offer; a value that only the live cluster knows counts as its own."""
    spread = one.spec.placement.spread or "cluster"
    if spread == "cluster":
        return len(candidates)
    known = [getattr(cluster.spec, spread) for cluster in candidates]
    return len({value for value in known if value is not None}) + known.count(None)


def _contradicted(facts: Facts, one: Workload) -> bool:
    """Whether another rule already says what is wrong with the clusters of a workload."""
    for _, _, choice in facts.choices(one):
        names = [facts.intents.cluster.get(name) for name in choice.names]
        if None in names or set(choice.names) & set(choice.exclude):
            return True
        if any(cluster is not None and _is_refused(cluster, one, choice.where.colocation) for cluster in names):
            return True
        if one.qos == "online" and choice.where.packing == "binpack":
            return True
    return False


def _is_refused(cluster: Cluster, one: Workload, colocation: str | None) -> bool:
    packs = one.qos == "online" and cluster.spec.packing == "binpack"
    return packs or (colocation == "ready" and not cluster.spec.colocation.ready)


@rule(
    "GVG504",
    title="colocation is asked of a cluster that is not ready for it",
    wrong=workload(f"{_JOB}\nplacement: {{clusters: {{names: [cluster-3], where: {{colocation: ready}}}}}}"),
    right=workload(f"{_JOB}\nplacement: {{clusters: {{names: [cluster-1], where: {{colocation: ready}}}}}}"),
)
def not_ready(facts: Facts) -> Iterator[Problem]:
    """Without Volcano's agent on its nodes nothing holds offline work back when online work needs the room."""
    seen = set()
    for one in facts.intents.workloads:
        wants = any(choice.choice.where.colocation == "ready" for choice in facts.choices(one))
        for intent, path, choice in facts.choices(one) if wants else ():
            for index, name in enumerate(choice.names):
                cluster = facts.intents.cluster.get(name)
                if (
                    cluster is not None
                    and not cluster.spec.colocation.ready
                    and (intent.source(), path, index) not in seen
                ):
                    seen.add((intent.source(), path, index))
                    place = cluster.source_at(("spec", "colocation"))
                    yield problem(intent, (*path, "names", index), f"{name} is not ready for colocation, which is asked "
                                  "for", f"name another cluster, or make it ready ({place})")  # fmt: skip


@rule(
    "GVG505",
    title="oversold resources are asked where no cluster has any",
    wrong=workload(
        "queue: ai-training\njob: {tasks: [{name: main, image: 'train:1', requests: {oversold-cpu: 4}}]}\n"
        "placement: {clusters: {names: [cluster-3]}}"
    ),
    right=workload(
        "queue: ai-training\njob: {tasks: [{name: main, image: 'train:1', requests: {oversold-cpu: 4}}]}\n"
        "placement: {clusters: {names: [cluster-1]}}"
    ),
)
def no_oversold(facts: Facts) -> Iterator[Problem]:
    """Oversold CPU and memory exist only where colocation is ready and its oversell is switched on."""
    for pod in facts.pods:
        one = pod.workload
        if not pod.oversold or one.qos == "online" or _contradicted(facts, one):
            continue
        candidates = facts.candidates(one)
        for name in pod.oversold:
            field = "cpu" if name == OVERSOLD_CPU else "memory"
            if candidates and not any(_oversells(cluster, field) for cluster in candidates):
                names = ", ".join(cluster.name for cluster in candidates)
                yield problem(one, (*pod.path, "requests", f"oversold-{field}"),
                              f"no cluster that {one.key} may use has oversold {field} ({names})",
                              f"let it onto one with colocation: {{ready: true, oversell: {{{field}: true}}}}, or ask "
                              f"for {field}")  # fmt: skip


def _oversells(cluster: Cluster, field: str) -> bool:
    colocation = cluster.spec.colocation
    return colocation.ready and bool(getattr(colocation.oversell, field))


@rule(
    "GVG512",
    title="no cluster is left for a workload",
    wrong=workload(f"{_JOB}\nplacement: {{clusters: {{where: {{accelerator: A100}}}}}}"),
    right=workload(f"{_JOB}\nplacement: {{clusters: {{where: {{accelerator: T4}}}}}}"),
)
def no_cluster_left(facts: Facts) -> Iterator[Problem]:
    """Its own placement and the policies that apply to it together rule out every declared cluster: it waits for ever."""
    if not facts.intents.clusters:
        return
    for one in facts.intents.workloads:
        if not facts.candidates(one) and not _contradicted(facts, one):
            policies = ", ".join(policy.name for policy in facts.intents.policies_of(one))
            what = f"its placement and policies ({policies})" if policies else "its placement"
            yield problem(one, ("spec", "placement") if "placement" in one.spec.model_fields_set else ("spec",),
                          f"no cluster is left for {one.key}: {what} rule out every one",
                          "loosen what is asked of clusters, or declare a cluster that has it", key=True)  # fmt: skip


@rule(
    "GVG513",
    severity=Severity.WARNING,
    title="policies disagree about spreading",
    wrong=documents(
        policy("regions", "selects: {qos: online}\nspread: region"),
        policy("zones", "selects: {qos: online}\nspread: zone"),
        workload(_SERVICE, name="shop", namespace="web"),
    ),
    right=documents(
        policy("regions", "selects: {qos: online}\nspread: region"),
        workload(_SERVICE, name="shop", namespace="web"),
    ),
)
def spread_twice(facts: Facts) -> Iterator[Problem]:
    """A workload is spread by one thing: its own wish, else that of the first policy by name."""
    for one in facts.intents.workloads:
        policies = [each for each in facts.intents.policies_of(one) if each.spec.spread is not None]
        if one.spec.placement.spread is None and len({each.spec.spread for each in policies}) > 1:
            first, *_, last = sorted(policies, key=lambda each: each.name)
            yield problem(last, ("spec", "spread"), f"{one.key} is spread by {first.spec.spread} (policy {first.name}), "
                          f"not by {last.spec.spread}", "write the workload's own placement.spread")  # fmt: skip
