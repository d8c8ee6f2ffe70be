"""Whatever people write, rules answer with findings inside the files, never with an exception."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
import yaml

from gitops_vg.findings import Finding
from gitops_vg.rules import registry

POOL: list[Any] = [
    None, True, 0, -1, 3, 10**12, 1.5, "", "a", "x" * 80, "100m", "1e12", "-5", "1Ki", "NaN", "2-1", "@every 1s", "* * * * *",
    "all", "offline", "online", [], {}, [{}], {"a": "b"}, [None], [[1]], {"spec": 3}, {"containers": [{}]},
    {"spec": {"containers": [{"name": "a", "resources": {"requests": {"cpu": 1.5}}}], "initContainers": [{"name": "a"}]}},
    {"cpu": "x", "oversold-cpu": "1", "nvidia.com/gpu": "100m"}, "cluster-1", "ai-training", "default", "root", "kube-system",
]  # fmt: skip
FULL = yaml.safe_load("""
apiVersion: gitops-vg.io/v1alpha1
kind: Workload
metadata: {name: full, namespace: ml, labels: {a: b}}
spec:
  qos: offline
  queue: ai-training
  priorityClass: training
  schedule: "0 2 * * *"
  timeZone: UTC
  protect: true
  job:
    gang: 2
    plugins: {svc: [], mpi: ["--master=a"]}
    tasks:
      - name: a
        replicas: 3
        minAvailable: 1
        ports: [80]
        env: {A: b}
        nodeSelector: {x: yes-it-is}
        requests: {cpu: 1, memory: 1Gi, nvidia.com/gpu: 1, oversold-cpu: 2}
        limits: {cpu: 2}
        template:
          metadata: {labels: {x: yes-it-is}}
          spec:
            restartPolicy: Never
            initContainers: [{name: i, image: "i:1", resources: {limits: {cpu: 1}}}]
            containers: [{name: m, image: "m:1", ports: [{containerPort: 80}], resources: {requests: {cpu: "1"}}}]
  placement:
    policy: p
    clusters: {names: [cluster-1], exclude: [cluster-3], count: 1-2, where: {colocation: ready, labels: {a: b}}}
    spread: region
    tolerate: [{key: a, value: b, effect: NoSchedule}]
""")


def places(data: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every path of a tree."""
    items = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    return [path, *(found for key, value in items for found in places(value, (*path, key)))]


def mutated(documents: list[Any], *, chance: random.Random) -> list[Any]:
    """The documents with one or two values replaced, removed or doubled."""
    changed = copy.deepcopy(documents)
    for _ in range(chance.randint(1, 2)):
        path = chance.choice(places(changed))
        if not path:
            continue
        parent = changed
        for part in path[:-1]:
            parent = parent[part]
        what = chance.random()
        if what < 0.2:
            del parent[path[-1]]
        elif what < 0.35 and isinstance(parent, list):
            parent.append(copy.deepcopy(parent[path[-1]]))
        else:
            parent[path[-1]] = copy.deepcopy(chance.choice(POOL))
    return changed


@cache
def corpus() -> list[list[Any]]:
    texts = [text for rule in registry() if rule.check for text in (rule.wrong, rule.right) if text]
    return [[FULL], *(list(yaml.safe_load_all(text)) for text in texts)]


@pytest.mark.parametrize("seed", range(80))
def test_a_mutated_example_is_judged(seed: int, judge: Callable[[str], tuple[Finding, ...]]) -> None:
    chance = random.Random(seed)
    base = FULL if seed % 3 == 0 else None
    documents = [base] if base is not None else chance.choice(corpus())
    text = yaml.safe_dump_all(mutated(documents, chance=chance), sort_keys=False)
    lines = text.splitlines() or [""]

    for finding in judge(text):
        assert finding.message
        assert finding.fix
        if finding.at.file == "workloads/example.yaml":
            assert 1 <= finding.at.line <= len(lines)
            assert 1 <= finding.at.column <= len(lines[finding.at.line - 1]) + 1
