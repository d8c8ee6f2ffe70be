"""Waits, bounded, until Karmada has carried out what was applied."""

from __future__ import annotations

import time
from collections.abc import Callable

from gitops_vg.reconcile.desired import DesiredTree
from gitops_vg.reconcile.drift import BindingState, Lister, binding_states

_LOOK_EVERY = 0.5


def wait_for_bindings(
    server: Lister,
    tree: DesiredTree,
    *,
    seconds: float,
    sleep: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> tuple[BindingState, ...]:
    """The bindings once all are as planned and accepted, or as they are after `seconds`.

    What is still in trouble then has failed: a binding that is scheduled and nothing else shows no error
    anywhere. Raises ClusterError when they cannot be read.
    """
    end = clock() + seconds
    while True:
        states = tuple(binding_states(server, tree))
        if clock() >= end or not any(state.trouble or state.differs for state in states):
            return states
        sleep(_LOOK_EVERY)
