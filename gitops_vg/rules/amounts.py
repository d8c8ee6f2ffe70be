"""What can be wrong with a quantity: not one, negative, a fraction of a whole thing, beyond anything real."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from gitops_vg.quantities import CPU, MEMORY, PODS, amount, parse_quantity

_MIB = 2**20
_LARGEST_OF_POD = {CPU: 4_096_000, MEMORY: 64 * 2**40}
"""Millicores and bytes beyond any node that is sold (2026: 896 vCPU, 32 TiB)."""
_LARGEST_OF_QUEUE = {CPU: 10**11, MEMORY: 2**60}
_LARGEST_COUNT = 10**6
"""Of devices and other whole things."""


class QuantityFault(NamedTuple):
    message: str
    fix: str


def _measured_as(name: str) -> str:
    """`cpu`, `memory`, or the name itself: the resources of one measure behave alike."""
    if name in (CPU, "oversold-cpu"):
        return CPU
    if name in (MEMORY, "oversold-memory", "ephemeral-storage") or name.startswith("hugepages-"):
        return MEMORY
    return name


def amount_of(name: str, quantity: Any) -> int | None:
    """The whole amount (CPU in millicores), None for what is no quantity."""
    try:
        return amount(_measured_as(name), quantity)
    except ValueError:
        return None


def faults_of(name: str, quantity: Any, *, of_queue: bool = False) -> Iterator[QuantityFault]:
    """What is wrong with one quantity; at most one fault, the plainest."""
    fault = unreadable(quantity) or unmeant(name, quantity, of_queue=of_queue)
    if fault is not None:
        yield fault


def unreadable(quantity: Any) -> QuantityFault | None:
    """What the API server would not take as a quantity, and floats."""
    if isinstance(quantity, float):
        return QuantityFault(f"{quantity} is a float, and floats lose digits", f'write quotes: "{quantity}"')
    try:
        parse_quantity(quantity)
    except ValueError:
        shown = str(quantity) if len(str(quantity)) <= 40 else f"{str(quantity)[:37]}…"
        return QuantityFault(f"{shown} is not a quantity", "write a number with or without a unit: 500m, 2, 1.5, 4Gi")
    return None


def unmeant(name: str, quantity: Any, *, of_queue: bool = False) -> QuantityFault | None:
    """A quantity that can be read, but not be meant."""
    value = parse_quantity(quantity)
    measure = _measured_as(name)
    if value < 0:
        return QuantityFault(f"{quantity} is negative", "write 0 or more")
    if measure not in (CPU, MEMORY) and value.denominator != 1:
        return QuantityFault(f"{quantity} is a fraction of something whole",
                             "write a whole number; devices and pods are not divided")  # fmt: skip
    if measure == MEMORY and value.denominator != 1:
        return QuantityFault(f"{quantity} is a fraction of a byte", f"did you mean {_without_milli(str(quantity))}Mi?")
    if measure == MEMORY and not of_queue and name in (MEMORY, "oversold-memory") and 0 < value < _MIB:
        return QuantityFault(f"{quantity} is less than 1 MiB: a unit is missing", f"did you mean {quantity}Mi or Gi?")
    largest = (_LARGEST_OF_QUEUE if of_queue else _LARGEST_OF_POD).get(measure, _largest_count(name))
    if amount(measure, quantity) > largest:
        return QuantityFault(f"{quantity} is more than there can be", "check the number and its unit")
    return None


def _largest_count(name: str) -> int:
    # batch-cpu counts millicores and batch-memory bytes; storage counts bytes.
    in_bytes = name.endswith(("memory", "storage"))
    return 2**60 if in_bytes else 10**11 if name in ("kubernetes.io/batch-cpu", PODS) else _LARGEST_COUNT


def _without_milli(text: str) -> str:
    return text.rstrip("num")
