"""A tiny fleet in a real repository, and what the tests publish from it."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from gitops_vg.capacity.snapshot import ClusterCapacity, Snapshot
from gitops_vg.compiler import compile_manifests
from gitops_vg.gitstore import PublishResult, RenderedTree, Repository, publish, render_files
from gitops_vg.intents import Intents
from gitops_vg.intents.models import Cluster, Fleet, Workload
from gitops_vg.placement.plan import LockEntry, PlacementLock

BRANCH = "rendered"
API = {"apiVersion": "gitops-vg.io/v1alpha1"}
Files = dict[str, bytes]


def git(folder: Path, *arguments: str) -> str:
    """git as a person at the keyboard uses it."""
    who = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "protocol.file.allow=always")
    done = subprocess.run(["git", *who, *arguments], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def write(folder: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def fleet_repository(folder: Path) -> Repository:
    """A repository on `main` with one committed intent."""
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "--quiet", "--initial-branch=main")
    write(folder, {"gitops-vg.yaml": "kind: Fleet\n", "workloads/shop.yaml": "kind: Workload\n"})
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "-m", "intents")
    return Repository.open(folder)


def intents(*names: str) -> Intents:
    workloads = tuple(
        Workload.model_validate(
            {
                **API, "kind": "Workload", "metadata": {"name": name, "namespace": "web"},
                "spec": {"service": {"replicas": 2, "image": "shop:1", "ports": [80]}},
            }
        )
        for name in sorted(set(names))
    )  # fmt: skip
    return Intents(
        fleet=Fleet.model_validate({**API, "kind": "Fleet", "metadata": {"name": "test"}}),
        clusters=(Cluster.model_validate({**API, "kind": "Cluster", "metadata": {"name": "one"}}),),
        workloads=workloads,
    )


def files(*names: str, free: int = 8000) -> Files:
    """The rendered files of services of these names; `free` is the capacity they were placed with."""
    found = intents(*names)
    lock: PlacementLock = {one.key: LockEntry("divide", {"one": 2}, "fits") for one in found.workloads}
    snapshot = Snapshot((ClusterCapacity("one", allocatable={"cpu": free}),), datetime(2026, 12, 1, tzinfo=UTC))
    return render_files(found, manifests=compile_manifests(found, lock), lock=lock, snapshot=snapshot)


def published(
    repository: Repository, rendered: Files | None = None, *, remote: str | None = None, branch: str = BRANCH
) -> PublishResult:
    """Publish the same files whatever the branch has."""

    def render(tree: RenderedTree | None) -> Files:
        return rendered if rendered is not None else files("shop")

    return publish(
        repository, branch=branch, remote=remote, source=repository.source_commit(), subject="Render test",
        render=render, policies="sha256:policies",
    )  # fmt: skip


def tree_of(repository: Repository) -> RenderedTree:
    tree = repository.read_tree(f"refs/heads/{BRANCH}")
    assert tree is not None
    return tree


def commit_by_hand(repository: Repository, changes: Mapping[str, str | None], *, branch: str = BRANCH) -> None:
    """A person's commit on a branch: files with new text, or removed (None)."""
    folder = repository.root.parent / f"by-hand-{len(list(repository.root.parent.iterdir()))}"
    git(repository.root, "worktree", "add", "--quiet", str(folder), branch)
    for name, text in changes.items():
        if text is None:
            (folder / name).unlink()
        else:
            write(folder, {name: text})
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "-m", "by hand")
    git(repository.root, "worktree", "remove", str(folder))
