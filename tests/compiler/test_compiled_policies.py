"""Placements become policies that Karmada can only read one way."""

from __future__ import annotations

from typing import Any

import pytest
from compiler_fleet import compiled, intents, spec_of, workload

from gitops_vg.compiler import compile_manifests
from gitops_vg.placement.plan import LockEntry

TASK = "job: {tasks: [{name: main, image: 'train:1'}]}"
SHOP = workload("service: {replicas: 7, image: 'shop:1', ports: [80]}", name="shop", namespace="web")
POLICY = "PropagationPolicy.policy.karmada.io"
CLUSTER_POLICY = "ClusterPropagationPolicy.policy.karmada.io"
ROLE = "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: 'system:reader'}}"
SETTINGS = "{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}}"


def raw(*bodies: str, more: str = "") -> str:
    lines = "".join(f"    - {body}\n" for body in bodies)
    return workload(f"manifests:\n  inline:\n{lines}{more}", name="legacy", namespace="web")


def weights(spec: dict[str, Any]) -> dict[str, int]:
    listed = spec["placement"]["replicaScheduling"]["weightPreference"]["staticWeightList"]
    return {entry["targetCluster"]["clusterNames"][0]: entry["weight"] for entry in listed}


def test_a_gang_has_one_cluster_and_no_division() -> None:
    spec = spec_of(intents(workload(TASK)), f"{POLICY} ml/train")

    assert spec["placement"] == {"clusterAffinity": {"clusterNames": ["east"]}}
    assert spec["resourceSelectors"] == [
        {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "name": "train", "namespace": "ml"}
    ]


def test_a_divided_service_has_weights_equal_to_its_counts() -> None:
    spec = spec_of(intents(SHOP), f"{POLICY} web/shop", north=5, east=2)

    assert spec["placement"]["clusterAffinity"] == {"clusterNames": ["east", "north"]}
    assert spec["placement"]["replicaScheduling"]["replicaSchedulingType"] == "Divided"
    assert spec["placement"]["replicaScheduling"]["replicaDivisionPreference"] == "Weighted"
    assert weights(spec) == {"east": 2, "north": 5}
    assert [selector["kind"] for selector in spec["resourceSelectors"]] == ["Deployment", "Service"]


def test_a_cluster_without_replicas_is_not_named() -> None:
    spec = spec_of(intents(SHOP), f"{POLICY} web/shop", east=2, north=0)

    assert spec["placement"]["clusterAffinity"] == {"clusterNames": ["east"]}
    assert weights(spec) == {"east": 2}


def test_a_service_scaled_to_nothing_stays_where_it_is() -> None:
    spec = spec_of(intents(SHOP), f"{POLICY} web/shop", east=0)

    assert weights(spec) == {"east": 1}


def test_work_that_is_copied_whole_has_its_clusters_and_no_division() -> None:
    spec = spec_of(intents(raw(SETTINGS)), f"{POLICY} web/legacy", east=1, south=1)

    assert spec["placement"] == {"clusterAffinity": {"clusterNames": ["east", "south"]}}


def test_everything_that_karmada_would_default_is_written_out() -> None:
    spec = spec_of(intents(workload(TASK)), f"{POLICY} ml/train")

    assert (spec["conflictResolution"], spec["preemption"], spec["priority"], spec["schedulerName"]) == (
        "Abort", "Never", 0, "default-scheduler",
    )  # fmt: skip


@pytest.mark.parametrize("lock", [{}, {"ml/train": LockEntry("one", {}, "too large")}])
def test_work_without_a_place_is_not_rendered(lock: dict[str, LockEntry]) -> None:
    keys = {str(manifest.key) for manifest in compile_manifests(intents(workload(TASK)), lock)}

    assert not [key for key in keys if "train" in key]
    assert "Namespace ml" in keys


def test_a_place_in_the_lock_without_an_intent_is_nothing() -> None:
    lock = {"ml/gone": LockEntry("one", {"east": 1}, "fits")}

    assert not [one for one in compile_manifests(intents(), lock) if one.key.name == "gone"]


def test_tolerations_come_from_the_workload_and_from_its_policies_once() -> None:
    policy = (
        "kind: PlacementPolicy\nmetadata: {name: offline}\nspec:\n  selects: {qos: offline}\n"
        "  tolerate: [{key: a, value: x}, {key: b}]"
    )
    found = intents(
        policy, workload(f"{TASK}\nplacement: {{tolerate: [{{key: a, value: x}}, {{key: c, effect: NoExecute}}]}}")
    )

    tolerations = spec_of(found, f"{POLICY} ml/train")["placement"]["clusterTolerations"]

    assert tolerations == [
        {"key": "a", "operator": "Equal", "value": "x"},
        {"key": "c", "operator": "Exists", "effect": "NoExecute"},
        {"key": "b", "operator": "Exists"},
    ]


def test_objects_of_the_cluster_have_a_policy_of_the_cluster() -> None:
    found = intents(raw(ROLE, SETTINGS))

    manifests = compiled(found, east=1, south=1)

    role = manifests["ClusterRole.rbac.authorization.k8s.io system:reader"]
    assert "namespace" not in role.body["metadata"]
    policy = manifests[f"{CLUSTER_POLICY} workload-web.legacy"].body["spec"]
    assert policy["resourceSelectors"] == [
        {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "name": "system:reader"}
    ]
    assert policy["placement"]["clusterAffinity"] == {"clusterNames": ["east", "south"]}
    inside = manifests[f"{POLICY} web/legacy"].body["spec"]["resourceSelectors"]
    assert [selector["kind"] for selector in inside] == ["ConfigMap"]


def test_objects_of_the_cluster_alone_have_no_policy_in_a_namespace() -> None:
    manifests = compiled(intents(raw(ROLE)))

    assert f"{POLICY} web/legacy" not in manifests
    assert f"{CLUSTER_POLICY} workload-web.legacy" in manifests


def test_objects_of_the_cluster_on_tolerated_taints_are_placed_there_too() -> None:
    found = intents(raw(ROLE, more="placement: {tolerate: [{key: a}]}"))

    placement = spec_of(found, f"{CLUSTER_POLICY} workload-web.legacy")["placement"]

    assert placement["clusterTolerations"] == [{"key": "a", "operator": "Exists"}]


def test_queues_and_priorities_go_to_every_declared_cluster() -> None:
    found = intents(
        "kind: Queue\nmetadata: {name: research}", "kind: PriorityClass\nmetadata: {name: high}\nspec: {value: 9}"
    )

    for name in ("queue-research", "priorityclass-high"):
        spec = spec_of(found, f"{CLUSTER_POLICY} {name}")
        assert spec["placement"] == {"clusterAffinity": {"clusterNames": ["east", "north", "south"]}}


def test_without_a_declared_cluster_nothing_goes_to_all_of_them() -> None:
    found = intents("kind: Queue\nmetadata: {name: research}", clusters="")

    assert not [key for key in compiled(found) if key.startswith(CLUSTER_POLICY)]


def test_no_policy_ever_names_no_cluster() -> None:
    found = intents(SHOP, workload(TASK), raw(ROLE, SETTINGS), "kind: Queue\nmetadata: {name: research}")

    for manifest in compiled(found).values():
        if manifest.key.group == "policy.karmada.io":
            assert manifest.body["spec"]["placement"]["clusterAffinity"]["clusterNames"]


@pytest.mark.parametrize(
    ("body", "of_cluster"),
    [
        ("{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: fast}}", True),
        (
            "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: foos.example.org}}",
            True,
        ),
        ("{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: front}}", False),
        ("{apiVersion: cert-manager.io/v1, kind: Certificate, metadata: {name: front}}", False),
        ("{apiVersion: example.org/v1, kind: StorageClass, metadata: {name: not-that-one}}", False),
    ],
)
def test_a_kind_without_namespace_is_known_even_without_its_schema(body: str, of_cluster: bool) -> None:
    found = [one for one in compiled(intents(raw(body))).values() if one.origin == "Workload web/legacy"]

    policies = [one.key.kind for one in found if one.key.group == "policy.karmada.io"]

    assert policies == (["ClusterPropagationPolicy"] if of_cluster else ["PropagationPolicy"])
    assert {one.key.namespace for one in found} == ({""} if of_cluster else {"web"})
