"""How Karmada v1.18 divides the replicas of a workload over clusters: pure arithmetic.

The scheduler of the embedded control plane calls `divide`; recordings of Karmada's own
division (1,200 cases) must come out equal. The method is Webster's (Sainte-Laguë), one
replica at a time, ties broken by the workload's uid.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import total_ordering


class Unschedulable(Exception):
    """The clusters together have too little room; the earlier result is kept."""


@dataclass(frozen=True)
class Target:
    """Replicas for one cluster, as `spec.clusters[]` of a binding."""

    name: str
    replicas: int


@total_ordering
class _Name:
    """A name that sorts backwards when the uid says so, for use inside heap keys."""

    __slots__ = ("backwards", "text")

    def __init__(self, text: str, *, backwards: bool) -> None:
        self.text = text
        self.backwards = backwards

    def __lt__(self, other: _Name) -> bool:
        return self.text > other.text if self.backwards else self.text < other.text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Name) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)


def fnv1a(text: str) -> int:
    """FNV-1a with 32 bits, as Karmada hashes uids and the names of Works."""
    value = 0x811C9DC5
    for byte in text.encode():
        value = ((value ^ byte) * 0x01000193) & 0xFFFFFFFF
    return value


def webster(seats: int, *, votes: Mapping[str, int], uid: str) -> dict[str, int]:
    """Seats for each party of `votes`; each next seat goes to the largest votes / (2 × seats + 1).

    A tie goes to the party with fewer seats, then to the smaller name, or to the larger
    one when the FNV-1a hash of `uid` is odd. No votes at all: nobody gets anything.
    """
    if not votes or not any(votes.values()):
        return {}
    backwards = bool(uid) and fnv1a(uid) & 1 == 1
    heap = [(-float(count), 0, _Name(name, backwards=backwards)) for name, count in votes.items()]
    heapq.heapify(heap)
    for _ in range(seats):
        _, held, name = heap[0]
        heapq.heapreplace(heap, (-(votes[name.text] / (2 * held + 3)), held + 1, name))
    return dict(sorted((name.text, held) for _, held, name in heap))


def divide_by_weight(replicas: int, *, weights: Mapping[str, int], uid: str) -> list[Target]:
    """Static weights: capacity plays no part, earlier results neither, zero shares are dropped.

    Clusters of weight 0 get nothing; when every weight is 0, all clusters weigh 1.
    """
    votes = {name: weight for name, weight in weights.items() if weight > 0} or dict.fromkeys(weights, 1)
    return _without_zero(_targets(webster(replicas, votes=votes, uid=uid)))


def divide_by_room(
    replicas: int,
    *,
    room: Mapping[str, int],
    previous: Sequence[Target],
    uid: str,
    aggregated: bool = False,
    fresh: bool = False,
) -> list[Target]:
    """Dynamic weights or aggregated: by `room`, replicas that each candidate could still take.

    `room` is in candidate order. Steady (the default): an unchanged total changes nothing,
    growth is divided alone and added, shrinkage divides the total by the earlier result.
    `fresh` forgets the earlier result, counting its replicas as room.

    Raises Unschedulable when all the room together is too little.
    """
    kept = [target for target in previous if target.name in room]
    assigned = sum(target.replicas for target in kept)
    if fresh:
        held = {target.name: target.replicas for target in kept}
        open_room = {name: free + held.get(name, 0) for name, free in room.items()}
        return _spread(
            replicas, room=open_room, kept=[], prefer=kept if aggregated else [], uid=uid, aggregated=aggregated
        )
    if assigned > replicas:
        earlier = {target.name: target.replicas for target in kept}
        return _spread(replicas, room=earlier, kept=[], prefer=[], uid=uid, aggregated=aggregated)
    if assigned < replicas:
        return _spread(replicas - assigned, room=room, kept=kept, prefer=kept, uid=uid, aggregated=aggregated)
    return _without_zero(kept)


def _spread(
    replicas: int,
    *,
    room: Mapping[str, int],
    kept: Sequence[Target],
    prefer: Sequence[Target],
    uid: str,
    aggregated: bool,
) -> list[Target]:
    available = sum(room.values())
    if available < replicas:
        raise Unschedulable(f"Clusters available replicas {available} are not enough to schedule.")
    order = sorted(room, key=lambda name: -room[name])
    if aggregated:
        order = _shortest_enough(order, replicas=replicas, room=room, prefer=prefer)
    shares = webster(replicas, votes={name: room[name] for name in order}, uid=uid)
    earlier = {target.name: target.replicas for target in kept}
    merged = {name: share + earlier.pop(name, 0) for name, share in shares.items()}
    return _without_zero(_targets({**merged, **earlier}))


def _shortest_enough(
    order: list[str], *, replicas: int, room: Mapping[str, int], prefer: Sequence[Target]
) -> list[str]:
    """The fewest clusters with enough room, those that run the workload already first."""
    earlier = {target.name for target in prefer if target.replicas > 0}
    order = [name for name in order if name in earlier] + [name for name in order if name not in earlier]
    found, taken = 0, 0
    while taken < len(order) and (found < replicas or taken == 0):
        found += room[order[taken]]
        taken += 1
    return order[:taken]


def _targets(shares: Mapping[str, int]) -> list[Target]:
    return [Target(name, replicas) for name, replicas in shares.items()]


def _without_zero(targets: Sequence[Target]) -> list[Target]:
    return [target for target in targets if target.replicas > 0]
