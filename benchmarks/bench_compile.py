"""Compiling a large fleet, and publishing one change of it, in one process and from a cold start."""

from __future__ import annotations

import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from gitops_vg.capacity.snapshot import ClusterCapacity, Snapshot
from gitops_vg.compiler import compile_manifests
from gitops_vg.gitstore import RenderedTree, Repository, publish, render_files
from gitops_vg.intents import Intents
from gitops_vg.intents.models import Cluster, Fleet, Queue, Workload
from gitops_vg.placement import LockEntry, PlacementLock

API = {"apiVersion": "gitops-vg.io/v1alpha1"}
WORKLOADS = 10_000
SNAPSHOT = Snapshot((ClusterCapacity("one", allocatable={"cpu": 8000}),), datetime(2026, 12, 1, tzinfo=UTC))


def workload(index: int, *, image: str = "train:1") -> Workload:
    """A gang of two tasks, as most batch work is; one policy and one job are rendered of it."""
    worker = {"name": "worker", "replicas": 3, "image": image, "requests": {"cpu": 8, "oversold-cpu": 4}}
    master = {"name": "master", "image": image, "requests": {"cpu": 2, "memory": "4Gi"}, "limits": {"cpu": 4}}
    spec = {"queue": "research", "job": {"onEvict": "restart", "plugins": ["svc"], "tasks": [master, worker]}}
    metadata = {"name": f"work-{index}", "namespace": f"team-{index % 50}"}
    return Workload.model_validate({**API, "kind": "Workload", "metadata": metadata, "spec": spec})


def fleet(workloads: int) -> Intents:
    found = [workload(index) for index in range(workloads)]
    return Intents(
        fleet=Fleet.model_validate({**API, "kind": "Fleet", "metadata": {"name": "bench"}}),
        clusters=(Cluster.model_validate({**API, "kind": "Cluster", "metadata": {"name": "one"}}),),
        queues=(Queue.model_validate({**API, "kind": "Queue", "metadata": {"name": "research"}}),),
        workloads=tuple(sorted(found, key=lambda one: one.key)),
    )


@contextmanager
def measured(what: str, *, target: str) -> Iterator[None]:
    started = time.perf_counter()
    yield
    print(f"{what}: {time.perf_counter() - started:.2f} s (target {target})", flush=True)


def publish_files(repository: Repository, files: dict[str, bytes]) -> None:
    def render(_: RenderedTree | None) -> dict[str, bytes]:
        return files

    publish(repository, branch="rendered", remote=None, source="0" * 40, subject="Render bench", render=render)


def main() -> None:
    intents = fleet(WORKLOADS)
    lock: PlacementLock = {one.key: LockEntry("one", {"one": 1}, "fits") for one in intents.workloads}
    with measured(f"compile {WORKLOADS:,} workloads", target="≤ 15 s with YAML"):
        manifests = compile_manifests(intents, lock)
    with measured(f"write {len(manifests):,} manifests as YAML", target="≤ 15 s with compiling"):
        files = render_files(intents, manifests=manifests, lock=lock, snapshot=SNAPSHOT)
    changed = dict(files)
    path = next(path for path in files if path.endswith("job.batch.volcano.sh/work-7.yaml"))
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        subprocess.run(["git", "init", "--quiet", str(root)], check=True)
        repository = Repository.open(root)
        with measured(f"publish {len(files):,} files for the first time", target="≤ 5 s"):
            publish_files(repository, files)
        with measured("read the tree, cold", target="no target"):
            repository.read_tree("refs/heads/rendered")
        for turn in ("first", "second"):
            changed[path] = files[path].replace(b"train:1", f"train:{turn}".encode())
            with measured(f"publish one change, {turn} after the tree was read", target="≤ 0.3 s"):
                publish_files(repository, changed)


if __name__ == "__main__":
    main()
