"""A member cluster as the control plane sees it: a name, an API server, and whether it answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from gitops_vg.sandbox.karmada.control import Objects


@dataclass
class Member:
    """One member. `down()` and `up()` are for tests and drills: the control plane loses and finds it again."""

    name: str
    objects: Objects
    reachable: bool = True
    listeners: list[Callable[[Member], None]] = field(default_factory=list, repr=False)
    in_loop: Callable[[Callable[[], None]], None] = field(default=lambda work: work(), repr=False)
    """Runs something in the event loop and waits for it; `down` and `up` may be called from any thread."""

    def down(self) -> None:
        """The control plane can no longer reach this member; what runs in it goes on."""
        self.in_loop(lambda: self._set(False))

    def up(self) -> None:
        """The member answers again."""
        self.in_loop(lambda: self._set(True))

    def _set(self, reachable: bool) -> None:
        if self.reachable != reachable:
            self.reachable = reachable
            for listener in tuple(self.listeners):
                listener(self)
