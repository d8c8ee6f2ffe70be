"""From a member's raw nodes, pods and jobs to what is free where, and what of it is ours."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from gitops_vg.capacity.clusterstatus import taints_of
from gitops_vg.capacity.member import MemberObjects, Object
from gitops_vg.capacity.membership import Membership
from gitops_vg.capacity.podrequests import live_pod_requests
from gitops_vg.capacity.snapshot import Node, PodGroupUse
from gitops_vg.quantities import Amounts, amounts

_ENDED_JOB = frozenset({"Completed", "Failed", "Aborted", "Terminated"})
"""Final phases of a Volcano Job (volcano.sh, JobPhase)."""

_JOB_KIND = "Job.batch.volcano.sh"


@dataclass(frozen=True)
class MemberState:
    """What a member's own objects say."""

    nodes: tuple[Node, ...]
    ours: tuple[PodGroupUse, ...]
    finished: frozenset[str]
    waiting: frozenset[str]
    running: Mapping[str, int]
    warnings: tuple[str, ...]


def member_state(objects: MemberObjects, *, membership: Membership) -> MemberState:
    """Raises ValueError when a quantity is none."""
    pods = [pod for pod in objects.pods if not _ended(pod)]
    used: dict[str, Counter[str]] = {}
    ours: Counter[tuple[str, str, str, tuple[tuple[str, int], ...]]] = Counter()
    for pod in pods:
        spec = pod.get("spec") or {}
        node, requests = spec.get("nodeName") or "", live_pod_requests(spec)
        if node:
            used.setdefault(node, Counter()).update(requests)
        workload, task = membership.of_pod(pod["metadata"])
        if workload:
            ours[workload, task, node, tuple(sorted(requests.items()))] += 1
    for workload, task in _succeeded(objects.pods, membership=membership):
        ours[workload, task, "", ()] += 1
    nodes, warnings = _nodes(objects.nodes, used=used)
    finished, waiting = _job_states(objects.jobs or (), membership=membership)
    return MemberState(
        nodes=nodes,
        ours=tuple(
            PodGroupUse(workload=workload, task=task, node=node, count=count, requests=dict(requests))
            for (workload, task, node, requests), count in sorted(ours.items())
        ),
        finished=finished,
        waiting=waiting,
        running=_running(pods, jobs=objects.jobs),
        warnings=warnings,
    )


def _ended(pod: Object) -> bool:
    return (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed")


def _succeeded(pods: Iterable[Object], *, membership: Membership) -> list[tuple[str, str]]:
    """Pods of jobs that did their work: they need no room again, unlike failed ones."""
    owners = (
        membership.of_pod(pod["metadata"]) for pod in pods if (pod.get("status") or {}).get("phase") == "Succeeded"
    )
    return [owner for owner in owners if owner[1]]


# ---------------------------------------------------------------- nodes


def _nodes(nodes: Iterable[Object], *, used: Mapping[str, Amounts]) -> tuple[tuple[Node, ...], tuple[str, ...]]:
    result: list[Node] = []
    warnings: list[str] = []
    for node in nodes:
        name = node["metadata"]["name"]
        spec, status = node.get("spec") or {}, node.get("status") or {}
        whole = {key: max(0, value) for key, value in amounts(status.get("allocatable") or {}).items()}
        taken = used.get(name, {})
        over = sorted(key for key, value in taken.items() if value > whole.get(key, 0))
        if over:
            warnings.append(f"node {name} has more {', '.join(over)} requested than allocatable; none counted free")
        result.append(
            Node(
                name=name,
                allocatable=whole,
                free={key: max(0, value - taken.get(key, 0)) for key, value in whole.items()},
                labels=dict(node["metadata"].get("labels") or {}),
                taints=taints_of(spec),
                schedulable=not spec.get("unschedulable") and _node_ready(status),
            )
        )
    unknown = sorted(used.keys() - {node.name for node in result})
    if unknown:
        warnings.append(f"pods are bound to nodes that are gone: {', '.join(unknown)}")
    return tuple(sorted(result, key=lambda node: node.name)), tuple(sorted(warnings))


def _node_ready(status: Mapping[str, Any]) -> bool:
    conditions = status.get("conditions") or ()
    return any(one.get("type") == "Ready" and one.get("status") == "True" for one in conditions)


# ---------------------------------------------------------------- jobs and counts


def _job_states(jobs: Iterable[Object], *, membership: Membership) -> tuple[frozenset[str], frozenset[str]]:
    """(finished, waiting): keys of the fleet's one-time jobs that ended here, or did not start yet."""
    finished: set[str] = set()
    waiting: set[str] = set()
    for job in jobs:
        metadata = job["metadata"]
        key = f"{metadata.get('namespace') or ''}/{metadata['name']}"
        if membership.of_job(namespace=metadata.get("namespace") or "", name=metadata["name"]) != key:
            continue
        phase = _phase(job)
        if phase in _ENDED_JOB:
            finished.add(key)
        elif phase in ("", "Pending"):
            waiting.add(key)
    return frozenset(finished), frozenset(waiting)


def _phase(job: Object) -> str:
    return str(((job.get("status") or {}).get("state") or {}).get("phase") or "")


def _running(pods: Iterable[Object], *, jobs: Iterable[Object] | None) -> dict[str, int]:
    """Workloads by kind: Volcano Jobs that run, and whatever else owns a pod that is not ended."""
    owners = {owner for pod in pods for owner in [_owner(pod)] if owner}
    counts = Counter(kind for kind, _, _ in owners if jobs is None or kind != _JOB_KIND)
    if jobs is not None:
        counts[_JOB_KIND] = sum(_phase(job) == "Running" for job in jobs)
    return {kind: number for kind, number in sorted(counts.items()) if number}


def _owner(pod: Object) -> tuple[str, str, str] | None:
    """(kind, namespace, name) of what a person would call the workload of a pod."""
    metadata = pod["metadata"]
    owner = next((one for one in metadata.get("ownerReferences") or () if one.get("controller")), None)
    namespace = metadata.get("namespace") or ""
    if owner is None:
        return "Pod", namespace, metadata["name"]
    group, name, kind = owner["apiVersion"].rpartition("/")[0], owner["name"], owner["kind"]
    if (group, kind) == ("apps", "ReplicaSet"):
        return "Deployment.apps", namespace, name.rpartition("-")[0] or name
    return (f"{kind}.{group}" if group else kind), namespace, name
