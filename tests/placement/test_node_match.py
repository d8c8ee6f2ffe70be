"""Which pods a node takes: the scheduler's rules for affinity and taints, one by one."""

from __future__ import annotations

import pytest
from placement_fleet import node

from gitops_vg.capacity import Taint
from gitops_vg.placement.demand import PodShape
from gitops_vg.placement.nodematch import node_refuses

NODE = node("n1", labels={"zone": "a", "cores": "64", "odd": "x"})


def shape(*, terms=(), tolerations=(), selector=None):
    return PodShape(requests={"pods": 1}, selector=selector or {}, terms=terms, tolerations=tolerations)


def expression(key, operator, *values):
    return ({"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]},)


@pytest.mark.parametrize(
    ("terms", "accepted"),
    [
        (expression("zone", "In", "a", "b"), True),
        (expression("zone", "In", "b"), False),
        (expression("none", "In", "a"), False),
        (expression("zone", "NotIn", "b"), True),
        (expression("none", "NotIn", "b"), True),
        (expression("zone", "Exists"), True),
        (expression("none", "Exists"), False),
        (expression("none", "DoesNotExist"), True),
        (expression("cores", "Gt", "32"), True),
        (expression("cores", "Lt", "32"), False),
        (expression("odd", "Gt", "32"), False),
        (expression("none", "Gt", "32"), False),
        (expression("zone", "Unheard", "a"), False),
        (({"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]},), True),
        (({},), False),
        ((*expression("zone", "In", "b"), *expression("zone", "In", "a")), True),
    ],
)
def test_required_affinity(terms, accepted):
    assert (node_refuses(NODE, shape(terms=terms)) == "") is accepted


@pytest.mark.parametrize(
    ("toleration", "accepted"),
    [
        ({"key": "k", "operator": "Equal", "value": "v"}, True),
        ({"key": "k", "value": "v", "effect": "NoSchedule"}, True),
        ({"key": "k", "operator": "Exists"}, True),
        ({"operator": "Exists"}, True),
        ({"key": "k", "value": "w"}, False),
        ({"key": "k"}, False),
        ({"key": "k", "operator": "Exists", "effect": "NoExecute"}, False),
        ({"key": "other", "operator": "Exists"}, False),
    ],
)
def test_tolerations_of_pods(toleration, accepted):
    tainted = node("n1", taints=(Taint("k", "v", "NoSchedule"),))

    assert (node_refuses(tainted, shape(tolerations=(toleration,))) == "") is accepted


def test_a_taint_that_only_prefers_refuses_nobody():
    assert node_refuses(node("n1", taints=(Taint("k", "", "PreferNoSchedule"),)), shape()) == ""
