"""`gitops-vg init`."""

from __future__ import annotations

from pathlib import Path

import click

from gitops_vg.cli.options import output_option
from gitops_vg.cli.output import Session
from gitops_vg.errors import UsageError

FILES = {
    "gitops-vg.yaml": """\
apiVersion: gitops-vg.io/v1alpha1
kind: Fleet
metadata: {{name: {name}}}
spec:
  karmada: {{context: karmada-apiserver}}   # the kubeconfig context of your karmada-apiserver
  rendered: {{branch: rendered}}            # where manifests are committed; add `remote: origin` to push them
""",
    ".gitignore": ".gitops-vg/\n",
    "clusters/cluster-1.yaml": """\
# One intent for each member, named as in `kubectl get clusters` of karmada-apiserver.
apiVersion: gitops-vg.io/v1alpha1
kind: Cluster
metadata: {{name: cluster-1}}
spec:
  packing: spread                         # spread | binpack: how its scheduler fills nodes
  cgroupDriver: systemd
  colocation: {{ready: true}}               # may offline work share nodes with online work?
""",
    "policies/queues.yaml": """\
apiVersion: gitops-vg.io/v1alpha1
kind: Queue
metadata: {{name: training}}
spec:
  weight: 1
  capability: {{cpu: 100, memory: 400Gi}}
""",
    "workloads/hello.yaml": """\
apiVersion: gitops-vg.io/v1alpha1
kind: Workload
metadata: {{name: hello, namespace: demo}}
spec:
  queue: training
  job:
    tasks:
      - name: worker
        replicas: 2
        image: busybox:1.37
        command: [echo, hello]
        requests: {{cpu: 1, memory: 1Gi}}
""",
}


@click.command("init", epilog="Example: gitops-vg init my-fleet && cd my-fleet && gitops-vg validate")
@click.argument("folder", type=click.Path(path_type=Path), default=Path())
@click.option("--name", help="Name of the fleet (default: the folder's name).")
@output_option
@click.pass_obj
def command(session: Session, folder: Path, name: str | None) -> int:
    """Write the first files of a fleet repository; files that exist are never touched."""
    fleet = name or _dns_name(folder.resolve().name)
    taken = [file for file in FILES if (folder / file).exists()]
    if "gitops-vg.yaml" in taken:
        raise UsageError(f"{folder} is a fleet already: it has a gitops-vg.yaml", hint="name another folder")
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is a file", hint="name a folder")
    written = [file for file in FILES if file not in taken]
    for file in written:
        path = folder / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(FILES[file].format(name=fleet), encoding="utf-8")
    enter = "" if folder.resolve() == Path.cwd() else f"cd {folder} && "
    session.emit(
        text=lambda _: "\n".join([*(f"wrote {folder / file}" for file in written), f"next: {enter}gitops-vg validate"]),
        data=lambda: {"fleet": fleet, "written": written},
    )
    return 0


def _dns_name(text: str) -> str:
    name = "".join(letter if letter.isalnum() and letter.isascii() else "-" for letter in text.lower())
    return name.strip("-") or "fleet"
