"""Kubernetes quantities, read strictly and counted in whole numbers.

The parsers that ship with clients take what the API server refuses (`1K`, `1 Gi`, `NaN`,
`1.5e3Mi`), and floats lose digits; so this one is our own: a regular expression and integers.
Amounts are counted in the unit that Kubernetes compares in: CPU in millicores, everything
else (bytes, GPUs, pods, `kubernetes.io/batch-cpu`, which is itself in millicores) in ones.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache

_FORM = re.compile(r"([+-]?)([0-9]+(?:\.[0-9]*)?|\.[0-9]+)([numkMGTPE]|[KMGTPE]i|[eE][+-]?[0-9]{1,3})?", re.ASCII)
_SUFFIX = {
    "n": Fraction(1, 10**9), "u": Fraction(1, 10**6), "m": Fraction(1, 1000),
    "k": Fraction(10**3), "M": Fraction(10**6), "G": Fraction(10**9), "T": Fraction(10**12),
    "P": Fraction(10**15), "E": Fraction(10**18),
    "Ki": Fraction(2**10), "Mi": Fraction(2**20), "Gi": Fraction(2**30), "Ti": Fraction(2**40),
    "Pi": Fraction(2**50), "Ei": Fraction(2**60),
}  # fmt: skip
_DURATION = re.compile(r"([0-9]+)(ms|s|m|h)", re.ASCII)
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_LARGEST = 2**63 - 1
"""Go's quantities saturate here (apimachinery resource.Quantity)."""

CPU = "cpu"
MEMORY = "memory"
PODS = "pods"
OVERSOLD_CPU = "kubernetes.io/batch-cpu"
OVERSOLD_MEMORY = "kubernetes.io/batch-memory"

Amounts = Mapping[str, int]
"""Resource name → whole amount: `cpu` in millicores, all others in their own unit."""


def parse_quantity(text: str | int) -> Fraction:
    """The exact value of a quantity.

    Raises ValueError for what the API server would refuse, and for floats: a float has
    already lost its digits before anyone could read it.
    """
    if isinstance(text, bool) or not isinstance(text, (str, int)):
        raise ValueError(f"{text!r} is not a quantity; write it in quotes")
    return _value(str(text))


@lru_cache(maxsize=8192)
def _value(text: str) -> Fraction:
    match = _FORM.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not a quantity such as 500m, 2, 1.5 or 4Gi")
    sign, digits, suffix = match.groups()
    value = Fraction(digits if not digits.endswith(".") else digits[:-1])
    if suffix and suffix[0] in "eE" and len(suffix) > 1:
        value *= Fraction(10) ** int(suffix[1:])
    elif suffix:
        value *= _SUFFIX[suffix]
    value = min(value, Fraction(_LARGEST))
    return -value if sign == "-" else value


def amount(resource: str, text: str | int) -> int:
    """A quantity as a whole amount of `resource`, rounded up as the API server does.

    Raises ValueError as `parse_quantity`.
    """
    value = parse_quantity(text)
    scale = 1000 if resource == CPU else 1
    return -(-value.numerator * scale // value.denominator)


def amounts(quantities: Mapping[str, str | int]) -> dict[str, int]:
    """A resource list as whole amounts. Raises ValueError as `parse_quantity`."""
    return {name: amount(name, text) for name, text in quantities.items()}


def duration_seconds(text: str) -> float:
    """Seconds of a duration as intents write it (`500ms`, `30s`, `2m`, `1h`).

    Raises ValueError for anything else.
    """
    match = _DURATION.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not a duration such as 500ms, 30s, 2m or 1h")
    return int(match[1]) * _SECONDS[match[2]]


def format_amount(resource: str, value: int) -> str:
    """The amount as a canonical quantity that the API server would print (`1500m`, `4Gi`, `8`)."""
    if resource == CPU:
        return str(value // 1000) if value % 1000 == 0 else f"{value}m"
    if resource.endswith(("memory", "storage")):
        for suffix in ("Ei", "Pi", "Ti", "Gi", "Mi", "Ki"):
            unit = int(_SUFFIX[suffix])
            if value and value % unit == 0:
                return f"{value // unit}{suffix}"
    return str(value)
