"""Several requests at once, and an end to them when the server is gone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from gitops_vg.errors import ClusterError, Unavailable

_THREADS = 8
_GIVE_UP_AFTER = 2 * _THREADS
"""Requests in a row without any answer after which a server is taken for gone: each one costs its retries."""

Item = TypeVar("Item")
Outcome = TypeVar("Outcome")


def in_parallel(work: Callable[[Item], Outcome], items: Iterable[Item]) -> Iterator[tuple[Item, Outcome]]:
    """The outcome of each item, in order, worked on by a few threads."""
    known = list(items)
    if len(known) < 2:
        for item in known:
            yield item, work(item)
        return
    with ThreadPoolExecutor(max_workers=_THREADS) as pool:
        yield from zip(known, pool.map(work, known), strict=True)


class Outage:
    """Notices that a server is gone, so that a thousand objects do not wait a thousand times."""

    def __init__(self) -> None:
        self._silent = 0
        self._last: Unavailable | None = None

    @property
    def gone(self) -> Unavailable | None:
        """The last error of a server that has gone, None while it answers now and then."""
        return self._last if self._silent >= _GIVE_UP_AFTER else None

    def attempt(self, request: Callable[[], Outcome]) -> Outcome | ClusterError:
        """The answer or the error of a request; once the server is gone the last error, without asking."""
        if (gone := self.gone) is not None:
            return gone
        try:
            outcome = request()
        except Unavailable as error:
            if error.status == 0:
                self._last, self._silent = error, self._silent + 1
            return error
        except ClusterError as error:
            self._silent = 0
            return error
        self._silent = 0
        return outcome
