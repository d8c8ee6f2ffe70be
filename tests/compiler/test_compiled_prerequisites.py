"""What workloads stand on: namespaces, queues, priorities, labels of clusters, and what is protected."""

from __future__ import annotations

import pytest
from compiler_fleet import compiled, intents, spec_of, workload

from gitops_vg.errors import InputError
from gitops_vg.objects import MANAGED_BY_LABEL, Manifest

TASK = "job: {tasks: [{name: main, image: 'train:1'}]}"
UNPROTECTED = "kind: Fleet\nmetadata: {name: test}\nspec: {protect: []}"


def protected(manifests: dict[str, Manifest]) -> set[str]:
    return {key for key, manifest in manifests.items() if manifest.protected}


def protecting(kind: str) -> str:
    return f"kind: Fleet\nmetadata: {{name: test}}\nspec: {{protect: [{kind}]}}"


def test_a_queue_is_written_out_as_volcano_would_leave_it() -> None:
    found = intents(
        "kind: Queue\nmetadata: {name: research}\nspec: {weight: 10, guarantee: {cpu: 100, memory: 200Gi}, "
        "capability: {cpu: 400, nvidia.com/gpu: 8}}"
    )

    assert spec_of(found, "Queue.scheduling.volcano.sh research") == {
        "weight": 10, "reclaimable": True, "parent": "root", "dequeueStrategy": "traverse",
        "guarantee": {"resource": {"cpu": "100", "memory": "200Gi"}},
        "deserved": {"cpu": "100", "memory": "200Gi"},
        "capability": {"cpu": "400", "nvidia.com/gpu": "8"},
    }  # fmt: skip


def test_deserved_wins_over_the_guarantee_resource_by_resource() -> None:
    found = intents(
        "kind: Queue\nmetadata: {name: research}\nspec: {guarantee: {cpu: 10, memory: 1Gi}, deserved: {cpu: 20}}"
    )

    assert spec_of(found, "Queue.scheduling.volcano.sh research")["deserved"] == {"cpu": "20", "memory": "1Gi"}


def test_a_bare_queue_says_nothing_of_resources() -> None:
    spec = spec_of(intents("kind: Queue\nmetadata: {name: research}"), "Queue.scheduling.volcano.sh research")

    assert spec == {"weight": 1, "reclaimable": True, "parent": "root", "dequeueStrategy": "traverse"}


def test_a_priority_class_says_whether_it_preempts() -> None:
    found = intents("kind: PriorityClass\nmetadata: {name: low}\nspec: {value: 5, preemption: never}")

    body = compiled(found)["PriorityClass.scheduling.k8s.io low"].body

    assert (body["value"], body["preemptionPolicy"], body["globalDefault"]) == (5, "Never", False)


def test_of_a_cluster_only_labels_are_ours() -> None:
    found = intents(
        clusters="kind: Cluster\nmetadata: {name: east, labels: {tier: gold}}\n"
        "spec: {region: cn-east, zone: a, provider: own, packing: binpack, colocation: {ready: true}}"
    )

    body = compiled(found)["Cluster.cluster.karmada.io east"].body

    assert body == {
        "apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster",
        "metadata": {
            "name": "east",
            "labels": {
                "tier": "gold", "volcano.sh/colocation-ready": "true", "gitops-vg.io/packing": "binpack",
                "topology.kubernetes.io/region": "cn-east", "topology.kubernetes.io/zone": "a",
                "gitops-vg.io/provider": "own", MANAGED_BY_LABEL: "gitops-vg",
            },
        },
    }  # fmt: skip


def test_every_namespace_of_workloads_is_made_but_the_default_one() -> None:
    found = intents(workload(TASK), workload(TASK, name="other", namespace="default"))

    assert [key for key in compiled(found) if key.startswith("Namespace ")] == ["Namespace ml"]


def test_everything_carries_our_label() -> None:
    found = intents(workload(TASK), "kind: Queue\nmetadata: {name: research}")

    for manifest in compiled(found).values():
        assert manifest.labels[MANAGED_BY_LABEL] == "gitops-vg"


def test_an_intent_cannot_take_our_label_away() -> None:
    found = intents(workload(TASK, more=f", labels: {{{MANAGED_BY_LABEL}: me}}"))

    assert compiled(found)["Job.batch.volcano.sh ml/train"].labels[MANAGED_BY_LABEL] == "gitops-vg"


def test_the_fleet_protects_namespaces_queues_and_their_policies_by_default() -> None:
    found = intents(workload(TASK), "kind: Queue\nmetadata: {name: research}")

    assert protected(compiled(found)) == {
        "Namespace ml", "Queue.scheduling.volcano.sh research",
        "ClusterPropagationPolicy.policy.karmada.io queue-research",
    }  # fmt: skip


def test_a_queue_may_refuse_its_protection() -> None:
    found = intents("kind: Queue\nmetadata: {name: research}\nspec: {protect: false}")

    assert protected(compiled(found)) == set()


def test_a_protected_workload_protects_its_objects_its_policy_and_its_namespace() -> None:
    found = intents(workload(f"{TASK}\nprotect: true"), workload(TASK, name="other"), fleet=UNPROTECTED)

    assert protected(compiled(found)) == {
        "Namespace ml", "Job.batch.volcano.sh ml/train", "PropagationPolicy.policy.karmada.io ml/train",
    }  # fmt: skip


def test_a_protected_kind_protects_the_namespaces_its_objects_are_in() -> None:
    found = intents(workload(TASK), workload(TASK, namespace="web"), fleet=protecting("Job"))

    assert protected(compiled(found)) == {
        "Namespace ml", "Namespace web", "Job.batch.volcano.sh ml/train", "Job.batch.volcano.sh web/train",
    }  # fmt: skip


def test_the_fleet_protects_kinds_of_raw_manifests_too() -> None:
    body = "{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}}"
    found = intents(workload(f"manifests:\n  inline:\n    - {body}", name="raw"), fleet=protecting("ConfigMap"))

    assert protected(compiled(found)) == {"ConfigMap ml/settings", "Namespace ml"}


def test_a_waiting_workload_that_is_protected_keeps_its_namespace_protected() -> None:
    from gitops_vg.compiler import compile_manifests

    found = intents(workload(f"{TASK}\nprotect: true"), fleet=UNPROTECTED)

    namespaces = [one for one in compile_manifests(found, {}) if one.key.kind == "Namespace"]

    assert [(one.key.name, one.protected) for one in namespaces] == [("ml", True)]


def test_a_raw_object_is_as_it_was_but_for_what_is_ours_or_the_servers() -> None:
    body = (
        "{apiVersion: v1, kind: ConfigMap, metadata: {name: settings, uid: x, resourceVersion: '1', labels: {a: b}, "
        "annotations: {c: d}}, data: {mode: fast}, status: {x: y}}"
    )
    found = intents(workload(f"manifests:\n  inline:\n    - {body}", name="raw"))

    assert compiled(found)["ConfigMap ml/settings"].body == {
        "apiVersion": "v1", "kind": "ConfigMap", "data": {"mode": "fast"},
        "metadata": {
            "name": "settings", "namespace": "ml", "labels": {"a": "b", MANAGED_BY_LABEL: "gitops-vg"},
            "annotations": {"c": "d"},
        },
    }  # fmt: skip


@pytest.mark.parametrize("ports", ["[]", "[8080, 9090]"])
def test_a_service_with_ports_has_a_service_in_front(ports: str) -> None:
    spec = f"service: {{replicas: 2, image: 'shop:1', ports: {ports}}}\npriorityClass: online"
    manifests = compiled(intents(workload(spec, name="shop", namespace="web")))

    pods = manifests["Deployment.apps web/shop"].body["spec"]["template"]
    assert pods["metadata"]["labels"] == {"app.kubernetes.io/name": "shop", MANAGED_BY_LABEL: "gitops-vg"}
    assert pods["metadata"]["annotations"] == {"volcano.sh/qos-level": "LS"}
    assert pods["spec"]["priorityClassName"] == "online"
    front = manifests.get("Service web/shop")
    assert (front is not None) == (ports != "[]")
    if front is not None:
        assert front.body["spec"]["selector"] == {"app.kubernetes.io/name": "shop"}
        assert [port["port"] for port in front.body["spec"]["ports"]] == [8080, 9090]


@pytest.mark.parametrize(
    "body",
    [
        "{apiVersion: v1, kind: ConfigMap, metadata: {name: ../../evil}}",
        "{apiVersion: v1, kind: ConfigMap, metadata: {name: '..'}}",
        "{apiVersion: v1, kind: ConfigMap, metadata: {name: 'a b'}}",
        "{apiVersion: v1, kind: 'Foo/../x', metadata: {name: a}}",
        "{apiVersion: 'ex/../ample/v1', kind: Foo, metadata: {name: a}}",
        '{apiVersion: v1, kind: ConfigMap, metadata: {name: "a\\n"}}',
    ],
)
def test_a_name_that_leads_out_of_the_tree_is_refused(body: str) -> None:
    found = intents(workload(f"manifests:\n  inline:\n    - {body}", name="raw"))

    with pytest.raises(InputError, match="has a name that no server takes"):
        compiled(found)


def test_two_sources_of_one_object_are_refused() -> None:
    body = "{apiVersion: apps/v1, kind: Deployment, metadata: {name: shop}}"
    found = intents(
        workload("service: {image: 'shop:1'}", name="shop"),
        workload(f"manifests:\n  inline:\n    - {body}", name="raw"),
    )

    with pytest.raises(InputError, match=r"Deployment\.apps ml/shop comes from Workload ml/(raw|shop) and from"):
        compiled(found)
