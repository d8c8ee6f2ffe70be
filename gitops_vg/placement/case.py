"""One workload while it is planned, and the world it is planned in.

Both live only inside one call of `plan`: they hold the room and the queue accounts that
shrink as decisions are made.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from gitops_vg.capacity.snapshot import PodGroupUse, Snapshot
from gitops_vg.intents.fleet import Intents
from gitops_vg.placement.demand import Demand
from gitops_vg.placement.eligibility import Constraints, Site, is_hard, refusal
from gitops_vg.placement.plan import Assignments, Decision, LockEntry, Reason, State
from gitops_vg.placement.queues import QueueLedger
from gitops_vg.placement.reasons import Code, because
from gitops_vg.placement.room import ClusterRoom


@dataclass
class World:
    """Clusters with their room, queues with their accounts, and whose pods run where."""

    sites: Mapping[str, Site]
    rooms: Mapping[str, ClusterRoom]
    ledger: QueueLedger
    ours: Mapping[tuple[str, str], tuple[PodGroupUse, ...]]

    @staticmethod
    def of(intents: Intents, snapshot: Snapshot) -> World:
        """The world of a snapshot, with the pods of the fleet's workloads taken out of their nodes."""
        sites: dict[str, Site] = {}
        rooms: dict[str, ClusterRoom] = {}
        ours: dict[tuple[str, str], tuple[PodGroupUse, ...]] = {}
        known = intents.workload.keys()
        for capacity in sorted(snapshot.clusters, key=lambda one: one.name):
            declared = intents.cluster.get(capacity.name)
            sites[capacity.name] = Site(capacity=capacity, declared=declared)
            room = rooms[capacity.name] = ClusterRoom(capacity, declared=declared)
            for use in capacity.ours:
                if use.workload in known:
                    room.release([use])
                    key = (use.workload, capacity.name)
                    ours[key] = (*ours.get(key, ()), use)
        return World(sites=sites, rooms=rooms, ledger=QueueLedger(intents.queues), ours=ours)

    def free(self, resource: str) -> int:
        """What of a resource new work may still use in the whole fleet."""
        return sum(room.free(resource) for room in self.rooms.values() if not room.capacity.problem)

    def finished(self, workload: str, cluster: str) -> bool:
        return cluster in self.sites and workload in self.sites[cluster].capacity.finished

    def observed(self, demand: Demand) -> LockEntry | None:
        """Where work runs that no lock knows of (it was lost, or comes from before it): it stays there."""
        pods: dict[str, int] = {}
        for name in self.rooms:
            count = sum(use.count for use in self.ours.get((demand.key, name), ()) if use.node)
            if count or self.finished(demand.key, name):
                pods[name] = count
        if not pods:
            return None
        if demand.mode == "everywhere":
            return LockEntry(mode=demand.mode, assignments=dict.fromkeys(pods, 1))
        if demand.mode == "one":
            pods = {
                min(pods, key=lambda name: (not self.finished(demand.key, name), -pods[name], name)): demand.replicas
            }
        return LockEntry(mode=demand.mode, assignments=pods)

    def waits(self, workload: str, cluster: str) -> bool:
        """Whether the member has it and could not start (all of) it."""
        waiting = any(use.requests and not use.node for use in self.ours.get((workload, cluster), ()))
        return waiting or workload in self.sites[cluster].capacity.waiting


@dataclass
class Case:
    """One workload: what it asks for, where it may go, where it was, and what stays there.

    `before` is what the lock says, or for work that it does not know what is seen to run.
    `keep` is what stays where it was (cluster → replicas), `lost` the clusters it has to leave.
    """

    demand: Demand
    constraints: Constraints
    refused: Mapping[str, Reason]
    open: tuple[str, ...]
    before: LockEntry | None
    keep: dict[str, int] = field(default_factory=dict)
    lost: dict[str, Reason] = field(default_factory=dict)
    ended: bool = False
    stuck: bool = False
    """It could not start where it is, and does not fit there: it may go where it does."""
    warnings: list[str] = field(default_factory=list)

    @staticmethod
    def of(demand: Demand, *, intents: Intents, world: World, before: LockEntry | None) -> Case:
        constraints = Constraints.of(demand, intents=intents)
        verdicts = {name: refusal(demand, site=site, constraints=constraints) for name, site in world.sites.items()}
        case = Case(
            demand=demand,
            constraints=constraints,
            refused={name: reason for name, reason in verdicts.items() if reason is not None},
            open=tuple(name for name, reason in verdicts.items() if reason is None),
            before=before if before is not None and before.assignments else world.observed(demand),
        )
        for cluster in sorted(case.was):
            if cluster not in world.sites:
                case.lost[cluster] = because(Code.ABSENT)
            elif case.must_leave(cluster):
                case.lost[cluster] = case.refused[cluster]
        return case

    def must_leave(self, cluster: str) -> bool:
        """Whether it may not even stay in a cluster where it is."""
        return cluster in self.refused and is_hard(self.refused[cluster])

    @property
    def key(self) -> str:
        return self.demand.key

    @property
    def was(self) -> Assignments:
        """Where the previous plan had it."""
        return self.before.assignments if self.before is not None else {}

    def rank(self, ledger: QueueLedger) -> tuple[object, ...]:
        """Order of service: online first, then queue by queue; by priority, then by name."""
        online = self.demand.workload.qos == "online"
        queue = () if online else ledger.rank(self.demand.queue)
        return (not online, queue, -self.demand.priority, self.key)

    # -- outcomes

    def runs(
        self, assignments: Assignments, reason: Reason, *, others: Mapping[str, Reason], kept: Code = Code.KEPT
    ) -> Decision:
        """Placed anew, moved or resized.

        The same as before is kept, with the reason for which it once went there: the lock does
        not change.
        """
        if self.before is not None and dict(assignments) == dict(self.was):
            reason = Reason(str(kept), self.before.reason or because(kept).text)
            return self._decision(State.KEPT, assignments, reason, others=others)
        if self.lost:
            left = sorted(self.lost)
            reason = because(Code.MOVED, clusters=", ".join(left), cause=self.lost[left[0]].text, then=reason.text)
        return self._decision(State.PLACED, assignments, reason, others=others)

    def pending(self, reason: Reason, *, others: Mapping[str, Reason]) -> Decision:
        """Nowhere, for now."""
        if self.lost:
            left = ", ".join(f"{name} ({why.text})" for name, why in sorted(self.lost.items()))
            self.warnings.append(f"{self.key} has to leave {left} and has no other place: {reason.text}")
        return self._decision(State.PENDING, {}, reason, others=others)

    def nowhere_eligible(self) -> Decision:
        """Pending because no cluster may have it; the nearest is one that could have it again by itself."""
        nearest = min(self.refused, key=lambda name: (is_hard(self.refused[name]), name))
        reason = because(Code.NO_CLUSTER_ELIGIBLE, nearest=nearest, why=self.refused[nearest].text)
        return self.pending(reason, others={})

    def _decision(
        self, state: State, assignments: Assignments, reason: Reason, *, others: Mapping[str, Reason]
    ) -> Decision:
        rejected = dict(self.refused)
        default = because(Code.STAYS, clusters=", ".join(sorted(assignments)))
        for name in self.open:
            rejected[name] = others.get(name, default)
        return Decision(
            workload=self.key,
            mode=self.demand.mode,
            state=state,
            assignments=dict(sorted(assignments.items())),
            reason=reason,
            rejected={name: why for name, why in sorted(rejected.items()) if name not in assignments},
            queue=self.demand.queue,
            replicas=self.demand.replicas,
        )


def everywhere(names: Iterable[str], reason: Reason) -> dict[str, Reason]:
    """The same reason for several clusters."""
    return dict.fromkeys(names, reason)
