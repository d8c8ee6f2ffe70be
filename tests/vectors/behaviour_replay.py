"""Replays recorded HTTP transcripts of a real Karmada against the embedded control plane.

A recorded value is matched, not compared: `<uid-3>` stands for any uid, and for the same one
wherever it appears in the case. What a real system does asynchronously is awaited for a moment.
"""

from __future__ import annotations

import http.client
import json
import re
import ssl
import time
import uuid
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from gitops_vg.sandbox import Sandbox
from gitops_vg.sandbox.karmada import Controllers, Settings, install
from gitops_vg.sandbox.members import MemberSpec, NodeSpec

TOKEN = re.compile(r"<(uid|rv|continue)(?:-(\d+))?>|<(time|addr|token|caBundle)>")
FORMS = {
    "uid": r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
    "rv": r"\d+",
    "continue": r"[A-Za-z0-9_=-]+",
    "time": r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z",
    "addr": r"127\.0\.0\.1:\d+",
    "token": r".*",
    "caBundle": r".*",
}
ELSEWHERE = {
    ".status.apiEnablements": "members of the sandbox serve fewer APIs than a whole kube-apiserver, and say so",
}
"""Paths that are not compared, with the reason."""

PATIENCE = 3.0
"""Seconds that an asynchronous result may take."""


# ---------------------------------------------------------------- the recorded world


def _node(name: str, pool: str, allocatable: Mapping[str, str]) -> NodeSpec:
    return NodeSpec(name, {"pods": "110", "ephemeral-storage": "500Gi", **allocatable}, {"pool": pool})


def members() -> tuple[MemberSpec, ...]:
    """The two members of the recording: three hand-made nodes."""
    return (
        MemberSpec(
            "member1",
            (
                _node("n1", "gpu", {"cpu": "32", "memory": "128Gi", "nvidia.com/gpu": "8", "kubernetes.io/batch-cpu": "16000"}),
                _node("n2", "cpu", {"cpu": "16", "memory": "64Gi", "kubernetes.io/batch-cpu": "8000"}),
            ),
            region="r1", zones=("z1",), provider="onprem", labels={"location": "dc1"},
        ),
        MemberSpec(
            "member2",
            (_node("n1", "gpu", {"cpu": "64", "memory": "256Gi", "nvidia.com/gpu": "4", "kubernetes.io/batch-cpu": "32000"}),),
            region="r2", zones=("z2",), provider="onprem", labels={"location": "dc2"},
        ),
    )  # fmt: skip


@dataclass
class Plane:
    """A sandbox in the shape of the recording, and plain HTTP to its servers."""

    sandbox: Sandbox
    controllers: Controllers
    connections: dict[str, http.client.HTTPConnection] = field(default_factory=dict)

    @classmethod
    def start(cls, *, volcano: bool, job_seconds: float = 1.2) -> Plane:
        sandbox = Sandbox.start(members=members(), karmada=False)
        settings = Settings(
            job_seconds=job_seconds,
            capacity_refresh=0.05,
            volcano=None if volcano else frozenset(),
            manager="python-requests",
        )
        plane = cls(sandbox, sandbox.call(lambda: install(sandbox, settings)))
        plane.settle()
        return plane

    def stop(self) -> None:
        for connection in self.connections.values():
            connection.close()
        self.sandbox.call(self.controllers.halt)
        self.sandbox.stop()

    def settle(self, limit: float = 1.5) -> None:
        """Wait until no controller has anything to do soon."""
        end = time.monotonic() + limit
        while time.monotonic() < end:
            if self.sandbox.call(lambda: self.controllers.quiet(within=0.25)):
                return
            time.sleep(0.02)

    def send(self, request: Mapping[str, Any]) -> tuple[int, Any, http.client.HTTPMessage]:
        name = request.get("server", "karmada")
        server = "karmada-apiserver" if name == "karmada" else name
        if name not in self.connections:
            port = self.sandbox.servers[server].port
            authority = self.sandbox.authority
            assert authority is not None
            tls = ssl.create_default_context(cadata=authority.decode())
            self.connections[name] = http.client.HTTPSConnection("127.0.0.1", port, timeout=30, context=tls)
        query = request.get("query") or {}
        path = request["path"] + (f"?{urlencode(query)}" if query else "")
        headers = {"User-Agent": "python-requests/2.32", "Authorization": f"Bearer {self.sandbox.token}"}
        headers |= request.get("headers") or {}
        body = request.get("body")
        if body is not None:
            headers["Content-Type"] = request.get("contentType", "application/json")
            body = body if isinstance(body, str) else json.dumps(body)
        connection = self.connections[name]
        connection.request(request["method"], path, body=body, headers=headers)
        answer = connection.getresponse()
        text = answer.read().decode()
        try:
            return answer.status, json.loads(text), answer.headers
        except ValueError:
            return answer.status, text, answer.headers

    def get(self, path: str, server: str = "karmada") -> Any:
        status, body, _ = self.send({"server": server, "method": "GET", "path": path})
        return body if status == 200 else None

    def until(self, check: Callable[[], Any], limit: float) -> Any:
        end = time.monotonic() + limit
        while True:
            found = check()
            if found or time.monotonic() > end:
                return found
            time.sleep(0.02)


# ---------------------------------------------------------------- matching


class Bindings(dict[str, str]):
    """What each token of a case stands for; no two tokens of a kind stand for the same."""

    def bind(self, token: str, kind: str, value: str) -> bool:
        if token in self:
            return self[token] == value
        if any(known == value and name.startswith(f"<{kind}-") for name, known in self.items()):
            return False
        self[token] = value
        return True


def matches(expected: Any, actual: Any, bindings: Bindings, path: str = "") -> list[str]:
    """The differences, as `path: recorded → ours`; tokens are bound on the way."""
    if isinstance(expected, Mapping) and isinstance(actual, Mapping):
        return _matches_map(expected, actual, bindings, path)
    if isinstance(expected, list) and isinstance(actual, list):
        if path.endswith(".managedFields"):
            # Entries are in the order of their times, which are scrubbed: here in the order of their names.
            expected, actual = (sorted(entries, key=_entry) for entries in (expected, actual))
        if len(expected) != len(actual):
            return [
                f"{path}: {len(expected)} items recorded, {len(actual)} ours: {_short(expected)} → {_short(actual)}"
            ]
        found = []
        for index, (left, right) in enumerate(zip(expected, actual, strict=True)):
            found += matches(left, right, bindings, f"{path}[{index}]")
        return found
    if isinstance(expected, str) and isinstance(actual, str):
        return [] if _matches_text(expected, actual, bindings) else [f"{path}: {expected!r} → {actual!r}"]
    same = type(expected) is type(actual) and expected == actual
    return [] if same else [f"{path}: {_short(expected)} → {_short(actual)}"]


def _entry(entry: Mapping[str, Any]) -> tuple[str, ...]:
    return (entry["operation"], entry["manager"], entry.get("subresource", ""))


def _matches_map(expected: Mapping[str, Any], actual: Mapping[str, Any], bindings: Bindings, path: str) -> list[str]:
    found = []
    left = dict(actual)
    for key, value in expected.items():
        real = key
        if TOKEN.search(key):
            real = next((name for name in left if _matches_text(key, name, bindings)), key)
        if real in left and f"{path}.{key}" in ELSEWHERE:
            del left[real]
        elif real not in left:
            found.append(f"{path}.{key}: {_short(value)} → absent")
        elif key == "runningDuration":  # real time, and so scrubbed like the other times
            found += [] if re.fullmatch(r"\d+s", str(left.pop(real))) else [f"{path}.{key}: no duration"]
        else:
            found += matches(value, left.pop(real), bindings, f"{path}.{key}")
    return found + [f"{path}.{key}: absent → {_short(value)}" for key, value in left.items()]


def _matches_text(expected: str, actual: str, bindings: Bindings) -> bool:
    if not TOKEN.search(expected):
        return expected == actual
    pattern, tokens, at = "", [], 0
    for match in TOKEN.finditer(expected):
        pattern += re.escape(expected[at : match.start()])
        kind = match.group(1) or match.group(3)
        pattern += f"({FORMS[kind]})"
        tokens.append((match.group(0), kind, match.group(2)))
        at = match.end()
    pattern += re.escape(expected[at:])
    found = re.fullmatch(pattern, actual, re.DOTALL)
    if found is None:
        return False
    return all(
        number is None or bindings.bind(token, kind, value)
        for (token, kind, number), value in zip(tokens, found.groups(), strict=True)
    )


def _short(value: Any) -> str:
    text = json.dumps(value, default=str)
    return text if len(text) < 300 else text[:300] + "…"


# ---------------------------------------------------------------- what the recorder looked at

_PLACES = ("spec", "status", "metadata")


def _fields(recorded: Mapping[str, Any], body: Any) -> Any:
    """The fields of an answer that the recorder kept, wherever they are in the object."""
    if not isinstance(body, Mapping):
        return body
    found = {}
    for key in recorded:
        if key in ("spec", "status", "kind", "message", "reason") and key in body:
            found[key] = body[key]
            continue
        holders = [body.get(place) or {} for place in _PLACES]
        found[key] = next((holder[key] for holder in holders if key in holder), None)
    return found


PICKS: dict[tuple[str, int], Callable[[Any], Any]] = {
    ("4a", 6): lambda b: [w for w in b["items"] if w["metadata"]["name"].startswith("train-")],
    ("6c", 10): lambda b: b["metadata"],
    ("6c", 11): lambda b: b.get("spec", b),
    ("7", 7): lambda b: b.get("status"),
    ("7", 8): lambda b: b.get("status"),
    ("10", 11): lambda b: [i["metadata"]["name"] for i in b["items"]],
    ("10", 12): lambda b: len(b["items"]),
    ("10", 14): lambda b: [x["name"] for x in b["resources"]],
    ("10", 19): lambda b: {
        "kind": b["kind"],
        "apiVersion": b["apiVersion"],
        "items": [i for i in b["items"] if i["metadata"]["name"] in ("batch.volcano.sh", "cluster.karmada.io")],
    },
    ("10", 21): lambda b: {k: b[k] for k in ("major", "minor", "gitVersion")},
    ("11", 8): lambda b: b["metadata"].get("labels"),
    ("12", 0): lambda b: {
        "kind": b.get("kind"),
        "status": b.get("status"),
        "message": b.get("message"),
        "nodes": [
            {"name": i["metadata"]["name"], "allocatable": i["status"].get("allocatable")} for i in b.get("items", [])
        ],
    },
    ("15", 6): lambda b: b["data"],
    ("15", 10): lambda b: b["data"],
    ("16", 5): lambda b: b.get("reason", b["kind"]),
    ("18", 11): lambda b: b.get("data", b.get("reason")),
    ("20", 8): lambda b: b.get("status", {}).get("state", b.get("reason")),
    ("21", 6): lambda b: b.get("status"),
    ("21", 13): lambda b: b.get("status"),
    ("22", 10): lambda b: [
        {"name": i["metadata"]["name"].split("-")[0], "status": i.get("status")} for i in b["items"]
    ],
    ("22", 11): lambda b: [
        {"name": i["metadata"]["name"], "phase": i["status"].get("phase"), "conditions": i["status"].get("conditions")}
        for i in b["items"]
        if i["metadata"]["name"].startswith("nonode")
    ][:1],
    ("3d", 15): lambda b: b["metadata"].get("labels"),
}


def picked(case: str, step: int, recorded: Any, body: Any) -> Any:
    """The part of an answer that the recorder kept."""
    pick = PICKS.get((case, step))
    if pick is not None:
        try:
            return pick(body)
        except (KeyError, TypeError, AttributeError):
            return body
    if isinstance(recorded, Mapping) and "kind" not in recorded and "major" not in recorded:
        return _fields(recorded, body)
    return body


# ---------------------------------------------------------------- what the recorder did or awaited beside

_JOBS = "/apis/batch.volcano.sh/v1alpha1/namespaces/{}/jobs/{}"
_BINDINGS = "/apis/work.karmada.io/v1alpha2/namespaces/{}/resourcebindings/{}"
_MAPS = "/api/v1/namespaces/{}/configmaps/{}"
_QUEUES = "/apis/scheduling.volcano.sh/v1beta1/queues/{}"
_WEB = "/apis/apps/v1/namespaces/b-svc/deployments/web"
_POLICIES = "/apis/policy.karmada.io/v1alpha1"


def _delete(path: str, server: str = "karmada") -> dict[str, Any]:
    return {"server": server, "method": "DELETE", "path": path}


UNRECORDED: dict[tuple[str, int], list[dict[str, Any]]] = {
    ("1b", 0): [
        _delete(f"{_POLICIES}/namespaces/b-ssa/overridepolicies/op"),
        _delete(f"{_POLICIES}/clusteroverridepolicies/b-ssa-cop"),
        _delete(f"{_POLICIES}/clusterpropagationpolicies/b-ssa-cpp"),
    ],
    ("15", 2): [
        {
            "server": "member1",
            "method": "POST",
            "path": "/api/v1/namespaces/b-fail/configmaps",
            "body": {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {"name": "taken", "namespace": "b-fail"},
                "data": {"a": "member"},
            },
        }
    ],
}
"""Requests that the recorder sent without recording them, before that step."""


_PROTECT = {"resourcetemplate.karmada.io/deletion-protected": "Always"}


def _lifting(labels: Mapping[str, str]) -> dict[str, Any]:
    selectors = [{"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "name": "none"}]
    return {
        "body": {
            "apiVersion": "policy.karmada.io/v1alpha1",
            "kind": "PropagationPolicy",
            "metadata": {"name": "pp", "namespace": "b-lift", "labels": dict(labels)},
            "spec": {"resourceSelectors": selectors, "placement": {"clusterAffinity": {"clusterNames": ["member1"]}}},
        }
    }


REQUESTS: dict[tuple[str, int], dict[str, Any]] = {
    ("10", 8): {"query": {"limit": "2", "continue": "bm9wZQ"}},
    ("3d", 1): _lifting({**_PROTECT, "app.kubernetes.io/managed-by": "gitops-vg"}),
}
"""Requests as they were sent, where the recorder kept a body that it changed afterwards."""


def _scheduled(plane: Plane, namespace: str, name: str) -> Any:
    body = plane.get(_BINDINGS.format(namespace, name))
    conditions = ((body or {}).get("status") or {}).get("conditions") or []
    return body if any(item["type"] == "Scheduled" for item in conditions) else None


def _there(plane: Plane, path: str, server: str) -> Any:
    return plane.get(path, server)


def _phase(plane: Plane, namespace: str, name: str, phase: str) -> Any:
    job = plane.get(_JOBS.format(namespace, name)) or {}
    reached = ((job.get("status") or {}).get("state") or {}).get("phase") == phase
    return plane.get(_BINDINGS.format(namespace, f"{name}-job")) if reached else None


def _container(job: Any) -> Any:
    return job["spec"]["tasks"][0]["template"]["spec"]["containers"][0]


def awaited(plane: Plane, case: str, step: int, words: str) -> Callable[[], Any]:
    """What a recorded wait waited for."""
    train = _JOBS.format("b-job", "train")
    match (case, words):
        case ("3b", "namespace gone"):
            return lambda: not plane.get("/api/v1/namespaces/b-prot2")
        case ("4a", "job in member1"):
            return lambda: _there(plane, train, "member1")
        case ("4a", "binding scheduled"):
            return lambda: _scheduled(plane, "b-job", "train-job")
        case ("4b", _):
            return lambda: _phase(plane, "b-job", "train", words.split()[-1])
        case ("4c", "member image"):
            return lambda: _container(plane.get(train, "member1"))["image"] == "trainer:2"
        case ("4c", "member edit reverted"):
            return lambda: plane.get(train, "member1")["spec"]["minAvailable"] == 3
        case ("4c", "member copy recreated"):
            return lambda: _there(plane, train, "member1")
        case ("4c", "binding gone"):
            return lambda: not plane.get(_BINDINGS.format("b-job", "train-job"))
        case ("4c", "member copy gone"):
            return lambda: not plane.get(train, "member1")
        case ("5", _):
            return lambda: _scheduled(plane, "b-div", f"{words.split(':')[0]}-job")
        case ("6a", "scheduled"):
            return lambda: _scheduled(plane, "b-svc", "web-deployment")
        case ("6a", "member replicas"):
            return lambda: (
                [(plane.get(_WEB, s) or {}).get("spec", {}).get("replicas") for s in ("member1", "member2")] == [5, 2]
            )
        case ("7" | "14", "in both members"):
            queue = _QUEUES.format("b-q" if case == "7" else "b-ric")
            return lambda: plane.get(queue, "member1") and plane.get(queue, "member2")
        case ("8", "claimed by broad"):
            return lambda: _scheduled(plane, "b-claim", "early-job")
        case ("8", "late claimed by the exact one"):
            return lambda: _scheduled(plane, "b-claim", "late-job")
        case ("17", "in member2"):
            return lambda: _there(plane, _MAPS.format("b-fail", "kept"), "member2")
        case ("17", "in member2 with a toleration"):
            return lambda: _there(plane, _MAPS.format("b-fail", "fresh"), "member2")
        case ("18", "in member1"):
            return lambda: _there(plane, _MAPS.format("b-fail", "quick"), "member1")
        case ("20", _):
            return lambda: _phase(plane, "b-vc", "life", words.split()[-1])
        case ("21", "running"):
            name = "bare" if step < 5 else "full"
            return lambda: _phase(plane, "b-vc", name, "Running")
    raise AssertionError(f"nobody knows what {case}/{step} waited for: {words}")


_PRESENCE = {
    "divided: present in": _JOBS.format("b-div", "divided"),
    "plain: present in": _JOBS.format("b-div", "plain"),
    "one: present in": _JOBS.format("b-div", "one"),
    "aggregated: present in": _JOBS.format("b-div", "aggregated"),
    "present in": _WEB,
    "present in (preserve was set)": _WEB,
}
_OBSERVED = {"requirements": "replicaRequirements"}


def observation(recorded: Mapping[str, Any], body: Any) -> dict[str, Any]:
    """What the recorder noted of the object that ended a wait."""
    names = [name for name in recorded if name not in ("met", "seconds", "value")]
    asked = {_OBSERVED.get(name, name): None for name in names}
    found = _fields(asked, body if isinstance(body, Mapping) else {})
    seen = {name: found[_OBSERVED.get(name, name)] for name in names}
    if isinstance(recorded.get("conditions"), list) and isinstance(seen.get("conditions"), list):
        # The recorder saw one moment; a condition that comes a little later is no difference.
        types = [item["type"] for item in recorded["conditions"]]
        seen["conditions"] = [item for item in seen["conditions"] if item["type"] in types]
    return seen


# ---------------------------------------------------------------- replaying


def order(case: str) -> tuple[int, str]:
    """The place of a case in the life of the recorded control plane; 3d was recorded after 11."""
    number = int(re.match(r"\d+", case).group())  # type: ignore[union-attr]
    return (11, "z") if case == "3d" else (number, f"{case}")


@dataclass(frozen=True)
class Difference:
    """One step of a case that came out otherwise."""

    step: int
    what: str
    paths: tuple[str, ...]

    def __str__(self) -> str:
        return f"step {self.step} {self.what}\n      " + "\n      ".join(self.paths)


def replay(plane: Plane, case: Mapping[str, Any], *, known: Collection[int] = ()) -> list[Difference]:
    """Run one case; every step that differs from the recording. Nothing is awaited for `known` steps."""
    bindings = Bindings()
    found = []
    for index, step in enumerate(case["steps"]):
        for request in UNRECORDED.get((case["id"], index), []):
            plane.send(request)
        if "request" in step:
            patience = 0.0 if index in known else PATIENCE
            what, paths = _replay_request(plane, case["id"], index, step, bindings, patience=patience)
        else:
            what, paths = _replay_wait(plane, case["id"], index, step, bindings)
        if paths:
            found.append(Difference(index, what, tuple(paths)))
    return found


def _replay_request(
    plane: Plane, case: str, index: int, step: Mapping[str, Any], bindings: Bindings, *, patience: float
) -> tuple[str, list[str]]:
    request = {**step["request"], **REQUESTS.get((case, index), {})}
    if TOKEN.search(json.dumps(request)):
        live = plane.get(request["path"], request["server"])
        if request["method"] == "PUT" and live:
            matches(request["body"], live, bindings)
        request = _bound(request, bindings)
    what = f"{request['method']} {request['path'].rpartition('/')[2]} {request.get('query', '')}"
    limit = patience if request["method"] == "GET" and "watch" not in (request.get("query") or {}) else 0.0
    end = time.monotonic() + limit
    while True:
        trial = Bindings(bindings)
        status, body, headers = plane.send(request)
        paths = _compare(case, index, step["response"], status, body, headers, trial)
        if not paths or time.monotonic() > end:
            bindings.update(trial)
            return what, paths
        time.sleep(0.03)


def _compare(
    case: str,
    index: int,
    recorded: Mapping[str, Any],
    status: int,
    body: Any,
    headers: Mapping[str, str],
    bindings: Bindings,
) -> list[str]:
    paths = [] if recorded["status"] == status else [f"status: {recorded['status']} → {status}"]
    if isinstance(recorded["body"], str) and isinstance(body, str) and recorded["body"].startswith('{"type"'):
        paths += matches(_lines(recorded["body"]), _lines(body), bindings)
    elif isinstance(recorded["body"], str) and isinstance(body, Mapping) and recorded["body"].startswith('{"type"'):
        paths += matches(_lines(recorded["body"]), [body], bindings)
    else:
        paths += matches(recorded["body"], picked(case, index, recorded["body"], body), bindings)
    paths += matches(recorded.get("warning"), headers.get("Warning"), bindings, "warning")
    for name, value in (recorded.get("headers") or {}).items():
        paths += matches(value, headers.get(name), bindings, f"header {name}")
    return paths


def _lines(text: str) -> list[Any]:
    return [json.loads(line) for line in text.splitlines() if line.strip()]


def _bound(value: Any, bindings: Bindings) -> Any:
    if isinstance(value, Mapping):
        return {key: _bound(item, bindings) for key, item in value.items()}
    if isinstance(value, list):
        return [_bound(item, bindings) for item in value]
    if isinstance(value, str):
        return TOKEN.sub(lambda match: _stand_in(match.group(0), match.group(1), bindings), value)
    return value


def _stand_in(token: str, kind: str, bindings: Bindings) -> str:
    """What a token in a request stands for; a uid that nothing had so far was made up by the recorder."""
    if token == "<time>":
        return "2026-01-01T00:00:00Z"
    if token not in bindings and kind == "uid":
        bindings[token] = str(uuid.uuid4())
    return bindings.get(token, token)


def _replay_wait(
    plane: Plane, case: str, index: int, step: Mapping[str, Any], bindings: Bindings
) -> tuple[str, list[str]]:
    words, recorded = step["wait"], step["observed"]
    if "slept" in recorded:
        plane.settle()
        return words, []
    if words in _PRESENCE:
        path = _PRESENCE[words]

        def here() -> dict[str, bool]:
            return {server: bool(plane.get(path, server)) for server in ("member1", "member2")}

        plane.until(lambda: here() == recorded, PATIENCE)
        return words, matches(recorded, here(), bindings)
    if words.startswith("generation in the member"):
        return words, _fought(plane, recorded)
    check = awaited(plane, case, index, words)
    body = plane.until(check, 10.0)
    if bool(body) != recorded["met"]:
        return words, [f"met: {recorded['met']} → {bool(body)}"]
    expected = {name: value for name, value in recorded.items() if name not in ("met", "seconds", "value")}
    end = time.monotonic() + PATIENCE
    while True:
        trial = Bindings(bindings)
        paths = matches(expected, observation(recorded, body), trial)
        if not paths or time.monotonic() > end:
            bindings.update(trial)
            return words, paths
        body = check() or body


def _fought(plane: Plane, recorded: Mapping[str, Any]) -> list[str]:
    """Whether a queue without a parent is fought over, as recorded: its generation rises without end."""
    path = _QUEUES.format("b-vcq2")
    first = plane.get(path, "member1")["metadata"]["generation"]
    time.sleep(1.0)
    second = plane.get(path, "member1")
    rises = second["metadata"]["generation"] > first + 2
    return [] if rises else [f"generation: rises without end → {first}, {second['metadata']['generation']}"]
