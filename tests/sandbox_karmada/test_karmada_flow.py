"""From a template and a policy to running pods and back, in the embedded control plane."""

from __future__ import annotations

from typing import Any

from karmada_objects import configmap, deployment, job, pinned, policy

VOLCANO = "batch.volcano.sh/v1alpha1"


def _phase(body: dict[str, Any]) -> str:
    return str(((body.get("status") or {}).get("state") or {}).get("phase", ""))


def test_a_pinned_job_runs_in_its_cluster_alone_and_ends(world):
    world.apply(policy("train", "Job", VOLCANO, pinned("north")))
    world.apply(job("train"))

    world.eventually(lambda: _phase(world.get("batch.volcano.sh", "Job", "ml", "train")) == "Completed")

    assert world.clusters_of("train-job") == {"north": 0}
    assert world.get("batch.volcano.sh", "Job", "ml", "train", server="south") == {}
    pods = world.list("", "Pod", namespace="ml", server="north")
    assert [pod["status"]["phase"] for pod in pods] == ["Succeeded", "Succeeded"]


def test_capacity_taken_by_a_job_shows_on_its_cluster_and_comes_back(world):
    def allocated() -> str:
        cluster = world.get("cluster.karmada.io", "Cluster", "", "north")
        return str(cluster["status"]["resourceSummary"].get("allocated", {}).get("cpu", "0"))

    world.apply(policy("train", "Job", VOLCANO, pinned("north")))
    world.apply(job("train", replicas=2, cpu="3"))

    world.eventually(lambda: allocated() == "6")
    world.eventually(lambda: allocated() == "0")


def test_a_gang_larger_than_what_is_free_waits_whole_and_starts_when_there_is_room(world):
    world.apply(policy("first", "Job", VOLCANO, pinned("south")))
    world.apply(policy("second", "Job", VOLCANO, pinned("south")))
    world.apply(job("first", replicas=2, cpu="6"))
    world.eventually(lambda: _phase(world.get("batch.volcano.sh", "Job", "ml", "first")) == "Running")

    world.apply(job("second", replicas=2, cpu="6"))
    world.eventually(lambda: _phase(world.get("batch.volcano.sh", "Job", "ml", "second", server="south")) == "Pending")

    pods = world.list("", "Pod", namespace="ml", server="south")
    assert not [pod for pod in pods if pod["metadata"]["name"].startswith("second") and pod["spec"].get("nodeName")]
    world.eventually(lambda: _phase(world.get("batch.volcano.sh", "Job", "ml", "second")) == "Completed")


def test_a_gpu_job_finds_the_node_with_gpus(world):
    world.apply(policy("gpu", "Job", VOLCANO, pinned("north")))
    world.apply(job("gpu", replicas=1, **{"nvidia.com/gpu": "4"}))

    world.eventually(lambda: _phase(world.get("batch.volcano.sh", "Job", "ml", "gpu")) == "Running")

    (pod,) = world.list("", "Pod", namespace="ml", server="north")
    assert pod["spec"]["nodeName"] == "n1"


def test_a_service_is_divided_by_its_weights_and_its_pods_get_ready(world):
    weights = [
        {"targetCluster": {"clusterNames": [name]}, "weight": weight} for name, weight in (("north", 5), ("south", 2))
    ]
    scheduling = {
        "replicaSchedulingType": "Divided",
        "replicaDivisionPreference": "Weighted",
        "weightPreference": {"staticWeightList": weights},
    }
    placement = {"clusterAffinity": {"clusterNames": ["north", "south"]}, "replicaScheduling": scheduling}
    world.apply(policy("web", "Deployment", "apps/v1", placement))
    world.apply(deployment("web", replicas=7))

    world.eventually(lambda: world.get("apps", "Deployment", "ml", "web").get("status", {}).get("readyReplicas") == 7)

    assert world.clusters_of("web-deployment") == {"north": 5, "south": 2}
    assert len(world.list("", "Pod", namespace="ml", server="south")) == 2


def test_a_dynamic_division_follows_the_room_of_the_models(world):
    scheduling = {
        "replicaSchedulingType": "Divided",
        "replicaDivisionPreference": "Weighted",
        "weightPreference": {"dynamicWeight": "AvailableReplicas"},
    }
    world.apply(policy("web", "Deployment", "apps/v1", {"replicaScheduling": scheduling}))
    world.apply(deployment("web", replicas=9, cpu="4"))

    # Grades count by their lower bound: 16 and 8 CPU with 64 and 32Gi are 8 and 4 CPU; room 2 + 1 and 2.
    condition = world.eventually(lambda: world.binding("web-deployment").get("status", {}).get("conditions"))[0]

    assert (condition["reason"], condition["status"]) == ("Unschedulable", "False")
    assert "Clusters available replicas 5 are not enough to schedule." in condition["message"]


def test_edits_and_deletions_in_a_member_are_restored(world):
    world.apply(policy("settings", "ConfigMap", "v1", pinned("north")))
    world.apply(configmap("settings", mode="fast"))
    world.eventually(lambda: world.get("", "ConfigMap", "ml", "settings", server="north"))

    world.apply({**configmap("settings", mode="slow")}, server="north")
    world.eventually(lambda: world.get("", "ConfigMap", "ml", "settings", server="north")["data"] == {"mode": "fast"})
    world.delete("", "ConfigMap", "ml", "settings", server="north")

    assert world.eventually(lambda: world.get("", "ConfigMap", "ml", "settings", server="north"))


def test_an_override_changes_one_cluster_only(world):
    world.apply(
        {
            "apiVersion": "policy.karmada.io/v1alpha1",
            "kind": "OverridePolicy",
            "metadata": {"name": "south", "namespace": "ml"},
            "spec": {
                "resourceSelectors": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "settings"}],
                "overrideRules": [
                    {
                        "targetCluster": {"clusterNames": ["south"]},
                        "overriders": {"plaintext": [{"path": "/data/mode", "operator": "replace", "value": "mild"}]},
                    }
                ],
            },
        }
    )
    world.apply(policy("settings", "ConfigMap", "v1", {"clusterAffinity": {"clusterNames": ["north", "south"]}}))
    world.apply(configmap("settings", mode="fast"))

    found = {
        name: world.eventually(lambda name=name: world.get("", "ConfigMap", "ml", "settings", server=name))["data"]
        for name in ("north", "south")
    }

    assert found == {"north": {"mode": "fast"}, "south": {"mode": "mild"}}


def test_a_member_that_is_down_gets_no_new_work_and_catches_up_when_it_is_back(world):
    world.sandbox.member("south").down()
    world.eventually(lambda: world.get("cluster.karmada.io", "Cluster", "", "south")["spec"].get("taints"))

    world.apply(policy("late", "ConfigMap", "v1", pinned("south")))
    world.apply(configmap("late", a="1"))
    condition = world.eventually(lambda: world.binding("late-configmap").get("status", {}).get("conditions"))[0]
    world.sandbox.member("south").up()

    assert condition["reason"] == "NoClusterFit"
    assert "untolerated taint {cluster.karmada.io/not-ready:NoSchedule}" in condition["message"]
    assert world.eventually(lambda: world.get("", "ConfigMap", "ml", "late", server="south"))


def test_a_protected_object_is_not_deleted_and_says_the_way_out(world):
    protected = configmap("keep", a="1")
    protected["metadata"]["labels"] = {"resourcetemplate.karmada.io/deletion-protected": "Always"}
    world.apply(protected)

    words = world.refusal(lambda: world.delete("", "ConfigMap", "ml", "keep"))

    assert words == (
        'admission webhook "resourcedeletionprotection.karmada.io" denied the request: This resource is protected, '
        "please make sure to remove the label: resourcetemplate.karmada.io/deletion-protected"
    )


def test_members_carry_on_where_they_stopped_after_a_restart(tmp_path, world):
    from gitops_vg.sandbox import Sandbox

    members = world.sandbox.members
    settings = {"members": members, "tls": False, "job_seconds": 0.3, "state_dir": tmp_path}
    with Sandbox.start(**settings) as first:
        old = type(world)(first)
        old.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ml"}})
        old.apply(policy("train", "Job", VOLCANO, pinned("north")))
        old.apply(job("train"))
        old.eventually(lambda: old.get("batch.volcano.sh", "Job", "ml", "train", server="north"))
    with Sandbox.start(**settings) as second:
        new = type(world)(second)

        new.eventually(lambda: _phase(new.get("batch.volcano.sh", "Job", "ml", "train")) == "Completed")
