"""Queues: order of service, ceilings, and what is kept for the others."""

from __future__ import annotations

from placement_fleet import (
    again,
    cluster,
    intent,
    intents_of,
    job,
    member,
    node,
    planned,
    service,
    snapshot_of,
    task,
)

from gitops_vg.placement import State


def queue(name, **spec):
    return intent("Queue", name, spec=spec)


def planned_on(cpu, *parts):
    return planned(intents_of(cluster("a"), *parts), snapshot_of(member("a", node("a1", cpu=cpu))))


def placed(plan):
    return [decision.workload for decision in plan.decisions if decision.assignments]


def cpu_job(name, cpu, *, queue="default", **spec):
    return job(name, task(requests={"cpu": cpu}), queue=queue, **spec)


def test_queues_are_served_by_priority_then_weight_then_name():
    jobs = [cpu_job(f"from-{name}", 10, queue=name) for name in ("heavy", "light", "urgent")]
    queues = [queue("light", weight=1), queue("heavy", weight=9), queue("urgent", weight=1, priority=5)]

    assert placed(planned_on(10, *queues, *jobs)) == ["ml/from-urgent"]
    assert placed(planned_on(20, *queues, *jobs)) == ["ml/from-heavy", "ml/from-urgent"]
    assert [use.queue for use in planned_on(20, *queues, *jobs).queues] == ["urgent", "heavy", "light"]


def test_within_a_queue_the_higher_priority_class_goes_first():
    high = intent("PriorityClass", "high", spec={"value": 100})
    jobs = [cpu_job("a-low", 10), cpu_job("b-high", 10, priorityClass="high")]

    assert placed(planned_on(10, high, *jobs)) == ["ml/b-high"]


def test_the_global_default_class_counts_for_who_names_none():
    usual = intent("PriorityClass", "usual", spec={"value": 50, "globalDefault": True})
    low = intent("PriorityClass", "low", spec={"value": 10})
    jobs = [cpu_job("a-low", 10, priorityClass="low"), cpu_job("b-usual", 10)]

    assert placed(planned_on(10, usual, low, *jobs)) == ["ml/b-usual"]


def test_a_capability_is_a_ceiling_over_all_clusters():
    jobs = [job(f"j{index}", task(requests={"cpu": 10}), queue="q") for index in range(3)]
    intents = intents_of(cluster("a"), cluster("b"), queue("q", capability={"cpu": 25}), *jobs)

    result = planned(intents, snapshot_of(member("a", node("a1")), member("b", node("b1"))))

    assert placed(result) == ["ml/j0", "ml/j1"]
    assert result.decision["ml/j2"].reason.text == (
        "queue q has 5 of 25 CPU left under its capability, this needs 10: raise the capability or wait"
    )
    assert result.decision["ml/j2"].rejected["a"].code == "not-admitted"


def test_the_ceiling_of_a_parent_holds_for_all_its_children():
    queues = [
        queue("team", capability={"cpu": 15}),
        queue("one", parent="team"),
        queue("two", parent="team", capability={"cpu": 100}),
    ]
    result = planned_on(100, *queues, cpu_job("a", 10, queue="one"), cpu_job("b", 10, queue="two"))

    assert result.decision["ml/b"].reason.code == "queue-capability"
    assert "queue team has 5 of 15 CPU left" in result.decision["ml/b"].reason.text


def test_oversold_cpu_in_a_capability_is_counted_in_cpus():
    ready = cluster("a", colocation={"ready": True, "oversell": {"cpu": True, "safety": "100%"}})
    work = [job(f"j{index}", task(requests={"cpu": 1, "oversold_cpu": 4}), queue="q") for index in range(2)]
    intents = intents_of(ready, queue("q", capability={"oversold-cpu": 6}), *work)

    result = planned(intents, snapshot_of(member("a", node("a1", batch_cpu=16_000))))

    assert placed(result) == ["ml/j0"]
    assert "2 of 6 oversold CPU left" in result.decision["ml/j1"].reason.text


def test_an_unused_guarantee_is_kept_free_for_its_queue():
    queues = [queue("owner", guarantee={"cpu": 20}), queue("guest", weight=100)]
    guests = [cpu_job("guest-1", 10, queue="guest"), cpu_job("guest-2", 10, queue="guest")]

    result = planned_on(32, *queues, *guests)

    assert placed(result) == ["ml/guest-1"]
    assert result.decision["ml/guest-2"].reason.text == (
        "22 CPU are free in the fleet, 20 of them are guaranteed to other queues, "
        "this needs 10: wait or lower a guarantee"
    )


def test_the_owner_uses_its_guarantee_and_what_it_uses_is_no_longer_kept():
    queues = [queue("owner", guarantee={"cpu": 20}), queue("guest")]
    work = [cpu_job("own", 20, queue="owner"), cpu_job("guest-1", 10, queue="guest")]

    assert placed(planned_on(32, *queues, *work)) == ["ml/guest-1", "ml/own"]


def test_a_child_may_use_what_is_guaranteed_to_its_parent():
    queues = [queue("team", guarantee={"cpu": 20}), queue("child", parent="team")]

    assert placed(planned_on(20, *queues, cpu_job("own", 15, queue="child"))) == ["ml/own"]


def test_a_guarantee_of_one_resource_holds_nothing_of_another():
    queues = [queue("owner", guarantee={"nvidia.com/gpu": 8}), queue("guest")]

    assert placed(planned_on(32, *queues, cpu_job("guest-1", 32, queue="guest"))) == ["ml/guest-1"]


def test_online_services_outrank_guarantees():
    result = planned_on(32, queue("owner", guarantee={"cpu": 32}), service("shop", cpu=16))

    assert result.decision["web/shop"].assignments


def test_what_runs_is_kept_when_its_ceiling_is_lowered_and_that_is_said():
    snapshot = snapshot_of(member("a", node("a1")))
    work = cpu_job("train", 10, queue="q")
    before = planned(intents_of(cluster("a"), queue("q"), work), snapshot)

    after = again(intents_of(cluster("a"), queue("q", capability={"cpu": 5}), work), snapshot, before)

    assert after.decision["ml/train"].state is State.KEPT
    assert "queue q uses 10 CPU of 5" in after.warnings[0]


def test_a_job_that_names_no_queue_is_in_the_default_one_of_volcano():
    result = planned_on(32, queue("default", capability={"cpu": 1}), job("train", task(requests={"cpu": 2})))

    assert result.decision["ml/train"].queue == "default"
    assert result.decision["ml/train"].reason.code == "queue-capability"


def test_queues_in_a_circle_end_the_search_and_not_the_program():
    queues = [queue("x", parent="y", capability={"cpu": 5}), queue("y", parent="x"), queue("me", parent="me")]

    result = planned_on(32, *queues, cpu_job("a", 10, queue="x"), cpu_job("b", 10, queue="me"))

    assert placed(result) == ["ml/b"]
