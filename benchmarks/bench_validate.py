"""Validation of a large fleet: reading and all rules, in a process of its own, imports included."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
HEADER = "apiVersion: gitops-vg.io/v1alpha1\nkind: {kind}\nmetadata: {metadata}\nspec:\n"
_MEASURED = """
import resource, sys, time
started = time.perf_counter()
from pathlib import Path
from gitops_vg.intents import read_fleet
from gitops_vg.rules import check
imported = time.perf_counter()
read = read_fleet(Path(sys.argv[1]))
done_reading = time.perf_counter()
found = (*read.findings, *(check(read.intents) if read.intents is not None else ()))
done = time.perf_counter()
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
print(f"{done - started:.2f} s (imports {imported - started:.2f}, reading {done_reading - imported:.2f}, "
      f"rules {done - done_reading:.2f}), {peak} MiB, {len(found)} findings", end="")
"""


def document(kind: str, name: str, spec: str, *, namespace: str = "") -> str:
    metadata = f"{{name: {name}, namespace: {namespace}}}" if namespace else f"{{name: {name}}}"
    return HEADER.format(kind=kind, metadata=metadata) + "".join(f"  {line}\n" for line in spec.splitlines())


def job(index: int) -> str:
    return (
        f"qos: offline\nqueue: queue-{index % 40}\npriorityClass: training\njob:\n  gang: all\n  onEvict: restart\n"
        "  plugins: [env, svc]\n  tasks:\n    - name: master\n      image: trainer:v1.2\n"
        "      requests: {cpu: 2, memory: 4Gi}\n    - name: worker\n      replicas: 3\n      image: trainer:v1.2\n"
        "      requests: {cpu: 8, oversold-cpu: 4}\n      limits: {cpu: 12}"
    )


def service(index: int) -> str:
    return (
        f"qos: online\npriorityClass: training\nservice:\n  replicas: {1 + index % 9}\n  image: shop:2.3\n"
        "  ports: [8080]\n  requests: {cpu: 1800m, memory: 3.5Gi}\n  limits: {cpu: 2, memory: 4Gi}\n"
        "placement: {clusters: {count: 2}, spread: region}"
    )


def templated(index: int) -> str:
    return (
        f'queue: queue-{index % 40}\nschedule: "{index % 60} 2 * * *"\njob:\n  tasks:\n    - name: main\n'
        "      template:\n        spec:\n          restartPolicy: OnFailure\n"
        '          containers: [{name: main, image: "report:1", resources: {requests: {cpu: 4, memory: 1Gi}}}]'
    )


def write_fleet(root: Path, *, workloads: int) -> None:
    """Clusters, queues, one policy, and workloads of three forms in turn."""
    for folder in ("clusters", "policies", "workloads"):
        (root / folder).mkdir()
    (root / "gitops-vg.yaml").write_text(document("Fleet", "bench", "batch: {max: 50}"))
    for index in range(10):
        spec = f"region: region-{index}\ncolocation: {{ready: true, oversell: {{cpu: true}}}}"
        (root / f"clusters/cluster-{index}.yaml").write_text(document("Cluster", f"cluster-{index}", spec))
    for index in range(40):
        (root / f"policies/queue-{index}.yaml").write_text(document("Queue", f"queue-{index}", f"weight: {index + 1}"))
    (root / "policies/training.yaml").write_text(document("PriorityClass", "training", "value: 1000"))
    policy = "selects: {qos: offline}\nclusters: {where: {colocation: ready}}"
    (root / "policies/offline.yaml").write_text(document("PlacementPolicy", "offline", policy))
    forms = (job, service, templated)
    for index in range(workloads):
        text = document("Workload", f"work-{index}", forms[index % 3](index), namespace=f"team-{index % 50}")
        (root / f"workloads/work-{index}.yaml").write_text(text)


def measured(root: Path) -> str:
    command = [sys.executable, "-c", _MEASURED, str(root)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def main() -> None:
    print(f"sample fleet: {measured(ROOT)} (target ≤ 0.3 s)")
    for workloads, target in ((2_000, "4 s"), (10_000, "12 s, 400 MiB")):
        with tempfile.TemporaryDirectory() as folder:
            write_fleet(Path(folder), workloads=workloads)
            print(f"{workloads:,} workloads: {measured(Path(folder))} (target ≤ {target})", flush=True)


if __name__ == "__main__":
    main()
