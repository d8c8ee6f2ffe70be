"""Why: the closed vocabulary of reasons, and the one sentence for each.

Every decision and every refused cluster carries one `Reason` made here. A sentence is one
clause about the world, in words that people use; numbers are in it when they decided.
`WITHOUT_FIGURES` has what is committed for work that waits: figures there would make a
commit with every pod that starts or ends.
"""

from __future__ import annotations

from enum import StrEnum

from gitops_vg.placement.plan import Reason
from gitops_vg.quantities import CPU, OVERSOLD_CPU, OVERSOLD_MEMORY, Amounts, format_amount


class Code(StrEnum):
    """Codes are for machines and never change their meaning."""

    # why it runs where it runs
    ONLY_FIT = "only-fit"
    BEST_FIT = "best-fit"
    DIVIDED = "divided"
    EVERYWHERE = "everywhere"
    KEPT = "kept"
    FINISHED = "finished"
    GROWN = "grown"
    SHRUNK = "shrunk"
    GROWTH_WAITS = "growth-waits"
    MOVED = "moved"
    # why a cluster may not be used
    NOT_NAMED = "not-named"
    EXCLUDED = "excluded"
    NOT_COLOCATION_READY = "not-colocation-ready"
    COLOCATION_READY = "colocation-ready"
    PACKING = "packing"
    ONLINE_ON_BINPACK = "online-on-binpack"
    REGION = "region"
    ZONE = "zone"
    PROVIDER = "provider"
    ACCELERATOR = "accelerator"
    LABEL = "label"
    OVERSOLD_ONLINE = "oversold-online"
    OVERSOLD_OFF = "oversold-off"
    EVICTING_TAINT = "evicting-taint"
    ABSENT = "absent"
    # why a cluster gets no new work for now
    PROBLEM = "problem"
    TAINT = "taint"
    KIND_NOT_SERVED = "kind-not-served"
    # why it does not fit
    NO_NODE_MATCHES = "no-node-matches"
    RESOURCE_MISSING = "resource-missing"
    POD_TOO_LARGE = "pod-too-large"
    POD_TOO_LARGE_TOGETHER = "pod-too-large-together"
    GANG_TOO_LARGE = "gang-too-large"
    # why another one was chosen
    LOWER_SCORE = "lower-score"
    BREAKS_GPU_NODES = "breaks-gpu-nodes"
    LATER_NAME = "later-name"
    LOWER_CPU = "lower-cpu"
    NOT_NEEDED = "not-needed"
    COUNT_REACHED = "count-reached"
    SPREAD_TAKEN = "spread-taken"
    SPREAD_UNKNOWN = "spread-unknown"
    STAYS = "stays"
    NOT_ADMITTED = "not-admitted"
    # why it runs nowhere
    NO_CLUSTER_ELIGIBLE = "no-cluster-eligible"
    NO_CLUSTER_FITS = "no-cluster-fits"
    NOT_ALL_REPLICAS_FIT = "not-all-replicas-fit"
    TOO_FEW_CLUSTERS = "too-few-clusters"
    QUEUE_CAPABILITY = "queue-capability"
    GUARANTEE_OF_OTHERS = "guarantee-of-others"
    COUNT_CONTRADICTS = "count-contradicts"


_SENTENCE = {
    Code.ONLY_FIT: "the only cluster that fits",
    Code.BEST_FIT: "best of {count} that fit: {advantage}",
    Code.DIVIDED: "{after} replicas over {clusters} in proportion to free room",
    Code.EVERYWHERE: "copied whole to every cluster that may have it",
    Code.KEPT: "runs there already",
    Code.FINISHED: "ended there; it takes no room",
    Code.GROWN: "grown from {before} to {after} replicas in proportion to free room",
    Code.SHRUNK: "shrunk from {before} to {after} replicas in proportion",
    Code.GROWTH_WAITS: "{waiting} of {after} replicas wait for room, {missing}",
    Code.MOVED: "moved from {clusters} ({cause}): {then}",
    Code.NOT_NAMED: "not among the clusters that {source} names",
    Code.EXCLUDED: "excluded by {source}",
    Code.NOT_COLOCATION_READY: "not colocation-ready",
    Code.COLOCATION_READY: "colocation-ready, and {source} asks for clusters that are not",
    Code.PACKING: "packing is {packing}, {source} asks for {wanted}",
    Code.ONLINE_ON_BINPACK: "packs its nodes full; online work never runs on such a cluster",
    Code.REGION: "region is {region}, {source} asks for {wanted}",
    Code.ZONE: "has no zone {wanted}, which {source} asks for",
    Code.PROVIDER: "provider is {provider}, {source} asks for {wanted}",
    Code.ACCELERATOR: "has no accelerator {wanted}, which {source} asks for",
    Code.LABEL: "has no label {label}, which {source} asks for",
    Code.OVERSOLD_ONLINE: "oversold resources are for offline work only",
    Code.OVERSOLD_OFF: "does not oversell {resource}",
    Code.EVICTING_TAINT: "taint {taint} is not tolerated and evicts what runs",
    Code.ABSENT: "is neither declared nor registered in Karmada any more",
    Code.PROBLEM: "{problem}",
    Code.TAINT: "taint {taint} is not tolerated",
    Code.KIND_NOT_SERVED: "does not serve {kind}",
    Code.NO_NODE_MATCHES: "no node takes its pods: {constraint}",
    Code.RESOURCE_MISSING: "has no {resource}",
    Code.POD_TOO_LARGE: "largest node has {free} of {wanted} {resource} free",
    Code.POD_TOO_LARGE_TOGETHER: "no node has {wanted} free together",
    Code.GANG_TOO_LARGE: "only {fit} of {wanted} pods{task} fit",
    Code.LOWER_SCORE: "fits, scores lower than {best} by {points} points",
    Code.BREAKS_GPU_NODES: "fits, would break {count} more whole accelerator nodes than {best}",
    Code.LATER_NAME: "fits as well; {best} comes first by name",
    Code.LOWER_CPU: "may have it as well; {best} has more CPU free",
    Code.NOT_NEEDED: "fits {fit} replicas; {best} has room for more",
    Code.COUNT_REACHED: "not needed: count allows {limit}",
    Code.SPREAD_TAKEN: "fits, but {best} already stands for {field} {value}",
    Code.SPREAD_UNKNOWN: "has no {field} to spread by",
    Code.STAYS: "not needed: it stays in {clusters}",
    Code.NOT_ADMITTED: "not tried: its queue does not admit it",
    Code.NO_CLUSTER_ELIGIBLE: "no cluster may have it; nearest is {nearest}: {why}",
    Code.NO_CLUSTER_FITS: "no cluster has room; nearest is {nearest}: {why}",
    Code.NOT_ALL_REPLICAS_FIT: "only {fit} of {wanted} replicas fit in the clusters it may use; "
    "room for {missing} more is needed",
    Code.TOO_FEW_CLUSTERS: "needs {wanted} {field}s with room, {found} can be used",
    Code.QUEUE_CAPABILITY: "queue {queue} has {left} of {capability} {resource} left under its capability, "
    "this needs {wanted}: raise the capability or wait",
    Code.GUARANTEE_OF_OTHERS: "{free} {resource} are free in the fleet, {reserved} of them are guaranteed "
    "to other queues, this needs {wanted}: wait or lower a guarantee",
    Code.COUNT_CONTRADICTS: "the placements that apply to it allow no number of clusters ({sources}): change a count",
}  # fmt: skip

_NO_ROOM = "pending: not enough room for it now"
"""One word for all lacks of room: which of them shows first changes with every pod that starts or ends."""

WITHOUT_FIGURES = {
    Code.NO_CLUSTER_ELIGIBLE: "pending: no cluster may have it",
    Code.NO_CLUSTER_FITS: _NO_ROOM,
    Code.NOT_ALL_REPLICAS_FIT: _NO_ROOM,
    Code.TOO_FEW_CLUSTERS: _NO_ROOM,
    Code.GUARANTEE_OF_OTHERS: _NO_ROOM,
    Code.QUEUE_CAPABILITY: "pending: its queue is at its capability",
    Code.COUNT_CONTRADICTS: "pending: its placements contradict each other",
}

HARD = frozenset(
    {
        *(Code.NOT_NAMED, Code.EXCLUDED, Code.NOT_COLOCATION_READY, Code.COLOCATION_READY, Code.PACKING),
        *(Code.ONLINE_ON_BINPACK, Code.REGION, Code.ZONE, Code.PROVIDER, Code.ACCELERATOR, Code.LABEL),
        *(Code.OVERSOLD_ONLINE, Code.OVERSOLD_OFF, Code.EVICTING_TAINT, Code.ABSENT),
    }
)
"""Reasons by which work has to leave a cluster; all others only keep new work out."""


def because(code: Code, **parts: object) -> Reason:
    """The reason with its sentence filled in."""
    return Reason(code=str(code), text=_SENTENCE[code].format(**parts))


def number(resource: str, value: int) -> str:
    """An amount as people say it: CPU in CPUs, bytes in the largest unit that reads well."""
    if resource in (CPU, OVERSOLD_CPU):
        return f"{value / 1000:.6g}"
    if resource.endswith(("memory", "storage")):
        for suffix, size in (("Ti", 1 << 40), ("Gi", 1 << 30), ("Mi", 1 << 20)):
            if value >= size:
                return f"{value / size:.4g}{suffix}"
    return format_amount(resource, value)


_SPOKEN = {
    CPU: "CPU",
    OVERSOLD_CPU: "oversold CPU",
    OVERSOLD_MEMORY: "oversold memory",
    "nvidia.com/gpu": "GPUs",
}


def spoken(resource: str) -> str:
    """A resource as people call it."""
    return _SPOKEN.get(resource, resource)


def amounts_spoken(amounts: Amounts) -> str:
    """`8 CPU, 32Gi memory, 1 GPUs`."""
    return ", ".join(f"{number(name, value)} {spoken(name)}" for name, value in sorted(amounts.items()))
