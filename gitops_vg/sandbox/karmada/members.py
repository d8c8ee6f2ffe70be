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

    def down(self) -> None:
        """The control plane can no longer reach this member; what runs in it goes on."""
        self._set(False)

    def up(self) -> None:
        """The member answers again."""
        self._set(True)

    def _set(self, reachable: bool) -> None:
        if self.reachable != reachable:
            self.reachable = reachable
            for listener in tuple(self.listeners):
                listener(self)
