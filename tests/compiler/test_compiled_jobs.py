"""Batch work becomes Volcano Jobs with nothing left for a webhook to add."""

from __future__ import annotations

from typing import Any

import pytest
from compiler_fleet import compiled, intents, spec_of, workload

JOB = "Job.batch.volcano.sh ml/train"
CRON = "CronJob.batch.volcano.sh ml/train"
TASK = "tasks: [{name: main, replicas: 3, image: 'train:1'}]"


def job_spec(job: str, *, more: str = "") -> dict[str, Any]:
    indented = "".join(f"  {line}\n" for line in job.strip().splitlines())
    return spec_of(intents(workload(f"queue: research\n{more}\njob:\n{indented}")), JOB)


def raw_job(job: str, *, kind: str = "Job") -> dict[str, Any]:
    """The spec of a raw Volcano object; `job` is YAML in flow style."""
    body = f"{{apiVersion: batch.volcano.sh/v1alpha1, kind: {kind}, metadata: {{name: train}}, spec: {job}}}"
    key = JOB if kind == "Job" else CRON
    return spec_of(intents(workload(f"manifests:\n  inline:\n    - {body}", name="raw")), key)


def test_the_training_job_of_the_documentation_is_complete() -> None:
    spec = job_spec(
        """
        gang: all
        onEvict: restart
        plugins: [env, svc]
        tasks:
          - {name: worker, replicas: 3, image: 'bert:1', requests: {cpu: 8, oversold-cpu: 4}, limits: {cpu: 12}}
        """.replace("\n        ", "\n"),
        more="priorityClass: training",
    )

    assert spec == {
        "queue": "research", "schedulerName": "volcano", "minAvailable": 3, "maxRetry": 3,
        "priorityClassName": "training", "plugins": {"env": [], "svc": []},
        "policies": [{"event": "PodEvicted", "action": "RestartJob"}],
        "tasks": [
            {
                "name": "worker", "replicas": 3, "minAvailable": 3, "maxRetry": 3,
                "template": {
                    "metadata": {"annotations": {"volcano.sh/qos-level": "BE"}},
                    "spec": {
                        "restartPolicy": "OnFailure", "priorityClassName": "training",
                        "containers": [
                            {
                                "name": "worker", "image": "bert:1",
                                "resources": {
                                    "requests": {"cpu": "8", "kubernetes.io/batch-cpu": "4000"},
                                    "limits": {"cpu": "12", "kubernetes.io/batch-cpu": "4000"},
                                },
                            }
                        ],
                    },
                },
            }
        ],
    }  # fmt: skip


@pytest.mark.parametrize(("gang", "job_minimum", "task_minimum"), [("all", 3, 3), ("none", 1, 0), ("2", 2, 0)])
def test_the_gang_is_the_minimum_of_job_and_task(gang: str, job_minimum: int, task_minimum: int) -> None:
    spec = job_spec(f"gang: {gang}\n{TASK}")

    assert (spec["minAvailable"], spec["tasks"][0]["minAvailable"]) == (job_minimum, task_minimum)


def test_a_task_may_name_its_own_minimum() -> None:
    spec = job_spec("tasks: [{name: a, replicas: 4, minAvailable: 2, image: x}, {name: b, replicas: 2, image: x}]")

    assert (spec["minAvailable"], [task["minAvailable"] for task in spec["tasks"]]) == (4, [2, 2])


@pytest.mark.parametrize(
    ("given", "rendered"),
    [
        ("[env]", {"env": []}),
        ("[pytorch]", {"pytorch": [], "svc": []}),
        ("[mpi]", {"mpi": [], "svc": [], "ssh": []}),
        ("{ray: ['--port=1'], svc: ['--publish-not-ready-addresses=true']}",
         {"ray": ["--port=1"], "svc": ["--publish-not-ready-addresses=true"]}),
    ],
)  # fmt: skip
def test_plugins_bring_along_what_they_need(given: str, rendered: dict[str, list[str]]) -> None:
    assert job_spec(f"plugins: {given}\n{TASK}")["plugins"] == rendered


def test_a_job_that_ignores_evictions_has_no_policy() -> None:
    assert "policies" not in job_spec(TASK)


def test_pods_on_the_network_of_their_host_still_find_services() -> None:
    spec = job_spec("tasks: [{name: main, image: x, template: {spec: {hostNetwork: true}}}]")

    assert spec["tasks"][0]["template"]["spec"]["dnsPolicy"] == "ClusterFirstWithHostNet"


def test_an_empty_template_is_no_template() -> None:
    spec = job_spec("tasks: [{name: main, image: x, template: {metadata: , spec: }}]")

    assert spec["tasks"][0]["template"]["spec"]["containers"] == [{"name": "main", "image": "x"}]


def test_what_the_template_says_is_kept() -> None:
    spec = job_spec(
        "tasks: [{name: main, image: x, template: {metadata: {annotations: {volcano.sh/qos-level: HLS}}, "
        "spec: {restartPolicy: Never, priorityClassName: mine}}}]",
        more="priorityClass: training",
    )

    template = spec["tasks"][0]["template"]
    assert template["metadata"]["annotations"] == {"volcano.sh/qos-level": "HLS"}
    assert (template["spec"]["restartPolicy"], template["spec"]["priorityClassName"]) == ("Never", "mine")


def test_periodic_work_is_a_cron_job_with_a_complete_job_inside() -> None:
    found = intents(workload(f'queue: research\nschedule: "0 2 * * *"\ntimeZone: Asia/Shanghai\njob: {{{TASK}}}'))

    spec = spec_of(found, CRON)

    inside = spec.pop("jobTemplate")["spec"]
    assert spec == {
        "schedule": "0 2 * * *", "timeZone": "Asia/Shanghai", "concurrencyPolicy": "Allow", "suspend": False,
        "successfulJobsHistoryLimit": 3, "failedJobsHistoryLimit": 1,
    }  # fmt: skip
    assert (inside["queue"], inside["schedulerName"], inside["minAvailable"]) == ("research", "volcano", 3)
    assert inside["tasks"][0]["maxRetry"] == 3


def test_a_raw_volcano_job_is_completed_like_our_own() -> None:
    spec = raw_job("{tasks: [{replicas: 2, template: {spec: {containers: [{name: a, image: x}]}}}, {}]}")

    assert (spec["queue"], spec["schedulerName"], spec["maxRetry"], spec["minAvailable"]) == (
        "default",
        "volcano",
        3,
        2,
    )
    assert [(task["name"], task["minAvailable"], task["maxRetry"]) for task in spec["tasks"]] == [
        ("default0", 2, 3), ("default1", 0, 3),
    ]  # fmt: skip


def test_a_raw_volcano_job_in_partitions_starts_with_whole_ones() -> None:
    spec = raw_job("{tasks: [{name: a, replicas: 8, partitionPolicy: {totalPartitions: 4, partitionSize: 2, "
                   "minPartitions: 3}}]}")  # fmt: skip

    assert (spec["tasks"][0]["minAvailable"], spec["minAvailable"]) == (6, 6)


def test_a_raw_volcano_job_keeps_what_it_says() -> None:
    spec = raw_job("{queue: q, schedulerName: mine, maxRetry: 7, minAvailable: 1, tasks: [{name: a, replicas: 2, "
                   "maxRetry: 5, minAvailable: 0}]}")  # fmt: skip

    assert (spec["queue"], spec["schedulerName"], spec["maxRetry"], spec["minAvailable"]) == ("q", "mine", 7, 1)
    assert (spec["tasks"][0]["maxRetry"], spec["tasks"][0]["minAvailable"]) == (5, 0)


def test_a_raw_cron_job_has_its_job_completed() -> None:
    spec = raw_job("{schedule: '@daily', jobTemplate: {spec: {tasks: [{replicas: 2}]}}}", kind="CronJob")

    assert spec["jobTemplate"]["spec"]["minAvailable"] == 2
    assert spec["concurrencyPolicy"] == "Allow"


def test_labels_and_annotations_of_the_intent_are_on_the_job() -> None:
    found = intents(workload(f"job: {{{TASK}}}", more=", labels: {team: nlp}, annotations: {why: because}"))

    metadata = compiled(found)[JOB].body["metadata"]

    assert metadata["labels"] == {"team": "nlp", "app.kubernetes.io/managed-by": "gitops-vg"}
    assert metadata["annotations"] == {"why": "because"}
