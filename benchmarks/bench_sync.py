"""`sync` of 1,000 objects into the embedded control plane: the first time, and again with nothing to do."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from sandbox_process import sandbox_process

from gitops_vg.gitstore import ApprovalRecord, TreeSettings
from gitops_vg.kube import connect
from gitops_vg.objects import FIELD_MANAGER, MANAGED_BY_LABEL, Manifest
from gitops_vg.placement.plan import LockEntry
from gitops_vg.reconcile import execute, load, make_plan

OBJECTS = int(sys.argv[1]) if len(sys.argv) > 1 else 1000


@dataclass(frozen=True)
class Tree:
    """A committed tree, as the reconciler needs it."""

    manifests: tuple[Manifest, ...]
    settings: TreeSettings = field(default_factory=lambda: TreeSettings("bench"))
    commit: str = "bench"
    lock: dict[str, LockEntry] = field(default_factory=dict)
    approvals: tuple[ApprovalRecord, ...] = ()


def tree() -> Tree:
    """A namespace, and jobs with their policies, as a fleet has them."""
    labels = {MANAGED_BY_LABEL: FIELD_MANAGER}
    manifests = [Manifest({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ml", "labels": labels}})]
    for number in range((OBJECTS - 1) // 2):
        name = f"job-{number}"
        metadata = {"name": name, "namespace": "ml", "labels": labels}
        task = {"name": "worker", "replicas": 1, "minAvailable": 1, "maxRetry": 3,
                "template": {"spec": {"restartPolicy": "OnFailure", "containers": [{"name": "worker", "image": "a:1"}]}}}  # fmt: skip
        spec = {"schedulerName": "volcano", "queue": "default", "minAvailable": 1, "maxRetry": 3, "tasks": [task]}
        manifests.append(
            Manifest({"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": metadata, "spec": spec})
        )
        selector = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "name": name, "namespace": "ml"}
        policy = {"conflictResolution": "Abort", "preemption": "Never", "priority": 0,
                  "schedulerName": "default-scheduler", "resourceSelectors": [selector],
                  "placement": {"clusterAffinity": {"clusterNames": ["cluster-1"]}}}  # fmt: skip
        manifests.append(
            Manifest({"apiVersion": "policy.karmada.io/v1alpha1", "kind": "PropagationPolicy", "metadata": metadata,
                      "spec": policy})
        )  # fmt: skip
    return Tree(tuple(sorted(manifests, key=lambda item: item.key)))


def sync_once(server: object, rendered: Tree) -> tuple[float, int]:
    """Seconds of one sync, and the actions it did."""
    started = time.perf_counter()
    inventory = load(server, fleet="bench")  # type: ignore[arg-type]
    plan = make_plan(server, rendered, inventory, today=date.today())  # type: ignore[arg-type]
    result = execute(server, plan, inventory)  # type: ignore[arg-type]
    assert not result.failures, result.failures[0]
    return time.perf_counter() - started, len(result.done)


def main() -> None:
    rendered = tree()
    with sandbox_process() as (kubeconfig, _):
        server = connect(kubeconfig=kubeconfig)
        seconds, done = sync_once(server, rendered)
        print(f"first sync of {done} objects: {seconds:.2f} s (target ≤ 10 s for 1,000)")
        for _ in range(20):
            time.sleep(1)
            seconds, done = sync_once(server, rendered)
            if not done:
                break
        time.sleep(2)
        idle = [sync_once(server, rendered)[0] for _ in range(5)]
        print(f"sync with nothing to do: {sorted(idle)[2]:.2f} s (median of 5; target ≤ 1 s)")


if __name__ == "__main__":
    main()
