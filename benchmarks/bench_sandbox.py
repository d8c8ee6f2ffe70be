"""The embedded control plane under load: server-side applies of four clients, and a large list."""

from __future__ import annotations

import multiprocessing
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from sandbox_process import resident_mebibytes, sandbox_process

from gitops_vg.kube import connect
from gitops_vg.objects import GroupKind, Manifest

CLIENTS = 4
EACH = 1250
CONFIG_MAPS = GroupKind("", "ConfigMap")


def config_map(name: str) -> Manifest:
    return Manifest({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"},
                     "data": {"a": "x" * 500}})  # fmt: skip


def apply_many(kubeconfig: str, client: int) -> None:
    server = connect(kubeconfig=kubeconfig)
    for number in range(EACH):
        server.apply(config_map(f"c{client}-{number}"))


def main() -> None:
    with sandbox_process() as (kubeconfig, pid):
        clients = [multiprocessing.Process(target=apply_many, args=(kubeconfig, number)) for number in range(CLIENTS)]
        started = time.perf_counter()
        for client in clients:
            client.start()
        for client in clients:
            client.join()
        rate = CLIENTS * EACH / (time.perf_counter() - started)
        print(f"server-side applies by {CLIENTS} client processes: {rate:.0f}/s (target ≥ 300/s)")
        server = connect(kubeconfig=kubeconfig)
        server.serves(CONFIG_MAPS)
        started = time.perf_counter()
        found = len(server.list(CONFIG_MAPS))
        print(
            f"list of {found} objects in pages of 500: {time.perf_counter() - started:.2f} s (target ≤ 1 s for 5,000)"
        )
        print(f"resident memory of the sandbox: {resident_mebibytes(pid)} MiB (target ≤ 250 MB)")


if __name__ == "__main__":
    main()
