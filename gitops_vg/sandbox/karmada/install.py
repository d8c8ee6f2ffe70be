"""Puts Karmada's and Volcano's behaviours on the API servers of a sandbox."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from aiohttp import web

from gitops_vg.objects import GroupKind, ObjectKey
from gitops_vg.sandbox.api import AdmissionRequest
from gitops_vg.sandbox.karmada.admission import Admission
from gitops_vg.sandbox.karmada.aggregation import Aggregation
from gitops_vg.sandbox.karmada.clusters import Clusters, cluster_key
from gitops_vg.sandbox.karmada.control import MANAGER, Body, Objects, Pump, Queue
from gitops_vg.sandbox.karmada.dataplane import Dataplane
from gitops_vg.sandbox.karmada.detector import Detector
from gitops_vg.sandbox.karmada.dispatch import Dispatcher
from gitops_vg.sandbox.karmada.execution import Execution
from gitops_vg.sandbox.karmada.members import Member
from gitops_vg.sandbox.karmada.namespaces import Namespaces
from gitops_vg.sandbox.karmada.resources import node_in_form
from gitops_vg.sandbox.karmada.scheduler import Scheduler
from gitops_vg.sandbox.status import StatusError
from gitops_vg.sandbox.store import Event, Object
from gitops_vg.sandbox.urls import Target

if TYPE_CHECKING:
    from gitops_vg.sandbox.members import MemberSpec
    from gitops_vg.sandbox.sandbox import Sandbox

KUBERNETES = "v1.35.4"
"""Version that members report; the one that the recordings were made with."""

SYSTEM_NAMESPACES = ("karmada-system", "karmada-cluster")


@dataclass(frozen=True)
class Settings:
    """How fast the simulated world turns, in seconds.

    `volcano` names the members that have Volcano and running workloads; None is all of them.
    The others are bare API servers: objects arrive, nothing runs.
    """

    job_seconds: float = 30.0
    capacity_refresh: float = 0.3
    reflect_after: float = 0.1
    volcano: frozenset[str] | None = None
    manager: str = "karmadactl"


class Controllers:
    """Everything that runs beside the API servers of a sandbox."""

    def __init__(self, sandbox: Sandbox, settings: Settings) -> None:
        self._sandbox = sandbox
        self._settings = settings
        objects = Objects(sandbox.karmada)
        self._objects = objects
        self._members = {spec.name: Member(spec.name, Objects(sandbox.apis[spec.name])) for spec in sandbox.members}
        now: Callable[[], str] = sandbox.karmada.now
        names = tuple(self._members)
        detector = Detector(objects)
        scheduler = Scheduler(objects, now=now)
        dispatcher = Dispatcher(objects, clusters=names)
        self._execution = Execution(objects, self._members, now=now, reflect_after=settings.reflect_after)
        aggregation = Aggregation(objects, clusters=names, now=now)
        namespaces = Namespaces(objects, clusters=names)
        self._clusters = Clusters(
            objects, self._members, now=now, refresh=settings.capacity_refresh, version=KUBERNETES
        )
        self._parts = (detector, scheduler, dispatcher, self._execution, aggregation, namespaces, self._clusters)
        self._queues: list[Queue[Any]] = [queue for part in self._parts for queue in part.queues]
        self._dataplanes = {
            name: Dataplane(member.objects, now=now, job_seconds=settings.job_seconds)
            for name, member in self._members.items()
            if settings.volcano is None or name in settings.volcano
        }
        self._queues += [queue for dataplane in self._dataplanes.values() for queue in dataplane.queues]
        pump = Pump()
        for queue in self._queues:
            queue.pump = pump
        self._endings: list[Callable[[], None]] = []

    def start(self) -> None:
        """Register admission, join the members, wake every controller for what is stored already."""
        Admission(self._sandbox.karmada).register()
        server = self._sandbox.server
        server.subresources["Cluster.cluster.karmada.io", "proxy"] = self._proxy
        for part in self._parts:
            self._endings.append(self._objects.subscribe(part.on_event))
        for member in self._members.values():
            self._endings.append(member.objects.subscribe(self._listener(member)))
            member.listeners.append(self._reachability)
            member.in_loop = self._in_loop
        for member in self._members.values():
            member.objects.api.mutating.append(_node_in_form)
            for node in member.objects.list(GroupKind("", "Node")):
                changed = node_in_form(node)
                if changed is not None:
                    member.objects.update(changed, manager="kubelet", status=True)
        for name, dataplane in self._dataplanes.items():
            objects = self._members[name].objects
            listeners = [part.on_event for part in dataplane.parts]
            self._endings += [objects.subscribe(listener) for listener in listeners]
            dataplane.start()
            self._wake(objects, listeners)
        self._wake(self._objects, [part.on_event for part in self._parts])
        for name in SYSTEM_NAMESPACES:
            if self._objects.get(ObjectKey("", "Namespace", "", name)) is None:
                body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
                self._objects.create(body, manager=MANAGER)
        for spec in self._sandbox.members:
            if self._objects.get(cluster_key(spec.name)) is None:
                endpoint = self._sandbox.url(spec.name)
                self._objects.create(_cluster(spec, endpoint=endpoint), manager=self._settings.manager)
            self._clusters.refresh(spec.name)

    def member(self, name: str) -> Member:
        """A member, to cut it off (`down`) and bring it back (`up`), from any thread."""
        return self._members[name]

    def quiet(self, *, within: float) -> bool:
        """Whether no controller has anything to do in the next `within` seconds."""
        return not any(queue.due(within=within) for queue in self._queues)

    def halt(self) -> None:
        """Stop every controller; what is stored stays. Only from inside the event loop."""
        for queue in self._queues:
            queue.stop()
        for ending in self._endings:
            ending()

    async def stop(self) -> None:
        """`halt`, awaited."""
        self.halt()
        await asyncio.sleep(0)

    def _in_loop(self, work: Callable[[], None]) -> None:
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            self._sandbox.call(work)
        else:
            work()

    def _listener(self, member: Member) -> Callable[[Event], None]:
        def listen(event: Event) -> None:
            self._execution.on_member_event(event)
            self._clusters.on_member_event(member.name, event)

        return listen

    def _reachability(self, member: Member) -> None:
        self._clusters.refresh(member.name)
        if member.reachable:
            self._execution.wake(member.name)

    def _wake(self, objects: Objects, listeners: Sequence[Callable[[Event], None]]) -> None:
        """What a start finds in its store is news to the controllers."""
        for kind in objects.api.catalog.kinds():
            for body in objects.api.store.items(kind):
                for listener in listeners:
                    listener(Event("ADDED", kind, body, None, objects.api.store.version))

    async def _proxy(self, request: web.Request, target: Target) -> web.StreamResponse:
        """`clusters/<name>/proxy/<path>`: the member's own API, as system:masters sees it."""
        self._sandbox.karmada.get(target.kind, "", target.name)
        member = self._members.get(target.name)
        if member is None or not member.reachable:
            raise StatusError(503, "ServiceUnavailable", f"cluster {target.name} is not reachable")
        _, _, path = request.path.partition(f"/clusters/{target.name}/proxy")
        inner = request.clone(rel_url=request.rel_url.with_path(path or "/").with_query(request.query))
        server = self._sandbox.servers[target.name]
        return await server.answer(inner)


def _node_in_form(request: AdmissionRequest) -> Object | None:
    if request.object is None or request.kind.group_kind != GroupKind("", "Node"):
        return None
    return node_in_form(request.object)


def _cluster(spec: MemberSpec, *, endpoint: str) -> Body:
    reference = {"namespace": "karmada-cluster", "name": spec.name}
    body: Body = {
        "apiVersion": "cluster.karmada.io/v1alpha1",
        "kind": "Cluster",
        "metadata": {"name": spec.name},
        "spec": {
            "syncMode": "Push",
            "apiEndpoint": endpoint,
            "secretRef": reference,
            "impersonatorSecretRef": {**reference, "name": f"{spec.name}-impersonator"},
        },
    }
    places: Mapping[str, Any] = {"provider": spec.provider, "region": spec.region, "zones": list(spec.zones)}
    body["spec"].update({name: value for name, value in places.items() if value})
    if spec.labels:
        body["metadata"]["labels"] = dict(spec.labels)
    return body


def install(sandbox: Sandbox, settings: Settings | None = None) -> Controllers:
    """Make the sandbox behave like Karmada with Volcano members. Call inside its event loop, servers started."""
    controllers = Controllers(sandbox, settings or Settings(job_seconds=sandbox.job_seconds))
    controllers.start()
    return controllers
