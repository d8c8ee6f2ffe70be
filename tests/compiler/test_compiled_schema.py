"""Whatever people write, what is rendered is what the API servers would store: nothing dropped, added or refused."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from compiler_fleet import API, compiled, intents, lock_of
from hypothesis import given, settings
from hypothesis import strategies as st

from gitops_vg.apis import catalog
from gitops_vg.apis.structural import default, prune, validate
from gitops_vg.compiler import compile_manifests, dump_yaml
from gitops_vg.compiler.volcano import with_defaults
from gitops_vg.intents import Intents, read_fleet
from gitops_vg.objects import Manifest
from gitops_vg.quantities import parse_quantity
from gitops_vg.sandbox.karmada.policy_admission import mutated_policy
from gitops_vg.sandbox.karmada.volcano_admission import changed_job_complaint, mutated_job, mutated_queue

VECTORS = Path(__file__).resolve().parents[2].parent / "shared" / "vectors" / "volcano_admission.json"

NAMES = st.sampled_from(["a", "worker", "on", "n", "x-1", "y", "null"])
IMAGES = st.sampled_from(["train:1", "registry.internal:5000/a/b@sha256:abc", "1e3"])
RESOURCES = st.fixed_dictionaries(
    {}, optional={"cpu": st.sampled_from([1, "500m", "0.5"]), "memory": st.just("3.5Gi"),
                  "oversold-cpu": st.integers(1, 8), "nvidia.com/gpu": st.integers(1, 8)},
)  # fmt: skip
TEMPLATES = st.sampled_from(
    [
        {},
        {"metadata": None, "spec": None},
        {"spec": {"hostNetwork": True, "containers": [{"name": "main", "ports": [{"containerPort": 80}]}]}},
        {"metadata": {"labels": {"a": "b"}}, "spec": {"volumes": [{"name": "v", "configMap": {"name": "c"}}]}},
        {"spec": {"containers": [{"name": "main", "livenessProbe": {"grpc": {"port": 1}},
                                  "envFrom": [{"secretRef": {"name": "s"}}]}]}},
    ]
)  # fmt: skip
POD = {"image": IMAGES}
POD_OPTIONS = {
    "requests": RESOURCES, "ports": st.lists(st.integers(1, 65535), max_size=2, unique=True), "template": TEMPLATES,
    "env": st.dictionaries(st.sampled_from(["A", "B_C"]), st.sampled_from(["", "on", "8", "a\nb"]), max_size=2),
    "command": st.lists(st.sampled_from(["run", "-c", "1"]), max_size=2),
    "restartPolicy": st.sampled_from(["OnFailure", "Never"]), "nodeSelector": st.just({"gpu": "on"}),
}  # fmt: skip
TASKS = st.lists(
    st.fixed_dictionaries({"name": NAMES, "replicas": st.integers(1, 4), **POD}, optional=POD_OPTIONS),
    min_size=1, max_size=3, unique_by=lambda task: task["name"],
)  # fmt: skip
JOBS = st.fixed_dictionaries(
    {"tasks": TASKS},
    optional={
        "gang": st.sampled_from(["all", "none", 1]), "onEvict": st.sampled_from(["restart", "abort", "ignore"]),
        "plugins": st.lists(st.sampled_from(["env", "svc", "mpi", "pytorch", "ray"]), unique=True, max_size=3),
        "maxRetry": st.integers(1, 9),
    },
)  # fmt: skip
SERVICES = st.fixed_dictionaries({"replicas": st.integers(0, 9), **POD}, optional=POD_OPTIONS)
SPECS = st.one_of(
    st.fixed_dictionaries({"job": JOBS}, optional={"queue": NAMES, "priorityClass": NAMES, "protect": st.booleans()}),
    st.fixed_dictionaries({"job": JOBS, "schedule": st.just("0 2 * * *")}, optional={"timeZone": st.just("UTC")}),
    st.fixed_dictionaries({"service": SERVICES}, optional={"priorityClass": NAMES, "qos": st.just("offline")}),
)


def fleet_of(spec: dict[str, Any]) -> Intents:
    queue = "kind: Queue\nmetadata: {name: research}\nspec: {guarantee: {cpu: 1}, priority: 3}"
    document = {"kind": "Workload", "metadata": {"name": "work", "namespace": "ml"}, "spec": spec}
    return intents(queue, "kind: PriorityClass\nmetadata: {name: high}\nspec: {value: 9}", yaml.safe_dump(document))


def wrong_with(manifest: Manifest) -> Iterator[str]:
    """What an API server would drop, add or refuse."""
    kind = catalog().of(manifest.key.group_kind)
    assert kind is not None
    assert kind.schema is not None
    body = dict(manifest.body)
    dropped = prune(kind.schema, body)[1]
    yield from (f"{manifest.key}: {path} is unknown" for path in dropped)
    if default(kind.schema, body) != body:
        yield f"{manifest.key}: not every default is written"
    if manifest.key.kind != "Cluster":  # Of a Cluster only labels are applied; it exists with its spec before.
        yield from (f"{manifest.key}: {fault}" for fault in validate(kind.schema, body))


@given(SPECS)
@settings(max_examples=60, deadline=None)
def test_any_workload_is_rendered_as_an_api_server_would_store_it(spec: dict[str, Any]) -> None:
    for manifest in compiled(fleet_of(spec), east=2).values():
        assert list(wrong_with(manifest)) == []


@given(SPECS)
@settings(max_examples=40, deadline=None)
def test_no_webhook_of_karmada_or_volcano_has_anything_to_add(spec: dict[str, Any]) -> None:
    for manifest in compiled(fleet_of(spec), east=2).values():
        match manifest.key.kind:
            case "Job":
                assert mutated_job(manifest.body) == manifest.body
                assert changed_job_complaint(manifest.body, old=mutated_job(manifest.body)) == ""
            case "Queue":
                assert mutated_queue(manifest.body) == manifest.body
            case "PropagationPolicy" | "ClusterPropagationPolicy":
                assert mutated_policy(manifest.body, creating=False)["spec"] == manifest.body["spec"]


@given(SPECS)
@settings(max_examples=40, deadline=None)
def test_the_same_intents_give_the_same_bytes_and_read_back_the_same(spec: dict[str, Any]) -> None:
    found = fleet_of(spec)

    texts = [[dump_yaml(one.body) for one in compile_manifests(found, lock_of(found))] for _ in range(2)]

    assert texts[0] == texts[1]
    assert [yaml.safe_load(text) for text in texts[0]] == [one.body for one in compile_manifests(found, lock_of(found))]


def test_the_order_of_the_intents_does_not_matter() -> None:
    found = fleet_of({"service": {"image": "a:1"}})
    backwards = Intents(found.fleet, found.clusters[::-1], found.queues[::-1], workloads=found.workloads[::-1])
    forwards = Intents(found.fleet, found.clusters, found.queues, workloads=found.workloads)

    first, second = (compile_manifests(one, lock_of(found)) for one in (forwards, backwards))

    assert [one.body for one in first] == [one.body for one in second]


def test_the_sample_fleet_is_rendered_as_an_api_server_would_store_it(repository_root: Path) -> None:
    found = read_fleet(repository_root).intents
    assert found is not None

    manifests = compile_manifests(found, lock_of(found, **{"cluster-1": 7, "cluster-3": 5}))

    assert len({manifest.path for manifest in manifests}) == len(manifests)
    assert [fault for manifest in manifests for fault in wrong_with(manifest)] == []


def test_everything_rendered_is_a_kind_we_have_the_schema_of() -> None:
    found = fleet_of({"job": {"tasks": [{"name": "a", "image": "x"}]}})

    for manifest in compiled(found).values():
        kind = catalog().of(manifest.key.group_kind)
        assert kind is not None
        assert manifest.api_version == kind.api_version
        assert kind.namespaced == bool(manifest.key.namespace)
        assert manifest.api_version != API


# ---------------------------------------------------------------- recorded mutations

_OTHERWISE = {"v0480": "an enum given as empty text is dropped and defaulted; our schema refuses it (GVG344)"}


def as_go_writes_it(body: dict[str, Any]) -> tuple[list[str], Any]:
    """Plugins, and the rest as Go compares it: empty values are absent ones, quantities are their values."""
    body = {**body, "spec": dict(body["spec"]), "status": None}
    plugins = sorted(body["spec"].pop("plugins", None) or {})
    return plugins, _plain(body)


def _plain(value: Any, *, quantities: bool = False) -> Any:
    if isinstance(value, dict):
        plain = {key: _plain(inner, quantities=key in ("limits", "requests")) for key, inner in value.items()}
        return {key: inner for key, inner in plain.items() if inner} if not quantities else _values(value)
    return [_plain(inner) for inner in value] if isinstance(value, list) else value


def _values(resources: dict[str, Any]) -> dict[str, Any]:
    return {name: parse_quantity(str(quantity).strip()) for name, quantity in resources.items()}


@pytest.mark.shared
@pytest.mark.skipif(not VECTORS.exists(), reason="recordings of Volcano's admission are not beside the project")
def test_jobs_are_completed_exactly_as_the_real_webhook_completes_them() -> None:
    cases = [
        case for case in json.loads(VECTORS.read_text())
        if (case["kind"], case["operation"], case["overall"]) == ("Job", "CREATE", "allowed") and case.get("mutated")
    ]  # fmt: skip

    different = [
        case["id"] for case in cases
        if as_go_writes_it(with_defaults(case["object"])) != as_go_writes_it(case["mutated"])
    ]  # fmt: skip

    assert len(cases) > 200
    assert set(different) <= _OTHERWISE.keys()
