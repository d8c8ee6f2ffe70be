"""A small right fleet around every example, and a way to read and check what is put beside it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from gitops_vg.findings import Finding
from gitops_vg.intents import read_fleet
from gitops_vg.rules import check

FLEET = "apiVersion: gitops-vg.io/v1alpha1\nkind: Fleet\nmetadata: {name: demo}\n"
AROUND = """\
apiVersion: gitops-vg.io/v1alpha1
kind: Cluster
metadata: {name: cluster-1}
spec: {region: north, accelerators: [T4], colocation: {ready: true, oversell: {cpu: true}}}
---
apiVersion: gitops-vg.io/v1alpha1
kind: Cluster
metadata: {name: cluster-2}
spec: {region: east, packing: binpack, colocation: {ready: true, oversell: {cpu: true}}}
---
apiVersion: gitops-vg.io/v1alpha1
kind: Cluster
metadata: {name: cluster-3}
spec: {region: south}
---
apiVersion: gitops-vg.io/v1alpha1
kind: Queue
metadata: {name: ai-training}
spec: {weight: 10}
---
apiVersion: gitops-vg.io/v1alpha1
kind: PriorityClass
metadata: {name: training}
spec: {value: 1000}
"""

Judge = Callable[[str], tuple[Finding, ...]]


@pytest.fixture
def judge(tmp_path: Path) -> Judge:
    """Every finding about a text that stands as one file in the small right fleet."""

    def judged(text: str) -> tuple[Finding, ...]:
        own_fleet = "kind: Fleet" in text and "name: second" not in text
        (tmp_path / "gitops-vg.yaml").write_text(text if own_fleet else FLEET)
        (tmp_path / "clusters").mkdir(exist_ok=True)
        (tmp_path / "clusters/around.yaml").write_text(AROUND)
        (tmp_path / "workloads").mkdir(exist_ok=True)
        if not own_fleet:
            (tmp_path / "workloads/example.yaml").write_text(text)
        result = read_fleet(tmp_path)
        return (*result.findings, *(check(result.intents) if result.intents is not None else ()))

    return judged


@pytest.fixture
def codes(judge: Judge) -> Callable[[str], set[str]]:
    return lambda text: {finding.code for finding in judge(text)}
