"""Pods of a workload: short form merged over the template, requests as the scheduler counts them, gangs."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitops_vg.intents.models import JobSpec, PodShort, Task
from gitops_vg.intents.pods import gang_minimum, pod_requests, pod_template, task_minimum, template_requests


def pod(**fields: Any) -> PodShort:
    return PodShort.model_validate(fields)


def job(*tasks: dict[str, Any], **fields: Any) -> JobSpec:
    return JobSpec.model_validate({"tasks": [{"image": "x:1", **task} for task in tasks], **fields})


def test_a_short_form_is_a_pod_of_one_container() -> None:
    template = pod_template(pod(image="shop:2", env={"A": "1"}, ports=[80], requests={"cpu": 2}), container="shop")

    assert template == {
        "spec": {
            "containers": [
                {
                    "name": "shop",
                    "image": "shop:2",
                    "env": [{"name": "A", "value": "1"}],
                    "ports": [{"containerPort": 80, "protocol": "TCP"}],
                    "resources": {"requests": {"cpu": "2"}},
                }
            ]
        }
    }


def test_the_short_form_wins_over_the_first_container_of_the_template() -> None:
    containers = [{"name": "a", "image": "old:1", "env": [{"name": "A", "value": "old"}, {"name": "B", "value": "b"}],
                   "resources": {"requests": {"cpu": "1", "memory": "1Gi"}}}, {"name": "b", "image": "log:1"}]  # fmt: skip
    short = pod(image="new:1", env={"A": "new"}, requests={"cpu": 2}, template={"spec": {"containers": containers}})

    first, second = pod_template(short, container="x")["spec"]["containers"]

    assert first["name"] == "a"
    assert first["image"] == "new:1"
    assert first["env"] == [{"name": "B", "value": "b"}, {"name": "A", "value": "new"}]
    assert first["resources"] == {"requests": {"cpu": "2", "memory": "1Gi"}}
    assert second == {"name": "b", "image": "log:1"}


def test_the_template_itself_is_never_changed() -> None:
    written = {"spec": {"containers": [{"name": "a"}], "nodeSelector": {"x": "1"}}}
    short = pod(image="new:1", node_selector={"y": "2"}, template=written)

    assert pod_template(short, container="x")["spec"]["nodeSelector"] == {"x": "1", "y": "2"}
    assert short.template == {"spec": {"containers": [{"name": "a"}], "nodeSelector": {"x": "1"}}}


@pytest.mark.parametrize("template", [{}, {"spec": {}}, {"spec": None}, {"spec": {"containers": []}}])
def test_what_a_template_leaves_out_is_filled_in(template: dict[str, Any]) -> None:
    merged = pod_template(pod(image="x:1", template=template), container="main")

    assert merged["spec"]["containers"] == [{"name": "main", "image": "x:1"}]


def test_oversold_words_become_the_names_of_the_agent_with_equal_limits() -> None:
    template = pod_template(pod(requests={"cpu": 8, "oversold-cpu": "1500m", "oversold-memory": "1Gi"}), container="x")

    resources = template["spec"]["containers"][0]["resources"]
    assert resources["requests"] == {
        "cpu": "8", "kubernetes.io/batch-cpu": "1500", "kubernetes.io/batch-memory": "1073741824",
    }  # fmt: skip
    assert resources["limits"] == {"kubernetes.io/batch-cpu": "1500", "kubernetes.io/batch-memory": "1073741824"}


def test_a_device_has_its_limit_filled_in() -> None:
    resources = pod_template(pod(requests={"nvidia.com/gpu": 2}), container="x")["spec"]["containers"][0]["resources"]

    assert resources == {"requests": {"nvidia.com/gpu": "2"}, "limits": {"nvidia.com/gpu": "2"}}


def test_requests_are_whole_amounts_and_one_pod() -> None:
    assert pod_requests(pod(requests={"cpu": "1800m", "memory": "3.5Gi", "oversold-cpu": 4})) == {
        "cpu": 1800, "memory": 3758096384, "kubernetes.io/batch-cpu": 4000, "pods": 1,
    }  # fmt: skip


def test_a_limit_stands_in_for_a_request_left_out() -> None:
    assert pod_requests(pod(requests={"cpu": 1}, limits={"cpu": 2, "memory": "1Gi"})) == {
        "cpu": 1000, "memory": 2**30, "pods": 1,
    }  # fmt: skip


def container(cpu: int, **more: Any) -> dict[str, Any]:
    return {"resources": {"requests": {"cpu": cpu}}, **more}


def test_an_init_container_counts_where_it_needs_more_at_its_turn() -> None:
    spec = {"containers": [container(2), container(1)], "initContainers": [container(5), container(1)]}

    assert template_requests({"spec": spec})["cpu"] == 5000
    assert template_requests({"spec": {**spec, "initContainers": [container(2)]}})["cpu"] == 3000


def test_a_restartable_init_container_adds_to_the_rest_and_to_later_ones() -> None:
    sidecar = container(1, restartPolicy="Always")

    assert template_requests({"spec": {"containers": [container(2)], "initContainers": [sidecar]}})["cpu"] == 3000
    spec = {"containers": [container(2)], "initContainers": [sidecar, container(4)]}
    assert template_requests({"spec": spec})["cpu"] == 5000
    spec = {"containers": [container(2)], "initContainers": [container(4), sidecar]}
    assert template_requests({"spec": spec})["cpu"] == 4000


def test_overhead_is_added() -> None:
    spec = {"containers": [container(2)], "overhead": {"cpu": "250m"}}

    assert template_requests({"spec": spec})["cpu"] == 2250


@pytest.mark.parametrize(
    ("gang", "minimum", "tasks"),
    [("all", 5, [1, 4]), ("none", 1, [0, 0]), (3, 3, [0, 0])],
)
def test_the_gang_says_how_many_start_together(gang: str | int, minimum: int, tasks: list[int]) -> None:
    spec = job({"name": "master"}, {"name": "worker", "replicas": 4}, gang=gang)

    assert gang_minimum(spec) == minimum
    assert [task_minimum(spec, task) for task in spec.tasks] == tasks


def test_a_task_may_say_how_many_of_it_start_together() -> None:
    spec = job({"name": "master"}, {"name": "worker", "replicas": 4, "minAvailable": 2})

    assert [task_minimum(spec, task) for task in spec.tasks] == [1, 2]
    assert gang_minimum(spec) == 3


def test_a_minimum_is_never_zero_because_volcano_reads_zero_as_all() -> None:
    assert gang_minimum(job({"name": "a", "replicas": 2, "minAvailable": 0})) == 1
    assert gang_minimum(job({"name": "a", "replicas": 2}, gang="none")) == 1


@given(
    st.lists(st.tuples(st.integers(0, 50), st.none() | st.integers(0, 50)), min_size=1, max_size=4),
    st.sampled_from(["all", "none"]),
)
@settings(max_examples=60, deadline=None)
def test_a_gang_of_all_is_never_more_than_the_pods(tasks: list[tuple[int, int | None]], gang: str) -> None:
    spec = job(
        *(
            {"name": f"t{index}", "replicas": replicas, "minAvailable": None if least is None else min(least, replicas)}
            for index, (replicas, least) in enumerate(tasks)
        ),
        gang=gang,
    )

    assert 1 <= gang_minimum(spec) <= max(1, sum(task.replicas for task in spec.tasks))


def test_tasks_are_pods_too() -> None:
    task = Task.model_validate({"name": "worker", "image": "x:1", "requests": {"cpu": 1}})

    assert pod_requests(task) == {"cpu": 1000, "pods": 1}
