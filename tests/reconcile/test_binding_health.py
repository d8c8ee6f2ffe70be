"""What a binding says, read as people need it: silence is not success."""

from __future__ import annotations

from typing import Any

import pytest
from reconcile_world import Tree, config_map, job, metadata, policy

from gitops_vg.gitstore import TreeSettings
from gitops_vg.objects import GroupKind, Manifest
from gitops_vg.placement.plan import LockEntry
from gitops_vg.reconcile import binding_states, wait_for_bindings
from gitops_vg.reconcile.drift import shared_states
from gitops_vg.reconcile.health import phases, trouble


def condition(kind: str, status: str, reason: str = "", message: str = "") -> dict[str, str]:
    return {"type": kind, "status": status, "reason": reason, "message": message}


SCHEDULED = condition("Scheduled", "True", "Success")
APPLIED = condition("FullyApplied", "True", "FullyAppliedSuccess")


def binding(*conditions: dict[str, str], generation: int = 2, seen: int = 2, clusters: tuple[str, ...] = ("member1",),
            name: str = "train-job", namespace: str = "ml", **status: Any) -> dict[str, Any]:  # fmt: skip
    kind = "ResourceBinding" if namespace else "ClusterResourceBinding"
    return {
        "apiVersion": "work.karmada.io/v1alpha2", "kind": kind,
        "metadata": {"name": name, "generation": generation, **({"namespace": namespace} if namespace else {})},
        "spec": {"clusters": [{"name": cluster} for cluster in clusters]},
        "status": {"schedulerObservedGeneration": seen, "conditions": list(conditions), **status},
    }  # fmt: skip


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (None, "no binding: no policy has claimed it yet"),
        (binding(SCHEDULED, APPLIED), ""),
        (binding(SCHEDULED, APPLIED, generation=3), "not scheduled anew since it changed"),
        (binding(), "not scheduled yet"),
        (binding(SCHEDULED), "scheduled, but nothing was sent to the clusters"),
        (binding(condition("Scheduled", "False", "NoClusterFit", "0/2 clusters")), "NoClusterFit: 0/2 clusters"),
        (binding(condition("Scheduled", "False")), "not scheduled"),
        (
            binding(SCHEDULED, condition("FullyApplied", "False", "FullyAppliedFailed"),
                    aggregatedStatus=[{"clusterName": "member1", "appliedMessage": "queue not found"}, {}]),
            "member1: queue not found",
        ),
        (binding(SCHEDULED, condition("FullyApplied", "False", "FullyAppliedFailed", "Failed")), "FullyAppliedFailed: Failed"),
    ],
)  # fmt: skip
def test_trouble_is_told_in_words(body: dict[str, Any] | None, expected: str) -> None:
    assert trouble(body) == expected


def test_a_gang_that_waits_for_ever_shows_its_phase() -> None:
    waiting = [
        {"clusterName": "member1", "status": {"state": {"phase": "Pending"}}},
        {"clusterName": "x", "status": None},
    ]

    assert phases(binding(SCHEDULED, APPLIED, aggregatedStatus=waiting)) == "Pending in member1"
    assert phases(None) == ""


class Bindings:
    """A server that has bindings, others at each look."""

    def __init__(self, *looks: list[dict[str, Any]]) -> None:
        self._looks = list(looks)

    def list(self, group_kind: GroupKind, **_: Any) -> list[dict[str, Any]]:
        bodies = self._looks[0]
        if group_kind.kind == "ClusterResourceBinding" and len(self._looks) > 1:
            self._looks.pop(0)
        return [body for body in bodies if body["kind"] == group_kind.kind]


def tree(*manifests: Manifest, **lock: LockEntry) -> Tree:
    entries = {name.replace("__", "/"): entry for name, entry in lock.items()}
    return Tree("c0ffee", manifests, entries, TreeSettings("test"))


def test_waiting_ends_when_all_is_as_planned() -> None:
    now = [0.0]
    planned = tree(policy("train"), job("train"), ml__train=LockEntry("one", {"member1": 1}))
    server = Bindings([], [binding()], [binding(SCHEDULED)], [binding(SCHEDULED, APPLIED)])

    states = wait_for_bindings(
        server, planned, seconds=60, sleep=lambda s: now.__setitem__(0, now[0] + s), clock=lambda: now[0]
    )

    assert [(state.trouble, state.differs) for state in states] == [("", False)]
    assert now[0] == 1.5


def test_a_binding_that_is_scheduled_and_nothing_else_has_failed_after_the_wait() -> None:
    now = [0.0]
    planned = tree(policy("train"), job("train"), ml__train=LockEntry("one", {"member1": 1}))

    (state,) = wait_for_bindings(
        Bindings([binding(SCHEDULED)]),
        planned,
        seconds=5,
        sleep=lambda s: now.__setitem__(0, now[0] + s),
        clock=lambda: now[0],
    )

    assert state.trouble == "scheduled, but nothing was sent to the clusters"
    assert now[0] == 5


def cluster_policy(name: str, kind: str, target: str, *clusters: str) -> Manifest:
    selector = {"apiVersion": "rbac.authorization.k8s.io/v1" if kind == "ClusterRole" else "scheduling.volcano.sh/v1beta1",
                "kind": kind, "name": target}  # fmt: skip
    spec = {"resourceSelectors": [selector], "placement": {"clusterAffinity": {"clusterNames": list(clusters)}}}
    return Manifest({"apiVersion": "policy.karmada.io/v1alpha1", "kind": "ClusterPropagationPolicy",
                     "metadata": metadata(name), "spec": spec})  # fmt: skip


def test_objects_of_the_cluster_have_their_workload_and_their_binding() -> None:
    role = Manifest(
        {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": metadata("reader")}
    )
    planned = tree(cluster_policy("workload-ml.web.app", "ClusterRole", "reader", "member1"), role, config_map("a"),
                   **{"ml__web.app": LockEntry("everywhere", {"member1": 1})})  # fmt: skip
    server = Bindings([binding(SCHEDULED, APPLIED, name="reader-clusterrole", namespace="", clusters=("elsewhere",))])

    (state,) = binding_states(server, planned)

    assert (state.workload, state.differs) == ("ml/web.app", True)


def test_a_queue_that_is_not_where_its_policy_says_is_found() -> None:
    planned = tree(cluster_policy("queue-q", "Queue", "q", "member1", "member2"))
    server = Bindings([binding(SCHEDULED, APPLIED, name="q-queue", namespace="", clusters=("member1",))])

    (state,) = shared_states(server, planned)

    assert dict(state.wanted) == {"member1": 0, "member2": 0}
    assert dict(state.found or {}) == {"member1": 0}
    assert list(binding_states(server, planned)) == []


@pytest.mark.parametrize(
    ("assigned", "found", "differs"),
    [
        ({"member1": 0}, {}, False),
        ({"member1": 0}, {"member1": 0}, False),
        ({"member1": 3, "member2": 0}, {"member1": 3}, False),
        ({"member1": 3, "member2": 0}, {"member1": 2, "member2": 1}, True),
        ({"member1": 3}, {}, True),
        ({"member1": 0}, {"member1": 1}, True),
    ],
)
def test_a_cluster_with_no_replicas_is_as_absent(
    assigned: dict[str, int], found: dict[str, int], differs: bool
) -> None:
    web = Manifest({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata("web", namespace="ml")})
    selector = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "namespace": "ml"}
    divided = Manifest({"apiVersion": "policy.karmada.io/v1alpha1", "kind": "PropagationPolicy",
                        "metadata": metadata("web", namespace="ml"), "spec": {"resourceSelectors": [selector]}})  # fmt: skip
    body = binding(SCHEDULED, APPLIED, name="web-deployment")
    body["spec"]["clusters"] = [{"name": name, "replicas": count} for name, count in found.items()]

    (state,) = binding_states(Bindings([body]), tree(divided, web, ml__web=LockEntry("divide", assigned)))

    assert state.differs is differs
