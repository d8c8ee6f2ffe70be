"""Which clusters a binding may use, with the words Karmada's scheduler has for the others. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from gitops_vg.sandbox.karmada.selectors import matches_cluster, taint_text, untolerated


class NoClusterFit(Exception):
    """No cluster passes the filters; the binding is emptied and nothing retries."""


def affinity_terms(binding: Mapping[str, Any], *, affinity_name: str) -> list[Mapping[str, Any]]:
    """The affinities that count: the only one, or the named group with its overflow groups in order."""
    placement = binding["spec"]["placement"]
    if placement.get("clusterAffinity") is not None:
        return [placement["clusterAffinity"]]
    for term in placement.get("clusterAffinities") or []:
        if term["affinityName"] == affinity_name:
            overflow = term.get("overflowAffinities") or [] if is_workload(binding) else []
            return [term, *overflow]
    return []


def is_workload(binding: Mapping[str, Any]) -> bool:
    """Whether the binding has replicas to place (a Volcano Job has none, by default gates)."""
    spec = binding["spec"]
    return bool(spec.get("replicas")) or spec.get("replicaRequirements") is not None


def why_not(binding: Mapping[str, Any], cluster: Mapping[str, Any], *, affinity_name: str = "") -> str:
    """The first reason against the cluster, "" when it may be used.

    A cluster that holds the workload already passes the API and taint filters whatever they
    say: the scheduler never takes something away for those two.
    """
    spec, placement = binding["spec"], binding["spec"]["placement"]
    name = cluster["metadata"]["name"]
    if any(task.get("fromCluster") == name for task in spec.get("gracefulEvictionTasks") or []):
        return "cluster(s) is in the process of eviction"
    present = any(target["name"] == name for target in spec.get("clusters") or [])
    if not present and not serves(cluster, spec["resource"]):
        return "cluster(s) did not have the API resource"
    taints = (cluster.get("spec") or {}).get("taints") or []
    tolerations = placement.get("clusterTolerations") or []
    taint = untolerated(taints, tolerations, effects=("NoSchedule", "NoExecute"))
    if not present and taint is not None:
        return f"cluster(s) had untolerated taint {{{taint_text(taint)}}}"
    terms = affinity_terms(binding, affinity_name=affinity_name)
    if terms and not any(matches_cluster(term, cluster) for term in terms):
        return "cluster(s) did not match the placement cluster affinity constraint"
    return _missing_property(placement.get("spreadConstraints") or [], cluster.get("spec") or {})


def _missing_property(constraints: Sequence[Mapping[str, Any]], cluster_spec: Mapping[str, Any]) -> str:
    for constraint in constraints:
        match constraint.get("spreadByField"):
            case "provider" if not cluster_spec.get("provider"):
                return "cluster(s) did not have provider property"
            case "region" if not cluster_spec.get("region"):
                return "cluster(s) did not have region property"
            case "zone" if not cluster_spec.get("zones"):
                return "cluster(s) did not have zones property"
    return ""


def serves(cluster: Mapping[str, Any], resource: Mapping[str, Any]) -> bool:
    """Whether the cluster reports the API of the template in its apiEnablements."""
    for enablement in (cluster.get("status") or {}).get("apiEnablements") or []:
        if enablement["groupVersion"] == resource["apiVersion"]:
            return any(item["kind"] == resource["kind"] for item in enablement.get("resources") or [])
    return False


def fitting(
    binding: Mapping[str, Any], clusters: Sequence[Mapping[str, Any]], *, affinity_name: str = ""
) -> list[Mapping[str, Any]]:
    """The clusters that pass every filter. Raises NoClusterFit with Karmada's histogram of reasons."""
    reasons: Counter[str] = Counter()
    fit = []
    for cluster in clusters:
        if cluster["metadata"].get("deletionTimestamp"):
            continue
        reason = why_not(binding, cluster, affinity_name=affinity_name)
        if reason:
            reasons[reason] += 1
        else:
            fit.append(cluster)
    if not fit:
        words = sorted(f"{count} {reason}" for reason, count in reasons.items()) or ["no cluster exists"]
        raise NoClusterFit(f"0/{len(clusters)} clusters are available: {', '.join(words)}.")
    return fit
