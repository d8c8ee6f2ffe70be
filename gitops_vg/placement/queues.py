"""Queues: who is served first, how much each may have, and what is kept for the others.

As Volcano's capacity plugin counts, but over the whole fleet: a capability is a ceiling for
a queue and everything below it; a guarantee that its queue does not use yet stays free. What
runs counts even above a ceiling that was lowered: a plan never stops work to obey a number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from gitops_vg.errors import InputError
from gitops_vg.intents.models import Queue, Resources
from gitops_vg.intents.pods import resource_list
from gitops_vg.placement.plan import QueueUse, Reason
from gitops_vg.placement.reasons import Code, because, number, spoken
from gitops_vg.quantities import Amounts, amounts

_ROOT = "root"


@dataclass
class _Account:
    """One queue's numbers; `used` includes everything below it."""

    parent: str = _ROOT
    weight: int = 1
    priority: int = 0
    guarantee: Amounts = field(default_factory=dict)
    capability: Amounts = field(default_factory=dict)
    used: dict[str, int] = field(default_factory=dict)
    children: list[str] = field(default_factory=list)


class QueueLedger:
    """What each queue uses as the plan grows. A queue that nobody declared has no limits."""

    def __init__(self, queues: tuple[Queue, ...]) -> None:
        self._accounts = {queue.name: _account(queue) for queue in sorted(queues, key=lambda one: one.name)}
        self._top = []
        for name, account in self._accounts.items():
            above = [account.parent, *self._ancestors(account.parent)]
            if account.parent in self._accounts and name not in above:
                self._accounts[account.parent].children.append(name)
            else:
                self._top.append(name)

    def rank(self, queue: str) -> tuple[int, int, str]:
        """Queues are served by priority, then weight, the higher first, then by name."""
        account = self._accounts.get(queue, _Account())
        return (-account.priority, -account.weight, queue)

    def charge(self, queue: str, demand: Amounts) -> None:
        """Counts placed work for its queue and every queue above it."""
        for name in self._lineage(queue):
            account = self._accounts[name]
            for resource, value in demand.items():
                account.used[resource] = account.used.get(resource, 0) + value

    def refusal(self, queue: str, demand: Amounts, *, free: Callable[[str], int]) -> Reason | None:
        """Why the queue does not admit `demand` now; `free` is the fleet's room by resource.

        Work without a queue (services, unless they name one) knows neither ceilings nor guarantees.
        """
        if not queue:
            return None
        for name in self._lineage(queue):
            account = self._accounts[name]
            for resource in sorted(demand.keys() & account.capability.keys()):
                left = account.capability[resource] - account.used.get(resource, 0)
                if demand[resource] > left:
                    return because(
                        Code.QUEUE_CAPABILITY,
                        queue=name,
                        left=number(resource, max(0, left)),
                        capability=number(resource, account.capability[resource]),
                        resource=spoken(resource),
                        wanted=number(resource, demand[resource]),
                    )
        return self._guaranteed_to_others(queue, demand, free=free)

    def _guaranteed_to_others(self, queue: str, demand: Amounts, *, free: Callable[[str], int]) -> Reason | None:
        path = set(self._lineage(queue))
        for resource in sorted(demand):
            reserved = sum(self._unused_guarantee(name, resource, path=path) for name in self._top)
            if reserved and free(resource) - demand[resource] < reserved:
                return because(
                    Code.GUARANTEE_OF_OTHERS,
                    free=number(resource, free(resource)),
                    reserved=number(resource, reserved),
                    resource=spoken(resource),
                    wanted=number(resource, demand[resource]),
                )
        return None

    def _unused_guarantee(self, name: str, resource: str, *, path: set[str]) -> int:
        """What has to stay free for `name` and below; a queue's own line keeps nothing from itself."""
        account = self._accounts[name]
        below = sum(self._unused_guarantee(child, resource, path=path) for child in account.children)
        if name in path:
            return below
        return max(below, account.guarantee.get(resource, 0) - account.used.get(resource, 0))

    def uses(self) -> tuple[QueueUse, ...]:
        """Every declared queue after the plan, in the order of service."""
        return tuple(
            QueueUse(
                queue=name,
                used={key: value for key, value in sorted(account.used.items()) if value},
                guarantee=account.guarantee,
                capability=account.capability,
            )
            for name, account in sorted(self._accounts.items(), key=lambda item: self.rank(item[0]))
        )

    def overdrawn(self) -> Iterator[str]:
        """A warning for every queue that uses more than its capability (it was lowered)."""
        for name, account in self._accounts.items():
            for resource, limit in sorted(account.capability.items()):
                used = account.used.get(resource, 0)
                if used > limit:
                    yield (
                        f"queue {name} uses {number(resource, used)} {spoken(resource)} of "
                        f"{number(resource, limit)}: what runs is kept, nothing new is admitted"
                    )

    def _lineage(self, queue: str) -> list[str]:
        """The queue and its ancestors, as far as they are declared."""
        return [name for name in (queue, *self._ancestors(queue)) if name in self._accounts]

    def _ancestors(self, queue: str) -> list[str]:
        """Parents up to the root; a cycle (rules refuse it) ends where it closes."""
        line: list[str] = []
        account = self._accounts.get(queue)
        while account is not None and account.parent in self._accounts:
            if account.parent in line or account.parent == queue:
                break
            line.append(account.parent)
            account = self._accounts[account.parent]
        return line


def _account(queue: Queue) -> _Account:
    spec = queue.spec
    return _Account(
        parent=spec.parent,
        weight=spec.weight,
        priority=spec.priority,
        guarantee=_amounts(queue, spec.guarantee),
        capability=_amounts(queue, spec.capability),
    )


def _amounts(queue: Queue, resources: Resources) -> Mapping[str, int]:
    try:
        return amounts(resource_list(resources))
    except ValueError as error:
        raise InputError(
            f"{queue.source()}: queue {queue.name} cannot be planned: {error}",
            findings=(),
            hint="run `gitops-vg validate`, which names the field",
        ) from error
