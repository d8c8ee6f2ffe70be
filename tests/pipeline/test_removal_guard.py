"""Publishing what destroys: within the budget it happens, beyond it a person's word for exactly this plan is needed."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from gitops_vg.capacity.snapshot import ClusterCapacity, Node, Snapshot
from gitops_vg.errors import GuardError
from gitops_vg.gitstore import PublishResult, Repository, start_repository
from gitops_vg.pipeline import publish_fleet

NOW = datetime(2026, 12, 1, tzinfo=UTC)
HEADER = "apiVersion: gitops-vg.io/v1alpha1\nkind: {kind}\nmetadata: {{name: {name}{more}}}\n"
ROOM = {"cpu": 1_000_000, "memory": 2**45, "pods": 1000}
SNAPSHOT = Snapshot(
    (ClusterCapacity("east", capacity=ROOM, allocatable=ROOM, nodes=(Node("n", ROOM, ROOM),), node_source="nodes"),),
    NOW,
)
NAMES = [f"work-{index}" for index in range(10)]


class Fleet:
    """A fleet folder that is edited, committed and published."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.write("gitops-vg", "Fleet", "test", "spec: {protect: [Queue], deletes: {maxCount: 3, maxPercent: 50}}")
        self.write("clusters/east", "Cluster", "east", "spec: {}")
        self.write("policies/research", "Queue", "research", "spec: {weight: 1}")
        for name in NAMES:
            self.job(name)
        self.repository: Repository = start_repository(folder, message="start")

    def write(self, path: str, kind: str, name: str, spec: str, *, more: str = "") -> None:
        file = self.folder / f"{path}.yaml"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(HEADER.format(kind=kind, name=name, more=more) + spec + "\n")

    def job(self, name: str, *, more: str = "") -> None:
        spec = f"spec: {{queue: research, {more}job: {{tasks: [{{name: main, image: 'x:1', requests: {{cpu: 1, memory: 1Gi}}}}]}}}}"
        self.write(f"workloads/{name}", "Workload", name, spec, more=", namespace: ml")

    def remove(self, *paths: str) -> None:
        for path in paths:
            (self.folder / f"{path}.yaml").unlink()

    def approve(self, digest: str, *, expires: str = "2026-12-08") -> None:
        spec = f"spec: {{plan: '{digest}', reason: meant, expires: {expires}}}"
        self.write("policies/approvals/meant", "Approval", "meant", spec)

    def publish(self) -> PublishResult:
        if self.repository.source_state().dirty:
            self.repository.commit_all("change")
        return publish_fleet(self.repository, snapshot_of=lambda _: SNAPSHOT, clock=lambda: NOW)[0]

    def refused(self) -> GuardError:
        before = self.repository.branch_commit("rendered")
        with pytest.raises(GuardError) as raised:
            self.publish()
        assert self.repository.branch_commit("rendered") == before
        return raised.value


@pytest.fixture
def fleet(tmp_path: Path) -> Fleet:
    made = Fleet(tmp_path / "fleet")
    made.publish()
    return made


def test_a_removal_within_the_budget_is_published(fleet: Fleet) -> None:
    fleet.remove("workloads/work-0")

    removed = fleet.publish().removed

    assert removed == (
        "manifests/ml/job.batch.volcano.sh/work-0.yaml", "manifests/ml/propagationpolicy.policy.karmada.io/work-0.yaml",
    )  # fmt: skip


def test_a_removal_beyond_the_budget_is_refused_and_says_how_to_approve_it(fleet: Fleet) -> None:
    fleet.remove("workloads/work-0", "workloads/work-1")

    error = fleet.refused()

    assert "4 deletions are more than one run may do" in error.reasons[0]
    assert error.digest.startswith("sha256:")
    assert "delete Job.batch.volcano.sh ml/work-0" in error.reasons
    assert "Approval" in error.hint


def test_a_protected_object_is_not_removed_within_the_budget_either(fleet: Fleet) -> None:
    for name in NAMES:
        fleet.job(name, more="protect: false, ")
    fleet.write("policies/other", "Queue", "other", "spec: {weight: 1}")
    fleet.publish()
    fleet.remove("policies/other")

    assert "Queue.scheduling.volcano.sh other is protected" in fleet.refused().reasons


def test_taking_a_protection_away_needs_a_word_as_well(fleet: Fleet) -> None:
    fleet.write("policies/research", "Queue", "research", "spec: {weight: 1, protect: false}")

    reasons = fleet.refused().reasons

    assert "Queue.scheduling.volcano.sh research would lose its protection against deletion" in reasons
    assert "unprotect Queue.scheduling.volcano.sh research" in reasons


def test_an_approval_opens_exactly_the_plan_it_names(fleet: Fleet) -> None:
    fleet.remove("workloads/work-0", "workloads/work-1")
    fleet.approve(fleet.refused().digest)

    assert len(fleet.publish().removed) == 4


def test_an_approval_does_not_open_one_deletion_more(fleet: Fleet) -> None:
    fleet.remove("workloads/work-0", "workloads/work-1")
    fleet.approve(fleet.refused().digest)
    fleet.remove("workloads/work-2")

    assert "6 deletions" in fleet.refused().reasons[0]


def test_an_approval_of_yesterday_opens_nothing(fleet: Fleet) -> None:
    fleet.remove("workloads/work-0", "workloads/work-1")
    fleet.approve(fleet.refused().digest, expires="2026-11-30")

    assert fleet.refused().digest


def test_an_approval_holds_through_its_last_day(fleet: Fleet) -> None:
    fleet.remove("workloads/work-0", "workloads/work-1")
    fleet.approve(fleet.refused().digest, expires="2026-12-01")

    assert fleet.publish().removed


def test_an_emptied_fleet_is_never_an_empty_world(fleet: Fleet) -> None:
    fleet.remove("policies/research", *(f"workloads/{name}" for name in NAMES))

    assert "no workload and no queue is left: everything would be deleted" in fleet.refused().reasons


def test_the_digest_does_not_depend_on_what_else_changes(fleet: Fleet) -> None:
    fleet.remove("workloads/work-0", "workloads/work-1")
    digest = fleet.refused().digest
    fleet.job("work-11")

    assert fleet.refused().digest == digest


def test_a_cluster_that_leaves_the_fleet_is_no_deletion(fleet: Fleet) -> None:
    fleet.write("clusters/west", "Cluster", "west", "spec: {}")
    fleet.publish()
    fleet.remove("clusters/west")

    assert "manifests/_cluster/cluster.cluster.karmada.io/west.yaml" in fleet.publish().removed
