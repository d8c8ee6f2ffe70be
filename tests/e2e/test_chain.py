"""From intents to a repaired control plane: the same assertions on the embedded and on a real API server."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from gitops_vg import pipeline
from gitops_vg.capacity import Snapshot
from gitops_vg.errors import Denied, GuardError
from gitops_vg.gitstore import Repository
from gitops_vg.kube import ApiServer
from gitops_vg.objects import ObjectKey
from gitops_vg.reconcile import ActionKind

QUEUE = ObjectKey("scheduling.volcano.sh", "Queue", "", "reports")
SHOP = ObjectKey("apps", "Deployment", "web", "shop")


def publish(fleet: Repository, snapshot: Snapshot) -> str:
    result, _ = pipeline.publish_fleet(fleet, snapshot_of=lambda _: snapshot)
    return result.commit


def edit(fleet: Repository, file: str, old: str, new: str) -> None:
    path = fleet.root / file
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    fleet.commit_all(f"edit {file}")


def approve(fleet: Repository, digest: str) -> None:
    expires = (pipeline.utc_now() + timedelta(days=2)).date().isoformat()
    path = Path(fleet.root / "policies/approval.yaml")
    path.write_text(
        "apiVersion: gitops-vg.io/v1alpha1\nkind: Approval\nmetadata: {name: ok}\n"
        f'spec: {{plan: "{digest}", reason: meant, expires: "{expires}"}}\n'
    )
    fleet.commit_all("approve")


def test_the_chain_from_intents_to_repair_and_retirement(
    fleet: Repository, server: ApiServer, snapshot: Snapshot
) -> None:
    # Publishing makes one commit, and none when nothing changed.
    assert publish(fleet, snapshot)
    assert publish(fleet, snapshot) == ""
    tree = pipeline.rendered_tree(fleet, "rendered")
    assert len(tree.lock["ml/bert-training"].assignments) == 1
    assert sum(tree.lock["web/shop"].assignments.values()) == 12

    # The first sync creates everything; the next has nothing to do and writes nothing.
    plan, result = pipeline.sync_fleet(server, tree)
    assert result.failures == ()
    assert {action.kind for action in plan.actions} <= {ActionKind.CREATE, ActionKind.ADOPT}
    for _ in range(2):
        plan, result = pipeline.sync_fleet(server, tree)
        assert plan.problems == ()
        assert plan.actions == ()
    assert pipeline.drift_of(server, tree).drifted == ()

    # A live edit is found by its field and its author, and repaired.
    server.json_patch(SHOP, [{"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": "evil:1"}])
    (drifted,) = pipeline.drift_of(server, tree).drifted
    assert drifted.key == SHOP
    assert drifted.changes[0].path == ".spec.template.spec.containers[shop].image"
    assert (drifted.changes[0].live, drifted.changes[0].wanted) == ("evil:1", "shop:2.3")
    plan, _ = pipeline.sync_fleet(server, tree)
    assert [str(action) for action in plan.actions] == ["update Deployment.apps web/shop"]
    assert pipeline.drift_of(server, tree).drifted == ()

    # The protected queue cannot be deleted: not by the control plane, not by a commit.
    live = server.get(QUEUE)
    assert live is not None
    with pytest.raises(Denied, match="protected"):
        server.delete(QUEUE, uid=live["metadata"]["uid"])
    queues = fleet.root / "policies/queues.yaml"
    queues.write_text("---\n".join(part for part in queues.read_text().split("---\n") if "name: reports" not in part))
    edit(fleet, "workloads/nightly-report.yaml", "queue: reports", "queue: ai-training")
    with pytest.raises(GuardError) as stopped:
        publish(fleet, snapshot)
    assert server.get(QUEUE) is not None

    # An approval of exactly this plan opens it, in Git and in the control plane.
    approve(fleet, stopped.value.digest)
    assert publish(fleet, snapshot)
    tree = pipeline.rendered_tree(fleet, "rendered")
    plan, result = pipeline.sync_fleet(server, tree)
    assert plan.digest == stopped.value.digest
    assert plan.approved_by == "ok"
    assert result.failures == ()
    assert server.get(QUEUE) is None
