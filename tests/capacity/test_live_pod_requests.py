"""What a live pod takes, by Kubernetes' own rules."""

from __future__ import annotations

import pytest

from gitops_vg.capacity.podrequests import live_pod_requests


def container(cpu: str, **more: object) -> dict[str, object]:
    return {"resources": {"requests": {"cpu": cpu}}, **more}


def test_containers_add_up_and_the_pod_takes_a_slot():
    assert live_pod_requests({"containers": [container("1"), container("500m")]}) == {"cpu": 1500, "pods": 1}


def test_the_largest_init_container_counts_when_it_asks_more_than_all_containers():
    spec = {"containers": [container("1")], "initContainers": [container("4"), container("2")]}

    assert live_pod_requests(spec) == {"cpu": 4000, "pods": 1}


def test_a_sidecar_runs_beside_the_containers_and_the_later_init_containers():
    spec = {
        "containers": [container("1")],
        "initContainers": [container("1", restartPolicy="Always"), container("3")],
    }

    assert live_pod_requests(spec) == {"cpu": 4000, "pods": 1}


def test_overhead_of_the_runtime_is_added():
    assert live_pod_requests({"containers": [container("1")], "overhead": {"cpu": "250m"}})["cpu"] == 1250


def test_requests_of_the_pod_stand_above_those_of_its_containers():
    spec = {"containers": [container("1")], "resources": {"requests": {"cpu": "3"}}}

    assert live_pod_requests(spec)["cpu"] == 3000


def test_a_pod_without_requests_takes_its_slot_only():
    assert live_pod_requests({"containers": [{}]}) == {"pods": 1}


def test_a_broken_quantity_is_said():
    with pytest.raises(ValueError, match="is not a quantity"):
        live_pod_requests({"containers": [container("lots")]})
