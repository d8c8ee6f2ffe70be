"""From the control plane to a Snapshot.

Clusters are read side by side; one that does not answer costs its own figures only and is
described by what Karmada last knew of it. A list of Clusters that failed is an error: a
fleet is never empty by accident.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import datetime, timedelta

from gitops_vg.capacity import clusterstatus
from gitops_vg.capacity.clusterstatus import Object
from gitops_vg.capacity.member import ControlPlane, read_member
from gitops_vg.capacity.membernodes import MemberState, member_state
from gitops_vg.capacity.membership import Membership
from gitops_vg.capacity.rounding import total
from gitops_vg.capacity.snapshot import ClusterCapacity, Snapshot
from gitops_vg.errors import ClusterError
from gitops_vg.intents.fleet import Intents
from gitops_vg.objects import GroupKind
from gitops_vg.quantities import duration_seconds

CLUSTER = GroupKind("cluster.karmada.io", "Cluster")
LEASE = GroupKind("coordination.k8s.io", "Lease")
LEASE_NAMESPACE = "karmada-cluster"
"""Where Karmada keeps the heartbeats of members (karmada pkg/util/constants.go, NamespaceClusterLease)."""

NOT_REGISTERED = "not registered in Karmada"
NOT_DECLARED = "has no Cluster intent"

_AT_ONCE = 8
"""Members read at the same time; each waits on the network, and the control plane carries the load."""


def collect(server: ControlPlane, intents: Intents, *, now: datetime) -> Snapshot:
    """The capacity of every cluster that is registered in Karmada or declared in an intent.

    Raises ClusterError when the list of Clusters could not be read.
    """
    clusters = {cluster["metadata"]["name"]: cluster for cluster in server.list(CLUSTER)}
    leases = _leases(server)
    membership = Membership(intents)
    stale_after = timedelta(seconds=duration_seconds(intents.fleet.spec.capacity.stale_after))

    def captured(name: str) -> ClusterCapacity:
        cluster = clusters.get(name)
        if cluster is None:
            return ClusterCapacity(name=name, problem=NOT_REGISTERED)
        problem = clusterstatus.not_ready(cluster)
        if problem:
            # Karmada could not reach it either: asking it too would only cost every capture a timeout.
            return _capacity(cluster, state=None, problem=problem, warnings=())
        state, warnings = _read(server, name=name, membership=membership)
        if state is None:
            problem = clusterstatus.stale(leases.get(name), now=now, stale_after=stale_after)
        if not problem and name not in intents.cluster:
            problem = NOT_DECLARED
        return _capacity(cluster, state=state, problem=problem, warnings=warnings)

    names = sorted(clusters.keys() | intents.cluster.keys())
    with ThreadPoolExecutor(max_workers=_AT_ONCE, thread_name_prefix="capacity") as pool:
        return Snapshot(clusters=tuple(pool.map(captured, names)), taken_at=now)


def _leases(server: ControlPlane) -> Mapping[str, Object]:
    """Heartbeats by cluster; none when they cannot be read, then Ready alone decides."""
    try:
        return {lease["metadata"]["name"]: lease for lease in server.list(LEASE, namespace=LEASE_NAMESPACE)}
    except ClusterError:
        return {}


def _read(server: ControlPlane, *, name: str, membership: Membership) -> tuple[MemberState | None, tuple[str, ...]]:
    """The member's own state, or None and why it is not known."""
    try:
        return member_state(read_member(server, name), membership=membership), ()
    except ClusterError as error:
        cause = error.reason or type(error).__name__
    except ValueError as error:
        cause = str(error)
    return None, (f"its nodes could not be read ({cause}); counted from what Karmada last reported",)


def _capacity(cluster: Object, *, state: MemberState | None, problem: str, warnings: Iterable[str]) -> ClusterCapacity:
    spec = cluster.get("spec") or {}
    known = ClusterCapacity(
        name=cluster["metadata"]["name"],
        problem=problem,
        labels=dict(cluster["metadata"].get("labels") or {}),
        taints=clusterstatus.taints_of(spec),
        region=spec.get("region") or "",
        zones=clusterstatus.zones_of(spec),
        provider=spec.get("provider") or "",
        kinds=clusterstatus.served_kinds(cluster),
        warnings=tuple(warnings),
    )
    if state is None:
        return _from_status(known, cluster=cluster)
    usable = [node for node in state.nodes if node.schedulable]
    return replace(
        known,
        problem=problem or ("" if usable else "no node takes pods"),
        capacity=total(node.allocatable for node in state.nodes),
        allocatable=total(node.free for node in usable),
        nodes=state.nodes,
        node_source="nodes",
        ours=state.ours,
        finished=state.finished,
        waiting=state.waiting,
        running=state.running,
        warnings=(*known.warnings, *state.warnings),
    )


def _from_status(known: ClusterCapacity, *, cluster: Object) -> ClusterCapacity:
    """Totals and stand-ins from Karmada's own report; unreadable figures are a problem, not a zero."""
    try:
        whole, free, warnings = clusterstatus.summary(cluster)
        nodes, source = clusterstatus.stand_ins(cluster, free=free)
    except ValueError as error:
        return replace(known, problem=known.problem or f"its figures cannot be read: {error}")
    return replace(
        known,
        problem=known.problem or ("" if nodes else "no node is known"),
        capacity=whole,
        allocatable=free,
        nodes=nodes,
        node_source=source,
        warnings=(*known.warnings, *warnings),
    )
