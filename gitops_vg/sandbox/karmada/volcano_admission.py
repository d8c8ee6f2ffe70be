"""What Volcano's webhooks do to Jobs and Queues in a member: defaults on CREATE, refusals after. Pure.

Order, conditions and words are those of the real webhooks; lists whose order is random there are
in one order here. Rules of pod templates beyond names are the API server's own and not repeated.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from gitops_vg.quantities import parse_quantity
from gitops_vg.sandbox.karmada import names
from gitops_vg.sandbox.karmada.volcano_tree import parent_complaint, tree_complaints

Body = dict[str, Any]
FindQueue = Callable[[str], Mapping[str, Any] | None]

SCHEDULER = "volcano"
MAX_RETRY = 3
IMMUTABLE = (
    "job updates may not change fields other than `minAvailable`, "
    "`tasks[*].replicas under spec` and `PriorityClassName`"
)
_NETWORK_PLUGINS = ("tensorflow", "mpi", "pytorch", "ray")
_PLUGINS = frozenset({"env", "ssh", "svc", *_NETWORK_PLUGINS, "hcclrank"})


# ---------------------------------------------------------------- jobs


def mutated_job(body: Mapping[str, Any]) -> Body:
    """The Job with the nine defaults of the mutating webhook; it is asked on CREATE only."""
    job: Body = copy.deepcopy(dict(body))
    spec = job["spec"]
    spec["queue"] = spec.get("queue") or "default"
    spec["schedulerName"] = spec.get("schedulerName") or SCHEDULER
    spec["maxRetry"] = spec.get("maxRetry") or MAX_RETRY
    for index, task in enumerate(spec.get("tasks") or []):
        task["name"] = task.get("name") or f"default{index}"
        pod = task.setdefault("template", {}).setdefault("spec", {})
        if pod.get("hostNetwork") and not pod.get("dnsPolicy"):
            pod["dnsPolicy"] = "ClusterFirstWithHostNet"
        if task.get("minAvailable") is None:
            parts = task.get("partitionPolicy") or {}
            least = parts.get("minPartitions", 0) * parts.get("partitionSize", 0)
            task["minAvailable"] = least or task.get("replicas", 0)
        task["maxRetry"] = task.get("maxRetry") or MAX_RETRY
    if not spec.get("minAvailable"):
        spec["minAvailable"] = sum(task["minAvailable"] for task in spec.get("tasks") or [])
    plugins = spec.get("plugins") or {}
    if any(name in plugins for name in _NETWORK_PLUGINS):
        plugins.setdefault("svc", [])
        if "mpi" in plugins:
            plugins.setdefault("ssh", [])
    return job


def new_job_complaint(job: Mapping[str, Any], *, find_queue: FindQueue, children: Callable[[str], int]) -> str:
    """Why the validating webhook refuses a new Job; "" when it does not."""
    spec = job["spec"]
    tasks = spec.get("tasks") or []
    if not tasks:
        return "No task specified in job spec"
    complaints = list(_task_complaints(job, tasks))
    if spec.get("minAvailable", 0) > sum(task.get("replicas", 0) for task in tasks):
        complaints.append("job 'minAvailable' should not be greater than total replicas in tasks;")
    complaints += [f"unable to find job plugin: {name};" for name in spec.get("plugins") or {} if name not in _PLUGINS]
    complaints += _queue_complaints(spec.get("queue", ""), find_queue=find_queue, children=children)
    return " ".join(complaints)


def _task_complaints(job: Mapping[str, Any], tasks: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    name, seen = job["metadata"]["name"], set()
    for index, task in enumerate(tasks):
        if task.get("minAvailable", 0) > task.get("replicas", 0):
            yield f"'minAvailable' is greater than 'replicas' in task: {task['name']}, job: {name};"
        if task["name"] in seen:
            yield f"duplicated task name {task['name']};"
            break
        seen.add(task["name"])
        pod = f"{name}-{task['name']}-{index}"
        words = names.label_key(pod)
        if words:
            yield f"create pod with name {pod} validate failed [{' '.join(words)}];"


def _queue_complaints(name: str, *, find_queue: FindQueue, children: Callable[[str], int]) -> Iterator[str]:
    queue = find_queue(name)
    if queue is None:
        yield f'unable to find job queue: queue.scheduling.volcano.sh "{name}" not found;'
        return
    if name == "root":
        yield "can not submit job to root queue;"
        return
    state = (queue.get("status") or {}).get("state", "")
    if state != "Open":
        yield f"can only submit job to queue with state `Open`, queue `{name}` status is `{state}`;"
    count = children(name)
    if count:
        yield f"can only submit job to leaf queue, queue `{name}` has {count} child queues;"


def changed_job_complaint(job: Mapping[str, Any], *, old: Mapping[str, Any]) -> str:
    """Why the validating webhook refuses an update; "" when it does not.

    Only minAvailable, priorityClassName, tasks[].replicas and tasks[].minAvailable may change.
    """
    spec = job["spec"]
    tasks = spec.get("tasks") or []
    for task in tasks:
        if task.get("replicas", 0) < 0:
            return f"'replicas' must be >= 0 in task: {task.get('name', '')}"
        if task.get("minAvailable", 0) > task.get("replicas", 0):
            return f"'minAvailable' must be <= 'replicas' in task: {task.get('name', '')}"
    if spec.get("minAvailable", 0) > sum(task.get("replicas", 0) for task in tasks):
        return "job 'minAvailable' must not be greater than total replicas"
    if spec.get("minAvailable", 0) < 0:
        return "job 'minAvailable' must be >= 0"
    if len(tasks) != len(old["spec"].get("tasks") or []):
        return "job updates may not add or remove tasks"
    return "" if _fixed(spec) == _fixed(old["spec"]) else IMMUTABLE


def _fixed(spec: Mapping[str, Any]) -> Any:
    """The part of a spec that must stay; empty and absent are alike, quantities count by value."""
    kept = {key: value for key, value in spec.items() if key not in ("minAvailable", "priorityClassName", "tasks")}
    kept["tasks"] = [
        {key: value for key, value in task.items() if key not in ("replicas", "minAvailable")}
        for task in spec.get("tasks") or []
    ]
    return _plain(kept)


def _plain(value: Any, *, quantities: bool = False) -> Any:
    if isinstance(value, Mapping):
        inner = {
            key: _plain(item, quantities=quantities or key in ("requests", "limits")) for key, item in value.items()
        }
        return {key: item for key, item in inner.items() if item not in (None, {}, [], "")}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if quantities and isinstance(value, (str, int)):
        return parse_quantity(value)
    return value


# ---------------------------------------------------------------- queues


def mutated_queue(body: Mapping[str, Any]) -> Body:
    """The Queue with the defaults of the mutating webhook; it is asked on CREATE only."""
    queue: Body = copy.deepcopy(dict(body))
    spec = queue.setdefault("spec", {})
    if spec.get("reclaimable") is None:
        spec["reclaimable"] = True
    spec["weight"] = spec.get("weight") or 1
    annotations = queue["metadata"].get("annotations") or {}
    for key, root in (("volcano.sh/hierarchy", "root"), ("volcano.sh/hierarchy-weights", "1")):
        if annotations.get(key) and not annotations[key].startswith(root):
            annotations[key] = f"{root}/{annotations[key]}"
    return queue


def queue_complaint(
    queue: Mapping[str, Any], *, old: Mapping[str, Any] | None, queues: Sequence[Mapping[str, Any]]
) -> str:
    """Why the validating webhook refuses a Queue; "" when it does not. `queues` are those that exist."""
    spec, name = queue["spec"], queue["metadata"]["name"]
    found = list(_state_complaints(queue))
    found += _amount_complaints(spec)
    if found:
        return found[0] if len(found) == 1 else f"[{', '.join(found)}]"
    before = (old or {}).get("spec") or {}
    amounts = ("capability", "deserved", "guarantee")
    if name == "root" and old is not None and any(_values(spec, key) != _values(before, key) for key in amounts):
        return "root queue's resource attributes (capability, deserved, guarantee) cannot be modified"
    known = {item["metadata"]["name"]: item for item in queues if item["metadata"]["name"] != name}
    parent = spec.get("parent", "")
    if parent not in ("", "root") and (old is None or before.get("parent") != parent):
        complaint = parent_complaint(name, parent, known)
        if complaint:
            return complaint
    if name != "root" and (old is None or any(spec.get(key) != before.get(key) for key in (*amounts, "parent"))):
        return next(tree_complaints(name, spec, known), "")
    return ""


def _values(spec: Mapping[str, Any], part: str) -> dict[str, Any]:
    amounts = spec.get(part) or {}
    amounts = (amounts.get("resource") or {}) if part == "guarantee" else amounts
    return {name: parse_quantity(text) for name, text in amounts.items()}


def _state_complaints(queue: Mapping[str, Any]) -> Iterator[str]:
    state = (queue.get("status") or {}).get("state", "")
    if state not in ("", "Open", "Closed"):
        yield f'requestBody.spec.state: Invalid value: "{state}": queue state must be in [Open Closed]'


def _amount_complaints(spec: Mapping[str, Any]) -> Iterator[str]:
    guarantee = (spec.get("guarantee") or {}).get("resource") or {}
    deserved, capability = spec.get("deserved") or {}, spec.get("capability") or {}
    lists = (("capability", capability), ("deserved", deserved), ("guarantee.resource", guarantee))
    for path, amounts in lists:
        for resource, text in amounts.items():
            value, here = parse_quantity(text), f"requestBody.spec.{path}.{resource}"
            if value < 0:
                yield f'{here}: Invalid value: "{text}": must be greater than or equal to 0'
            vendor = "/" in resource and not resource.startswith(("kubernetes.io/", "requests."))
            if value.denominator != 1 and (vendor or resource == "pods"):
                yield f'{here}: Invalid value: "{text}": must be an integer'
    for resource, text in guarantee.items():
        here = f"requestBody.spec.deserved.{resource}"
        if resource not in deserved:
            yield f'{here}: Invalid value: "<nil>": deserved[{resource}] must be >= guarantee[{resource}]={text}'
        elif parse_quantity(deserved[resource]) < parse_quantity(text):
            have = deserved[resource]
            words = f"deserved[{resource}]={have} must be >= guarantee[{resource}]={text}"
            yield f'{here}: Invalid value: "{have}": {words}'
    for resource, text in deserved.items():
        if resource in capability and parse_quantity(text) > parse_quantity(capability[resource]):
            words = f"deserved[{resource}]={text} must be <= capability[{resource}]={capability[resource]}"
            yield f'requestBody.spec.deserved.{resource}: Invalid value: "{text}": {words}'


def deleted_queue_complaint(name: str, *, children: int) -> str:
    """Why the webhook refuses the end of a Queue; an open one full of jobs may go."""
    if name in ("default", "root"):
        return f"`{name}` queue can not be deleted"
    return f"queue {name} can not be deleted because it has {children} child queues" if children else ""
