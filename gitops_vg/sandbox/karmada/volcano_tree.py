"""The algebra of a tree of Volcano queues, as its webhook checks it. Pure.

A resource that a parent does not set counts as nothing there for guarantee and deserved, and as
no limit for capability. The root queue is no ancestor here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from typing import Any

from gitops_vg.quantities import parse_quantity

Queues = Mapping[str, Mapping[str, Any]]

MAX_DEPTH = 5
"""Children of root are at depth 1 (--max-queue-depth)."""


def parent_complaint(name: str, parent: str, known: Queues) -> str:
    """What speaks against `parent` for queue `name`; "" for nothing."""
    if parent == name:
        return f"queue {name} cannot use itself as parent"
    if parent not in known:
        return f'failed to get parent queue {parent} of queue {name}: queue.scheduling.volcano.sh "{parent}" not found'
    depth, above = 1, parent
    while above not in ("", "root"):
        depth += 1
        if depth > MAX_DEPTH:
            return f"queue {name} exceeds the maximum allowed depth of {MAX_DEPTH}"
        if above not in known:
            return (
                f'failed to get parent queue {above} of queue {name}: queue.scheduling.volcano.sh "{above}" not found'
            )
        above = known[above]["spec"].get("parent", "")
    pods = ((known[parent].get("status") or {}).get("allocated") or {}).get("pods", "0")
    busy = parse_quantity(pods) > 0
    if busy and not any(item["spec"].get("parent") == parent for item in known.values()):
        return f"queue {parent} cannot be the parent queue of queue {name} because it has allocated Pods: {pods}"
    return ""


def tree_complaints(name: str, spec: Mapping[str, Any], known: Queues) -> Iterator[str]:
    """What the amounts of a queue break: its ancestors' capability, its parent's sums, its own children's."""
    parent = spec.get("parent", "")
    specs = {other: item["spec"] for other, item in known.items()}
    yield from _above(name, spec, specs)
    yield from _below(name, spec, specs)
    for part in ("guarantee", "deserved"):
        if parent not in ("", "root") and parent in specs:
            siblings = [item for item in specs.values() if item.get("parent", "") == parent]
            yield from _sums([*siblings, spec], limit=specs[parent], part=part, who=f"parent queue {parent}")
        children = [item for item in specs.values() if item.get("parent", "") == name]
        if children:
            yield from _sums(children, limit=spec, part=part, who=f"queue {name}")


def _above(name: str, spec: Mapping[str, Any], specs: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    for resource, text in (spec.get("capability") or {}).items():
        above, seen = spec.get("parent", ""), {name}
        while above in specs and above not in seen:
            seen.add(above)
            limit = (specs[above].get("capability") or {}).get(resource)
            if limit is not None and parse_quantity(limit):
                if parse_quantity(text) > parse_quantity(limit):
                    yield f"queue {name} capability[{resource}]={text} exceeds its ancestor's capability={limit}"
                break
            above = specs[above].get("parent", "")


def _below(name: str, spec: Mapping[str, Any], specs: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    descendants = list(_descendants(name, specs))
    for resource, text in (spec.get("capability") or {}).items():
        limits = [
            str(item["capability"][resource]) for item in descendants if resource in (item.get("capability") or {})
        ]
        largest = max(limits, key=parse_quantity, default="0")
        if parse_quantity(text) and parse_quantity(largest) > parse_quantity(text):
            words = f"queue {name} capability[{resource}]={text} is smaller than its descendants' max capability"
            yield f"{words}={largest}"


def _descendants(name: str, specs: Mapping[str, Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    waiting, seen = [name], {name}
    while waiting:
        above = waiting.pop()
        for other, item in specs.items():
            if item.get("parent", "") == above and other not in seen:
                seen.add(other)
                waiting.append(other)
                yield item


def _sums(family: Iterable[Mapping[str, Any]], *, limit: Mapping[str, Any], part: str, who: str) -> Iterator[str]:
    total: dict[str, Fraction] = {}
    for item in family:
        for resource, text in _listed(item, part).items():
            total[resource] = total.get(resource, Fraction(0)) + parse_quantity(text)
    bound = {resource: parse_quantity(text) for resource, text in _listed(limit, part).items()}
    if any(value > bound.get(resource, 0) for resource, value in total.items()):
        yield (
            f"{who} validation failed: sum of children's {part} ({_shown(total)}) "
            f"exceeds parent's {part} limit ({_shown(bound)})"
        )


def _shown(amounts: Mapping[str, Fraction]) -> str:
    """Amounts as Volcano prints a resource: CPU and vendor resources in thousandths, memory in bytes."""
    names = ["cpu", "memory", *sorted(name for name in amounts if name not in ("cpu", "memory"))]
    units = {"memory": 1}
    return ", ".join(f"{name} {float(amounts.get(name, Fraction(0)) * units.get(name, 1000)):.2f}" for name in names)


def _listed(spec: Mapping[str, Any], part: str) -> Mapping[str, Any]:
    amounts = spec.get(part) or {}
    return (amounts.get("resource") or {}) if part == "guarantee" else amounts
