"""Karmada's rules as pure functions, and what odd input does to them."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from karmada_objects import policy

from gitops_vg.sandbox.karmada.division import Target, Unschedulable, divide_by_room, divide_by_weight
from gitops_vg.sandbox.karmada.fitting import Room
from gitops_vg.sandbox.karmada.overrides import OverrideFailed, image_with, patch
from gitops_vg.sandbox.karmada.policies import best
from gitops_vg.sandbox.karmada.resources import canonical, normalized
from gitops_vg.sandbox.karmada.works import work_name

WEIGHTS = st.dictionaries(st.sampled_from("abcdef"), st.integers(0, 50), min_size=1)


@settings(max_examples=60, deadline=None)
@given(replicas=st.integers(0, 200), weights=WEIGHTS, uid=st.text(max_size=8))
def test_a_division_by_weight_gives_out_exactly_what_there_is(replicas, weights, uid):
    shares = divide_by_weight(replicas, weights=weights, uid=uid)

    assert sum(share.replicas for share in shares) == replicas


@settings(max_examples=60, deadline=None)
@given(room=WEIGHTS, replicas=st.integers(1, 60), uid=st.text(max_size=8), aggregated=st.booleans())
def test_growth_keeps_what_runs_where_it_runs(room, replicas, uid, aggregated):
    before = [Target(name, 1) for name in sorted(room)[:2]]
    try:
        after = divide_by_room(replicas + len(before), room=room, previous=before, uid=uid, aggregated=aggregated)
    except Unschedulable:
        assert sum(room.values()) < replicas
        return

    counts = {share.name: share.replicas for share in after}
    assert all(counts.get(target.name, 0) >= 1 for target in before)
    assert sum(counts.values()) == replicas + len(before)


def test_weights_equal_to_the_counts_come_back_as_the_counts():
    counts = {"a": 7, "b": 2, "c": 4}

    shares = divide_by_weight(13, weights=counts, uid="any")

    assert {share.name: share.replicas for share in shares} == counts


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("16000", "16k"),
        ("24000", "24k"),
        ("220", "220"),
        ("1.5", "1500m"),
        ("1024Mi", "1Gi"),
        ("0", "0"),
        ("1500Mi", "1500Mi"),
    ],
)
def test_quantities_are_written_as_an_api_server_writes_them(text, written):
    assert normalized(text) == written


def test_a_sum_of_memory_keeps_its_binary_form():
    assert canonical(Fraction(192 * 2**30), binary=True) == "192Gi"


def test_works_are_named_as_in_the_recordings():
    assert work_name(kind="Job", name="train", namespace="b-job") == "train-748ff889c8"
    assert work_name(kind="Queue", name="b-q", namespace="") == "b-q-b87b67f69"


@pytest.mark.parametrize(
    ("image", "component", "operator", "value", "result"),
    [
        ("shop:2", "Registry", "replace", "mirror.internal", "mirror.internal/shop:2"),
        ("docker.io/team/shop:2", "Registry", "remove", "", "team/shop:2"),
        ("docker.io/team/shop:2", "Repository", "replace", "other/shop", "docker.io/other/shop:2"),
        ("localhost:5000/shop", "Tag", "add", "9", "localhost:5000/shop:9"),
        ("shop@sha256:abc", "Registry", "replace", "mirror", "mirror/shop@sha256:abc"),
    ],
)
def test_an_image_is_overridden_by_its_components(image, component, operator, value, result):
    assert image_with(image, {"component": component, "operator": operator, "value": value}) == result


@pytest.mark.parametrize("path", ["/spec/nope/deeper", "/spec/list/7", "/spec/list/x", ""])
def test_a_path_that_is_not_there_is_an_error(path):
    with pytest.raises(OverrideFailed):
        patch({"spec": {"list": [1]}}, path=path, operator="replace", value=1)


def test_priority_beats_precision_and_the_smaller_name_breaks_a_tie():
    template = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "ml"}}
    exact = policy("a", "ConfigMap", "v1", {})
    urgent = policy("z", "ConfigMap", "v1", {}, priority=5)
    urgent["spec"]["resourceSelectors"][0].pop("name")
    twin = {**exact, "metadata": {"name": "b", "namespace": "ml"}}

    assert best(template, [exact, urgent]) is urgent
    assert best(template, [twin, exact]) is exact
    assert best(template, []) is None


def test_a_pod_goes_to_the_fullest_node_that_takes_it_and_the_others_say_why_not():
    nodes = [
        {"metadata": {"name": name}, "status": {"allocatable": {"cpu": cpu, "pods": "10"}}}
        for name, cpu in (("large", "16"), ("small", "4"))
    ]
    pod = {"spec": {"containers": [{"resources": {"requests": {"cpu": "3"}}}]}}
    room = Room.of(nodes, [])

    assert [room.place(pod) for _ in range(3)] == ["small", "large", "large"]
    assert Room.of(nodes, []).reasons({"spec": {"nodeSelector": {"pool": "gpu"}, "containers": []}}) == (
        "0/2 nodes are unavailable: 2 node(s) didn't match Pod's node affinity/selector."
    )


ODD = [
    {"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"selector": {"matchLabels": {"a": "b"}},
     "template": {"spec": {"containers": [{"name": "x"}]}}}},
    {"apiVersion": "apps/v1", "kind": "StatefulSet", "spec": {"serviceName": "x", "selector": {"matchLabels": {"a": "b"}},
     "template": {"spec": {"containers": [{"name": "x", "image": "a"}]}}}},
    {"apiVersion": "batch/v1", "kind": "Job", "spec": {"template": {"spec": {"restartPolicy": "Never",
     "containers": [{"name": "x", "image": "a"}]}}}},
    {"apiVersion": "v1", "kind": "Pod", "spec": {"containers": [{"name": "x", "image": "a"}]}},
    {"apiVersion": "v1", "kind": "Service", "spec": {"clusterIP": "None"}},
    {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "spec": {"tasks": [{"replicas": 1}]}},
    {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "spec": {}},
]  # fmt: skip


def test_odd_templates_end_in_words_and_never_break_a_controller(world, caplog):
    override = {"imageOverrider": [{"component": "Tag", "operator": "replace", "value": "9"}]}
    world.apply({"apiVersion": "policy.karmada.io/v1alpha1", "kind": "OverridePolicy",
                 "metadata": {"name": "all", "namespace": "ml"}, "spec": {"overrideRules": [{"overriders": override}]}})  # fmt: skip
    for number, body in enumerate(ODD):
        name = f"odd{number}"
        world.apply(policy(name, body["kind"], body["apiVersion"], {"replicaScheduling": {}}))
        world.apply({**body, "metadata": {"name": name, "namespace": "ml"}})

    bindings = world.eventually(
        lambda: (
            len(found := world.list("work.karmada.io", "ResourceBinding", namespace="ml")) == len(ODD)
            and all((binding.get("status") or {}).get("conditions") for binding in found)
            and found
        )
    )

    assert len(bindings) == len(ODD)
    assert [record.message for record in caplog.records if "failed on" in record.message] == []
