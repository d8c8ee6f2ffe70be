"""Faults on order, for tests: wrong answers, dropped connections, delays, counted."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from gitops_vg.sandbox.status import StatusError


class Dropped(Exception):
    """The connection is to be closed without an answer."""


@dataclass
class _Fault:
    method: str
    prefix: str
    status: int
    times: int
    page: int | None
    retry_after: int | None
    drop: bool = False
    after: bool = False
    delay: float = 0.0


@dataclass
class Faults:
    """The faults still to come, in the order in which they were asked for."""

    _faults: list[_Fault] = field(default_factory=list)

    def fail(
        self,
        method: str,
        prefix: str,
        *,
        status: int,
        page: int | None = None,
        times: int = 1,
        retry_after: int | None = None,
    ) -> None:
        """Answer requests of `method` whose path starts with `prefix` by `status`; `page` 2 is one that continues."""
        self._faults.append(_Fault(method, prefix, status, times, page, retry_after))

    def drop(self, method: str, prefix: str, *, times: int = 1, after: bool = False) -> None:
        """Close the connection instead of answering; `after` the work was done."""
        self._faults.append(_Fault(method, prefix, 0, times, None, None, drop=True, after=after))

    def delay(self, method: str, prefix: str, *, seconds: float, times: int = 1) -> None:
        """Answer late."""
        self._faults.append(_Fault(method, prefix, 0, times, None, None, delay=seconds))

    def clear(self) -> None:
        self._faults.clear()

    async def before(self, method: str, path: str, *, continues: bool) -> bool:
        """Strike before the work; true when the answer is to be dropped after it. Raises StatusError, Dropped."""
        for fault in tuple(self._faults):
            if fault.method not in (method, "*") or not path.startswith(fault.prefix):
                continue
            if fault.page is not None and (fault.page > 1) is not continues:
                continue
            fault.times -= 1
            if fault.times <= 0:
                self._faults.remove(fault)
            if fault.delay:
                await asyncio.sleep(fault.delay)
                continue
            if fault.drop and fault.after:
                return True
            if fault.drop:
                raise Dropped
            raise StatusError(
                fault.status, _REASONS.get(fault.status, ""), "a fault on order", retry_after=fault.retry_after
            )
        return False


_REASONS = {403: "Forbidden", 404: "NotFound", 410: "Expired", 429: "TooManyRequests", 500: "InternalError",
            503: "ServiceUnavailable", 504: "Timeout"}  # fmt: skip
