"""Rules about queues: what Volcano's queue webhook and its capacity plugin demand of them.

karmada-apiserver takes any queue; the refusal would stand in the binding of each member, out of sight.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gitops_vg.findings import Severity
from gitops_vg.intents.models import Quantity, Queue
from gitops_vg.intents.pods import resource_list
from gitops_vg.quantities import CPU, MEMORY, amounts, format_amount
from gitops_vg.rules.amounts import amount_of, faults_of
from gitops_vg.rules.examples import documents, queue, workload
from gitops_vg.rules.facts import DEFAULT_QUEUE, ROOT_QUEUE, Facts
from gitops_vg.rules.registry import Problem, problem, rule

_JOB = "job: {tasks: [{name: main, image: 'train:1'}]}"
_DEEPEST = 5
"""Volcano's --max-queue-depth; a child of root has depth 1."""
_FIELDS = ("guarantee", "deserved", "capability")


def _resources(one: Queue, field: str) -> Mapping[str, Quantity]:
    found: Mapping[str, Quantity] = getattr(one.spec, field)
    return found


def _counted(one: Queue, field: str) -> dict[str, int]:
    """The amounts of one field, under the names of this program's words; nothing for what is no quantity."""
    result = {}
    for name, quantity in _resources(one, field).items():
        value = amount_of(name, quantity)
        if value is not None:
            result[name] = value
    return result


def _deserved(one: Queue) -> dict[str, int]:
    """What a queue deserves as it is rendered: at least its guarantee (a key left out means just that)."""
    return {**_counted(one, "guarantee"), **_counted(one, "deserved")}


@rule(
    "GVG401",
    title="a quantity of a queue is none, or cannot be meant",
    wrong=queue("research", "capability: {cpu: 4cores}"),
    right=queue("research", "capability: {cpu: 4}"),
)
def bad_quantity(facts: Facts) -> Iterator[Problem]:
    """Negative amounts, fractions of whole things (GPUs, pods), memory in thousandths of a byte, 1e12 CPUs.

    Source: Kubernetes quantities; Volcano, queue admission: extended resources are whole numbers.
    """
    for one in facts.intents.queues:
        for field in _FIELDS:
            for name, quantity in _resources(one, field).items():
                for fault in faults_of(name, quantity, of_queue=True):
                    yield problem(one, ("spec", field, name), f"{field}.{name}: {fault.message}", fault.fix)


@rule(
    "GVG402",
    title="a queue has a name that belongs to Volcano",
    wrong=queue("default", "weight: 2"),
    right=queue("research", "weight: 2"),
)
def reserved_name(facts: Facts) -> Iterator[Problem]:
    """`root` and `default` exist in every member already; Karmada reports a conflict and does not manage them."""
    for one in facts.intents.queues:
        if one.name in (ROOT_QUEUE, DEFAULT_QUEUE):
            yield problem(one, ("metadata", "name"), f"the queue {one.name} belongs to Volcano", "choose another name")


def _above(
    one: Queue, lower: str, upper: str, *, low: Mapping[str, int], high: Mapping[str, int], fix: str
) -> Iterator[Problem]:
    """Each resource of which the lower field has more than the upper."""
    for name, value in low.items():
        if name in high and value > high[name]:
            written = lower if name in _resources(one, lower) else "guarantee"
            place = one.source_at(("spec", upper, name))
            yield problem(
                one,
                ("spec", written, name),
                f"{written}.{name} {format_amount(name, value)} is above {upper}.{name} "
                f"{format_amount(name, high[name])} of queue {one.name}",
                fix.format(value=format_amount(name, high[name]), place=place),
            )


@rule(
    "GVG403",
    title="a queue deserves less than it is guaranteed",
    wrong=queue("research", "guarantee: {cpu: 20}\ndeserved: {cpu: 10}"),
    right=queue("research", "guarantee: {cpu: 10}\ndeserved: {cpu: 20}"),
)
def deserved_below_guarantee(facts: Facts) -> Iterator[Problem]:
    """Each resource guaranteed must also be deserved, and at least as much of it.

    Source: Volcano 1.14, queue admission. A resource left out of `deserved` is filled in from the guarantee.
    """
    for one in facts.intents.queues:
        yield from _above(one, "guarantee", "deserved", low=_counted(one, "guarantee"), high=_counted(one, "deserved"),
                          fix="lower the guarantee to {value}, or raise deserved ({place})")  # fmt: skip


@rule(
    "GVG404",
    title="a queue deserves more than it may ever have",
    wrong=queue("research", "deserved: {cpu: 20}\ncapability: {cpu: 10}"),
    right=queue("research", "deserved: {cpu: 10}\ncapability: {cpu: 20}"),
)
def deserved_above_capability(facts: Facts) -> Iterator[Problem]:
    """Source: Volcano, queue admission. A resource left out of `capability` is unlimited."""
    for one in facts.intents.queues:
        yield from _above(one, "deserved", "capability", low=_counted(one, "deserved"),
                          high=_counted(one, "capability"),
                          fix="lower deserved to {value}, or raise the capability ({place})")  # fmt: skip


@rule(
    "GVG411",
    title="a queue is guaranteed more than it may ever have",
    wrong=queue("research", "guarantee: {cpu: 500}\ncapability: {cpu: 400}"),
    right=queue("research", "guarantee: {cpu: 400}\ncapability: {cpu: 400}"),
)
def guarantee_above_capability(facts: Facts) -> Iterator[Problem]:
    """Source: Volcano, queue admission: guarantee ⊆ deserved ≤ capability, each resource on its own."""
    for one in facts.intents.queues:
        yield from _above(one, "guarantee", "capability", low=_counted(one, "guarantee"),
                          high=_counted(one, "capability"),
                          fix="lower the guarantee to {value}, or raise the capability ({place}); "
                              "Volcano refuses the queue as it is")  # fmt: skip


def _sums(facts: Facts, field: str) -> Iterator[Problem]:
    """Each parent and resource of which the children together have more than the parent."""
    counted = _deserved if field == "deserved" else lambda one: _counted(one, field)
    for name, children in facts.children.items():
        parent = facts.intents.queue.get(name)
        if parent is None:
            continue
        own = counted(parent)
        totals: dict[str, int] = {}
        for child in children:
            for resource, value in counted(child).items():
                totals[resource] = totals.get(resource, 0) + value
        for resource, total in totals.items():
            has = own.get(resource, 0)
            if total > has or (resource not in own and resource not in (CPU, MEMORY)):
                yield _sum_problem(parent, children, field, resource=resource, total=total, has=has)


def _sum_problem(
    parent: Queue, children: tuple[Queue, ...], field: str, *, resource: str, total: int, has: int
) -> Problem:
    names = ", ".join(child.name for child in children if resource in _resources(child, field)) or children[0].name
    written = f"has {format_amount(resource, has)}" if has else "has none, which counts as 0"
    return problem(
        parent,
        ("spec", field, resource),
        f"the children of queue {parent.name} ({names}) have {field}.{resource} {format_amount(resource, total)} "
        f"together, and {parent.name} {written}",
        f"raise {field}.{resource} of {parent.name} to {format_amount(resource, total)}, or lower the children's",
    )


@rule(
    "GVG405",
    title="child queues are guaranteed more than their parent",
    wrong=documents(
        queue("research", "guarantee: {cpu: 10}\ndeserved: {cpu: 50}"),
        queue("vision", "parent: research\nguarantee: {cpu: 20}"),
    ),
    right=documents(
        queue("research", "guarantee: {cpu: 30}"),
        queue("vision", "parent: research\nguarantee: {cpu: 20}"),
    ),
)
def children_guarantee(facts: Facts) -> Iterator[Problem]:
    """The sum over all children counts, and a resource the parent leaves out counts as 0.

    Of devices not even 0 passes where the parent names none.
    Source: Volcano 1.14, queue admission (hierarchical sums); children of `root` are not summed.
    """
    yield from _sums(facts, "guarantee")


@rule(
    "GVG406",
    title="child queues deserve more than their parent",
    wrong=documents(
        queue("research", "deserved: {cpu: 10}"),
        queue("vision", "parent: research\ndeserved: {cpu: 20}"),
    ),
    right=documents(
        queue("research", "deserved: {cpu: 30}"),
        queue("vision", "parent: research\ndeserved: {cpu: 20}"),
    ),
)
def children_deserved(facts: Facts) -> Iterator[Problem]:
    """As for guarantees; what is guaranteed is deserved too.

    Source: Volcano 1.14, queue admission (hierarchical sums).
    """
    yield from _sums(facts, "deserved")


@rule(
    "GVG407",
    title="a child queue may have more than its ancestors",
    wrong=documents(
        queue("research", "capability: {cpu: 10}"),
        queue("vision", "parent: research\ncapability: {cpu: 20}"),
    ),
    right=documents(
        queue("research", "capability: {cpu: 20}"),
        queue("vision", "parent: research\ncapability: {cpu: 20}"),
    ),
)
def child_above_ancestor(facts: Facts) -> Iterator[Problem]:
    """The nearest ancestor that limits a resource counts; an ancestor's 0 counts as not set.

    Source: Volcano, queue admission, as recorded from its code.
    """
    for one in facts.intents.queues:
        for name, value in _counted(one, "capability").items():
            limits = ((above, _counted(above, "capability").get(name)) for above in facts.ancestors(one))
            above, limit = next(((above, limit) for above, limit in limits if limit), (None, 0))
            if above is not None and limit is not None and value > limit:
                yield problem(
                    one, ("spec", "capability", name),
                    f"capability.{name} {format_amount(name, value)} of queue {one.name} is above "
                    f"{format_amount(name, limit)} of its ancestor {above.name}",
                    f"lower it to {format_amount(name, limit)}, or raise {above.name} "
                    f"({above.source_at(('spec', 'capability', name))})",
                )  # fmt: skip


@rule(
    "GVG408",
    title="queues are nested too deep",
    wrong=documents(
        queue("a", "weight: 1"), *(queue(name, f"parent: {above}") for above, name in ("ab", "bc", "cd", "de", "ef"))
    ),
    right=documents(
        queue("a", "weight: 1"), *(queue(name, f"parent: {above}") for above, name in ("ab", "bc", "cd", "de"))
    ),
)
def too_deep(facts: Facts) -> Iterator[Problem]:
    """Five levels below root at most. Source: Volcano's webhook flag --max-queue-depth."""
    for one in facts.intents.queues:
        depth = 1 + sum(1 for _ in facts.ancestors(one))
        if depth == _DEEPEST + 1 and not _in_cycle(facts, one):
            yield problem(one, ("spec", "parent"), f"queue {one.name} is {depth} levels below root; Volcano takes "
                          f"{_DEEPEST}", "hang it under a queue nearer to root")  # fmt: skip


def _in_cycle(facts: Facts, one: Queue) -> bool:
    """Whether the way up from a queue never ends."""
    last = one
    for above in facts.ancestors(one):
        last = above
    return last.spec.parent in facts.intents.queue


@rule(
    "GVG409",
    title="queues are their own ancestors",
    wrong=documents(queue("a", "parent: b"), queue("b", "parent: a")),
    right=documents(queue("a", "weight: 1"), queue("b", "parent: a")),
)
def cycle(facts: Facts) -> Iterator[Problem]:
    """With a cycle Volcano's hierarchical capacity plugin schedules nothing at all."""
    for one in facts.intents.queues:
        names = [above.name for above in facts.ancestors(one)]
        last = facts.intents.queue[names[-1]] if names else one
        if last.spec.parent == one.name:
            way = " → ".join([one.name, *names, one.name])
            yield problem(one, ("spec", "parent"), f"queue {one.name} is its own ancestor: {way}",
                          "give one of them another parent, or none")  # fmt: skip


@rule(
    "GVG410",
    title="a workload is in a queue that has child queues",
    wrong=documents(
        queue("research", "weight: 2"),
        queue("vision", "parent: research"),
        workload(f"queue: research\n{_JOB}"),
    ),
    right=documents(
        queue("research", "weight: 2"),
        queue("vision", "parent: research"),
        workload(f"queue: vision\n{_JOB}"),
    ),
)
def job_in_inner_queue(facts: Facts) -> Iterator[Problem]:
    """Only leaves take jobs; one job in an inner queue stops Volcano's whole scheduling session.

    Source: Volcano, job admission and the capacity plugin with hierarchy.
    """
    for one in facts.intents.workloads:
        name = one.spec.queue
        if name == ROOT_QUEUE:
            yield problem(one, ("spec", "queue"), "no workload may be in the queue root", "name a queue of policies/")
        elif name is not None and name in facts.children:
            children = ", ".join(child.name for child in facts.children[name])
            yield problem(one, ("spec", "queue"), f"queue {name} has child queues ({children}), so it takes no jobs",
                          f"name one of {children}, or a new child for this work")  # fmt: skip


@rule(
    "GVG412",
    severity=Severity.WARNING,
    title="a job wants more than its queue may ever have",
    wrong=documents(
        queue("small", "capability: {cpu: 4}"),
        workload("queue: small\njob: {tasks: [{name: main, replicas: 3, image: 'train:1', requests: {cpu: 2}}]}"),
    ),
    right=documents(
        queue("small", "capability: {cpu: 4}"),
        workload("queue: small\njob: {tasks: [{name: main, replicas: 2, image: 'train:1', requests: {cpu: 2}}]}"),
    ),
)
def job_above_queue(facts: Facts) -> Iterator[Problem]:
    """The job waits for ever: what its gang needs at once is above the capability of its queue, or of one above.

    Source: Volcano, capacity plugin: a job is enqueued only within the real capability of its queue.
    """
    for one in facts.intents.workloads:
        own = facts.intents.queue.get(one.spec.queue or "")
        if own is None or one.spec.job is None or one.spec.job.gang != "all":
            continue
        needs = facts.gang_requests(one)
        for name, value in (needs or {}).items():
            for above in (own, *facts.ancestors(own)):
                limit = amounts(resource_list(_written(above))).get(name)
                if limit is not None and value > limit:
                    yield problem(
                        one, ("spec", "queue"),
                        f"{one.key} needs {name} {format_amount(name, value)} at once, and queue {above.name} "
                        f"may have {format_amount(name, limit)}",
                        f"raise the capability ({above.source_at(('spec', 'capability'))}), or ask for less",
                    )  # fmt: skip
                    break


def _written(one: Queue) -> dict[str, Quantity]:
    """The capability without what is no quantity."""
    return {name: quantity for name, quantity in one.spec.capability.items() if amount_of(name, quantity) is not None}
