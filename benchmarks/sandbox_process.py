"""The embedded control plane in a process of its own, so that a benchmark's client does not share its interpreter."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def sandbox_process() -> Iterator[tuple[str, int]]:
    """Kubeconfig and process id of a running `gitops-vg sandbox up`."""
    with tempfile.TemporaryDirectory() as folder:
        kubeconfig = Path(folder) / "kubeconfig"
        program = Path(sys.executable).with_name("gitops-vg")
        process = subprocess.Popen(
            [program, "sandbox", "up", "--kubeconfig", kubeconfig, "--job-seconds", "600"],
            stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        try:
            assert process.stdout is not None
            for _ in range(2):
                process.stdout.readline()
            time.sleep(2)  # Clusters become ready; what is measured starts after that.
            yield str(kubeconfig), process.pid
        finally:
            process.terminate()
            process.wait(timeout=15)


def resident_mebibytes(pid: int) -> int:
    """Resident memory of a process."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) // 1024
    return 0
