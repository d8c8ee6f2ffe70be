"""Cron schedules as Volcano reads them: five fields, or a macro (robfig/cron's standard parser)."""

from __future__ import annotations

import re
from typing import NamedTuple

_MACROS = ("@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly")
_EVERY = re.compile(r"@every ([0-9]+(\.[0-9]*)?(ns|us|µs|ms|s|m|h))+", re.ASCII)
_MONTHS = {
    name: number
    for number, name in enumerate(
        ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"], 1
    )
}
_DAYS = {name: number for number, name in enumerate(["sun", "mon", "tue", "wed", "thu", "fri", "sat"])}
_LENGTHS = {1: 31, 2: 29, 3: 31, 4: 30, 5: 31, 6: 30, 7: 31, 8: 31, 9: 30, 10: 31, 11: 30, 12: 31}


class ScheduleFault(NamedTuple):
    message: str
    fix: str


class _Field(NamedTuple):
    name: str
    low: int
    high: int
    names: dict[str, int]


_FIELDS = (
    _Field("minute", 0, 59, {}),
    _Field("hour", 0, 23, {}),
    _Field("day of the month", 1, 31, {}),
    _Field("month", 1, 12, _MONTHS),
    _Field("day of the week", 0, 6, _DAYS),
)


def schedule_fault(schedule: str) -> ScheduleFault | None:
    """What Volcano would refuse, or what would never run; None for a good schedule."""
    if "TZ" in schedule:
        return ScheduleFault("a time zone stands inside", "write it under timeZone")
    if schedule.startswith("@"):
        if schedule in _MACROS or _EVERY.fullmatch(schedule):
            return None
        return ScheduleFault("no such macro", f"write one of {', '.join(_MACROS)}, or @every 30m")
    parts = schedule.split()
    if len(parts) != len(_FIELDS):
        return ScheduleFault(f"{len(parts)} fields instead of 5",
                             "write minute, hour, day of the month, month, day of the week")  # fmt: skip
    values = []
    for part, field in zip(parts, _FIELDS, strict=True):
        try:
            values.append(_values(part, field))
        except ValueError as error:
            return ScheduleFault(f"{field.name} {part}: {error}", _fix(field))
    if not any(day <= _LENGTHS[month] for day in values[2] for month in values[3]) and parts[4][0] in "*?":
        return ScheduleFault("there is no such day in any of these months, so it never runs", "choose another day")
    return None


def _fix(field: _Field) -> str:
    names = f", or {'/'.join(field.names)}" if field.names else ""
    sunday = "; Sunday is 0" if field.names is _DAYS else ""
    return f"write {field.low} to {field.high}{names}, a range 1-5, a list 1,2 or a step */2{sunday}"


def _values(part: str, field: _Field) -> set[int]:
    """The values a field means. Raises ValueError."""
    result: set[int] = set()
    for piece in part.split(","):
        if piece:
            result |= _range(piece, field)
    if not result:
        raise ValueError("is empty")
    return result


def _range(piece: str, field: _Field) -> set[int]:
    bounds, *steps = piece.split("/")
    if len(steps) > 1:
        raise ValueError("has more than one step")
    ends = bounds.split("-")
    if ends[0] in ("*", "?"):
        low, high = field.low, field.high
    elif len(ends) > 2:
        raise ValueError("has more than one range")
    else:
        low = _number(ends[0], field)
        # With a step, a single value means "from here to the end".
        high = _number(ends[1], field) if len(ends) == 2 else field.high if steps else low
    step = int(steps[0]) if steps and re.fullmatch(r"[0-9]+", steps[0], re.ASCII) else 0 if steps else 1
    if step < 1:
        raise ValueError("the step is not a number from 1")
    if low < field.low or high > field.high:
        raise ValueError(f"is outside {field.low} to {field.high}")
    if low > high:
        raise ValueError("the range runs backwards")
    return set(range(low, high + 1, step))


def _number(text: str, field: _Field) -> int:
    if text.lower() in field.names:
        return field.names[text.lower()]
    if not re.fullmatch(r"[0-9]{1,9}", text, re.ASCII):
        raise ValueError("is not a number")
    return int(text)
