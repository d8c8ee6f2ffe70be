"""Which clusters work may use: every way to be refused, with its reason."""

from __future__ import annotations

import pytest
from placement_fleet import (
    cluster,
    intent,
    intents_of,
    job,
    manifests,
    member,
    node,
    planned,
    ready_cluster,
    service,
    snapshot_of,
    task,
)

from gitops_vg.capacity import Taint

OTHER = cluster("other", packing="spread", region="south", zone="s-1", provider="them", labels={"tier": "gold"})


def refused(workload, *, declared=None, live=None, policies=(), name="here"):
    """The reason for which `name` was not chosen, beside a cluster `other` that fits everything."""
    declared = declared or cluster(name)
    snapshot = snapshot_of(live or member(name, node("a")), member("other", node("b")))
    result = planned(intents_of(declared, OTHER, workload, *policies), snapshot)
    return result.decision[workload.key].rejected[name]


@pytest.mark.parametrize(
    ("clusters", "code", "text"),
    [
        ({"names": ["other"]}, "not-named", "not among the clusters that its own placement names"),
        ({"exclude": ["here"]}, "excluded", "excluded by its own placement"),
        ({"where": {"packing": "spread"}}, "packing", "packing is binpack, its own placement asks for spread"),
        ({"where": {"region": "south"}}, "region", "region is north, its own placement asks for south"),
        ({"where": {"zone": "s-1"}}, "zone", "has no zone s-1, which its own placement asks for"),
        ({"where": {"provider": "them"}}, "provider", "provider is us, its own placement asks for them"),
        ({"where": {"labels": {"tier": "gold"}}}, "label", "has no label tier=gold, which its own placement asks for"),
    ],
)
def test_a_cluster_that_its_placement_does_not_allow_is_refused(clusters, code, text):
    here = cluster("here", packing="binpack", region="north", provider="us")

    reason = refused(job("train", placement={"clusters": clusters}), declared=here)

    assert (reason.code, reason.text) == (code, text)


def test_an_accelerator_that_nobody_declared_is_not_there():
    workload = job("train", placement={"clusters": {"where": {"accelerator": "A100"}}})

    result = planned(intents_of(cluster("here"), workload), snapshot_of(member("here", node("a"))))

    assert result.decision["ml/train"].rejected["here"].code == "accelerator"


def test_colocation_has_to_be_as_asked():
    wants = job("train", placement={"clusters": {"where": {"colocation": "ready"}}})
    avoids = job("quiet", placement={"clusters": {"where": {"colocation": "not-ready"}}})
    intents = intents_of(ready_cluster("ready"), cluster("plain"), wants, avoids)

    result = planned(intents, snapshot_of(member("ready", node("a")), member("plain", node("b"))))

    assert dict(result.decision["ml/train"].assignments) == {"ready": 1}
    assert result.decision["ml/train"].rejected["plain"].text == "not colocation-ready"
    assert dict(result.decision["ml/quiet"].assignments) == {"plain": 1}


def test_all_policies_that_select_the_workload_have_to_agree():
    first = intent("PlacementPolicy", "first", spec={"selects": {"qos": "offline"},
                                                     "clusters": {"names": ["here", "other"]}})  # fmt: skip
    second = intent("PlacementPolicy", "second", spec={"selects": {"namespace": "ml"},
                                                       "clusters": {"exclude": ["here"]}})  # fmt: skip

    assert refused(job("train"), policies=(first, second)).text == "excluded by policy second"


def test_online_work_never_runs_where_pods_are_packed():
    reason = refused(service("shop"), declared=cluster("here", packing="binpack"))

    assert reason.code == "online-on-binpack"


def test_a_job_that_is_online_is_kept_from_packed_clusters_too():
    assert refused(job("live", qos="online"), declared=cluster("here", packing="binpack")).code == "online-on-binpack"


def test_a_live_label_counts_like_a_declared_one():
    workload = job("train", placement={"clusters": {"where": {"labels": {"site": "x"}}}})
    snapshot = snapshot_of(member("here", node("a"), labels={"site": "x"}))

    result = planned(intents_of(cluster("here"), workload), snapshot)

    assert result.decision["ml/train"].assignments


# ---------------------------------------------------------------- oversold resources

OVERSOLD = {"requests": {"cpu": 1, "oversold_cpu": 4}}


def test_oversold_cpu_is_used_only_where_colocation_is_ready():
    reason = refused(job("train", task(**OVERSOLD)), live=member("here", node("a", batch_cpu=16_000)))

    assert reason.code == "not-colocation-ready"


def test_oversold_cpu_is_used_only_where_overselling_is_on():
    here = cluster("here", colocation={"ready": True})

    reason = refused(job("train", task(**OVERSOLD)), declared=here, live=member("here", node("a", batch_cpu=16_000)))

    assert reason.text == "does not oversell CPU"


def test_online_work_gets_no_oversold_resources():
    workload = job("live", task(**OVERSOLD), qos="online")

    assert refused(workload, declared=ready_cluster("here")).code == "oversold-online"


def test_only_the_trusted_part_of_oversold_cpu_is_used():
    trusting = cluster("here", colocation={"ready": True, "oversell": {"cpu": True, "safety": "50%"}})
    snapshot = snapshot_of(member("here", node("a", batch_cpu=16_000)))

    def fits(replicas):
        workload = job("train", task(replicas=replicas, requests={"cpu": 1, "oversold_cpu": 4}))
        return bool(planned(intents_of(trusting, workload), snapshot).decision["ml/train"].assignments)

    assert fits(2)
    assert not fits(3)


# ---------------------------------------------------------------- taints, kinds, problems


def test_a_taint_of_the_cluster_has_to_be_tolerated():
    live = member("here", node("a"), taints=(Taint("dedicated", "gpu", "NoSchedule"),))
    tolerant = job("train", placement={"tolerate": [{"key": "dedicated"}], "clusters": {"names": ["here"]}})

    assert refused(job("plain"), live=live).text == "taint dedicated=gpu:NoSchedule is not tolerated"
    assert planned(intents_of(cluster("here"), tolerant), snapshot_of(live)).decision["ml/train"].assignments


@pytest.mark.parametrize(
    "toleration", [{"key": "other"}, {"key": "dedicated", "value": "cpu"}, {"key": "dedicated", "effect": "NoExecute"}]
)
def test_a_toleration_of_something_else_does_not_help(toleration):
    live = member("here", node("a"), taints=(Taint("dedicated", "gpu", "NoSchedule"),))

    assert refused(job("train", placement={"tolerate": [toleration]}), live=live).code == "taint"


def test_a_taint_that_only_prefers_keeps_nobody_out():
    live = member("here", node("a"), taints=(Taint("slow", "", "PreferNoSchedule"),))

    assert planned(intents_of(cluster("here"), job("train")), snapshot_of(live)).decision["ml/train"].assignments


def test_a_cluster_has_to_serve_the_kind():
    live = member("here", node("a"), kinds=frozenset({"Deployment.apps"}))

    assert refused(job("train"), live=live).text == "does not serve Job.batch.volcano.sh"


def test_every_kind_of_raw_manifests_has_to_be_served():
    live = member("here", node("a"), kinds=frozenset({"ConfigMap"}))
    workload = manifests("legacy", kinds=(("v1", "ConfigMap"), ("apps/v1", "Deployment")))

    assert refused(workload, live=live).text == "does not serve Deployment.apps"


def test_a_cluster_with_a_problem_gets_no_new_work():
    assert refused(job("train"), live=member("here", node("a"), problem="not ready since noon")).text == (
        "not ready since noon"
    )
