"""A folder that becomes a fleet, file by file."""

from __future__ import annotations

from pathlib import Path

from gitops_vg.findings import Finding
from gitops_vg.intents import ReadResult, read_fleet

FLEET = "apiVersion: gitops-vg.io/v1alpha1\nkind: Fleet\nmetadata: {name: demo}\n"


class Folder:
    """Files of a fleet; `read()` reads them."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.write("gitops-vg.yaml", FLEET)

    def write(self, name: str, content: str | bytes) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    def intent(self, kind: str, name: str, spec: str, *, file: str = "", namespace: str = "") -> Path:
        metadata = f"{{name: {name}, namespace: {namespace}}}" if namespace else f"{{name: {name}}}"
        text = f"apiVersion: gitops-vg.io/v1alpha1\nkind: {kind}\nmetadata: {metadata}\nspec: {spec}\n"
        return self.write(file or f"workloads/{name}.yaml", text)

    def read(self) -> ReadResult:
        return read_fleet(self.root)

    def findings(self) -> list[Finding]:
        return list(self.read().findings)

    def only(self) -> Finding:
        (finding,) = self.findings()
        return finding
