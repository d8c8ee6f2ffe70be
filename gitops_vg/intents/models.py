"""What people write: the seven kinds of intent as frozen models.

The words are neutral where Karmada's or Volcano's own are traps. Everything that may be
left out has a default that is right for most; checks that need more than one field, or
more than one intent, are rules (package `rules`), not validators here.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, Strict, StringConstraints
from pydantic.alias_generators import to_camel

from gitops_vg.findings import Location
from gitops_vg.intents.source import Path, Source, undotted

API_VERSION = "gitops-vg.io/v1alpha1"

Duration = Annotated[str, StringConstraints(pattern=r"^[0-9]+(ms|s|m|h)$")]
Percent = Annotated[str, StringConstraints(pattern=r"^(100|[0-9]{1,2})%$")]
DnsLabel = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", max_length=63)]
DnsSubdomain = Annotated[
    str,
    StringConstraints(pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$", max_length=253),
]
Whole = Annotated[int, Strict()]
"""A whole number, written as one: `true`, `3.0` and `"3"` are mistakes, not numbers."""
Flag = Annotated[bool, Strict()]
Port = Annotated[int, Strict(), Field(ge=1, le=65535)]
Quantity = str | Whole
"""Checked by rules GVG320 and following, so that the message can say what is wrong with it."""
Resources = dict[str, Quantity]
Labels = dict[str, str]


class _Model(BaseModel):
    """Frozen, no unknown fields, camelCase in YAML."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        alias_generator=to_camel,
        populate_by_name=True,
        hide_input_in_errors=True,
    )


class Metadata(_Model):
    """Name, and what Kubernetes people expect beside it."""

    name: DnsSubdomain
    namespace: DnsLabel | None = None
    labels: Labels = Field(default_factory=dict)
    annotations: Labels = Field(default_factory=dict)


_NOWHERE = Source(file="")


class Intent(_Model):
    """What the seven kinds share. `source()` gives the place of any of its fields."""

    kind_name: ClassVar[str]
    api_version: Literal["gitops-vg.io/v1alpha1"]
    metadata: Metadata
    _source: Source = PrivateAttr(default_factory=lambda: _NOWHERE)

    def with_source(self, source: Source) -> Self:
        """The same intent, knowing where it was written."""
        copy = self.model_copy()
        copy._source = source
        return copy

    @property
    def written(self) -> Source:
        """The document this intent was read from."""
        return self._source

    def source(self, field: str = "", *, key: bool = False) -> Location:
        """The place of a field by its dotted YAML path (`spec.job.gang`), or of its nearest parent."""
        return self._source.at(undotted(field) if field else (), key=key)

    def source_at(self, path: Path, *, key: bool = False) -> Location:
        """The place of a field by its path (for keys that hold dots), or of its nearest parent."""
        return self._source.at(path, key=key)

    @property
    def name(self) -> str:
        return self.metadata.name


# ---------------------------------------------------------------- Fleet


class KarmadaRef(_Model):
    """Where karmada-apiserver is: a context of a kubeconfig (default: the usual one), or in-cluster."""

    kubeconfig: str | None = None
    context: str | None = None


class Rendered(_Model):
    """Where manifests are committed; with a remote they are also pushed there."""

    branch: str = "rendered"
    remote: str | None = None


class CapacitySettings(_Model):
    """How fresh capacity has to be."""

    refresh: Duration = "15s"
    cache_ttl: Duration = Field(default="30s", alias="cacheTTL")
    stale_after: Duration = "2m"


class Batch(_Model):
    """How long and how many changes `run` gathers before it acts."""

    window: Duration = "500ms"
    max: Whole = Field(default=50, ge=1)


class Deletes(_Model):
    """How much one run may delete without an Approval; the smaller of the two counts."""

    max_count: Whole = Field(default=10, ge=0)
    max_percent: Whole = Field(default=5, ge=0, le=100)


class FleetSpec(_Model):
    karmada: KarmadaRef = Field(default_factory=KarmadaRef)
    rendered: Rendered = Field(default_factory=Rendered)
    capacity: CapacitySettings = Field(default_factory=CapacitySettings)
    batch: Batch = Field(default_factory=Batch)
    deletes: Deletes = Field(default_factory=Deletes)
    protect: tuple[str, ...] = ("Namespace", "Queue", "ClusterPropagationPolicy")


class Fleet(Intent):
    """One fleet repository: control plane, rendered branch, budgets, freshness."""

    kind_name: ClassVar[str] = "Fleet"
    kind: Literal["Fleet"]
    spec: FleetSpec = Field(default_factory=FleetSpec)


# ---------------------------------------------------------------- Cluster

Packing = Literal["spread", "binpack"]
CgroupDriver = Literal["systemd", "cgroupfs"]


class Oversell(_Model):
    """Which reclaimed resources offline work may use, and how much of the reported amount to trust."""

    cpu: Flag = False
    memory: Flag = False
    safety: Percent = "80%"


class Colocation(_Model):
    """Whether offline work may share this cluster's nodes with online work."""

    ready: Flag = False
    oversell: Oversell = Field(default_factory=Oversell)


class NodePool(_Model):
    """A group of nodes that differs from the rest of its cluster."""

    name: DnsLabel
    cgroup_driver: CgroupDriver


class ClusterSpec(_Model):
    region: str | None = None
    zone: str | None = None
    provider: str | None = None
    packing: Packing = "spread"
    cgroup_driver: CgroupDriver = "systemd"
    node_pools: tuple[NodePool, ...] = ()
    os: Literal["linux"] = "linux"
    accelerators: tuple[str, ...] = ()
    colocation: Colocation = Field(default_factory=Colocation)
    headroom: dict[str, Percent] = Field(default_factory=dict)


class Cluster(Intent):
    """What the platform team promises about one member; live capacity is never written here."""

    kind_name: ClassVar[str] = "Cluster"
    kind: Literal["Cluster"]
    spec: ClusterSpec = Field(default_factory=ClusterSpec)


# ---------------------------------------------------------------- Queue


class QueueSpec(_Model):
    """Volcano's queue algebra: guarantee ⊆ deserved ≤ capability, each resource on its own.

    `deserved` left out means the guarantee. `protect` left out means the Fleet's default.
    """

    weight: Whole = Field(default=1, ge=1, le=65535)
    guarantee: Resources = Field(default_factory=dict)
    deserved: Resources = Field(default_factory=dict)
    capability: Resources = Field(default_factory=dict)
    reclaimable: Flag = True
    parent: DnsSubdomain = "root"
    priority: Whole = Field(default=0, ge=0)
    dequeue_strategy: Literal["fifo", "traverse"] = "traverse"
    protect: Flag | None = None


class Queue(Intent):
    """One Volcano queue, present in every cluster of the fleet."""

    kind_name: ClassVar[str] = "Queue"
    kind: Literal["Queue"]
    spec: QueueSpec = Field(default_factory=QueueSpec)


# ---------------------------------------------------------------- PriorityClass


class PriorityClassSpec(_Model):
    value: Whole = Field(ge=-2147483648, le=1000000000)
    description: str = ""
    preemption: Literal["lower", "never"] = "lower"
    global_default: Flag = False


class PriorityClass(Intent):
    """A priority that workloads name; it exists in karmada-apiserver and in every member."""

    kind_name: ClassVar[str] = "PriorityClass"
    kind: Literal["PriorityClass"]
    spec: PriorityClassSpec


# ---------------------------------------------------------------- placement

Qos = Literal["online", "offline"]


class Where(_Model):
    """Properties that a cluster must have; all given ones must hold."""

    colocation: Literal["ready", "not-ready"] | None = None
    packing: Packing | None = None
    region: str | None = None
    zone: str | None = None
    provider: str | None = None
    accelerator: str | None = None
    labels: Labels = Field(default_factory=dict)


class ClusterChoice(_Model):
    """Which clusters may be used, and how many (`2` or `2-3`)."""

    names: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    where: Where = Field(default_factory=Where)
    count: Annotated[str, StringConstraints(pattern=r"^[1-9][0-9]*(-[1-9][0-9]*)?$")] | Whole | None = None


class Toleration(_Model):
    """A taint of a Karmada cluster that work may ignore. Taints only: a label needs no toleration."""

    key: str
    value: str | None = None
    effect: Literal["NoSchedule", "NoExecute"] | None = None


Mode = Literal["one", "divide", "everywhere"]


class PlacementSpec(_Model):
    """Where a workload may run.

    `mode` left out means: a job runs in one cluster, a service is divided, raw manifests
    go everywhere. `spread` asks for clusters of different regions, zones or providers.
    `policy` names a PlacementPolicy, beside those that select the workload by themselves.
    """

    policy: DnsSubdomain | None = None
    clusters: ClusterChoice = Field(default_factory=ClusterChoice)
    mode: Mode | None = None
    spread: Literal["cluster", "region", "zone", "provider"] | None = None
    tolerate: tuple[Toleration, ...] = ()


class Selects(_Model):
    """Workloads that a policy applies to; all given parts must hold, none given selects none."""

    qos: Qos | None = None
    queue: DnsSubdomain | None = None
    namespace: DnsLabel | None = None
    labels: Labels = Field(default_factory=dict)


class PlacementPolicySpec(_Model):
    selects: Selects = Field(default_factory=Selects)
    clusters: ClusterChoice = Field(default_factory=ClusterChoice)
    spread: Literal["cluster", "region", "zone", "provider"] | None = None
    tolerate: tuple[Toleration, ...] = ()


class PlacementPolicy(Intent):
    """Placement that applies to every workload it selects, and to those that name it."""

    kind_name: ClassVar[str] = "PlacementPolicy"
    kind: Literal["PlacementPolicy"]
    spec: PlacementPolicySpec = Field(default_factory=PlacementPolicySpec)


# ---------------------------------------------------------------- Workload

Template = dict[str, Any]
"""A Kubernetes object or part of one, passed through untouched."""


class PodShort(_Model):
    """A pod in short form; it is merged over `template` when both are given.

    `requests` and `limits` know two words of our own: `oversold-cpu` (in CPUs, as `cpu`) and
    `oversold-memory`, for what online work of the node leaves unused.
    """

    image: str | None = None
    command: tuple[str, ...] = ()
    args: tuple[str, ...] = ()
    env: dict[str, str] = Field(default_factory=dict)
    ports: tuple[Port, ...] = ()
    requests: Resources = Field(default_factory=dict)
    limits: Resources = Field(default_factory=dict)
    working_dir: str | None = None
    restart_policy: Literal["Always", "OnFailure", "Never"] | None = None
    node_selector: Labels = Field(default_factory=dict)
    template: Template = Field(default_factory=dict)


class Task(PodShort):
    """Pods of one shape in a job. `minAvailable` left out follows from the job's gang."""

    name: DnsLabel
    replicas: Whole = Field(default=1, ge=0)
    min_available: Whole | None = Field(default=None, ge=0)


class JobSpec(_Model):
    """A batch job of one or more tasks.

    `gang`: `all` starts every pod or none, a number that many or none, `none` pods one by one.
    """

    gang: Literal["all", "none"] | Whole = "all"
    on_evict: Literal["restart", "abort", "ignore"] = "ignore"
    plugins: tuple[str, ...] | dict[str, tuple[str, ...]] = ()
    tasks: tuple[Task, ...] = Field(min_length=1)
    max_retry: Whole = Field(default=3, ge=1)


class ServiceSpec(PodShort):
    """Pods that serve: a Deployment, and a Service when it has ports."""

    replicas: Whole = Field(default=1, ge=0)


class RawManifests(_Model):
    """Objects that are placed and protected like the rest: `inline`, or `files` (globs in the fleet's folder)."""

    inline: tuple[Template, ...] = ()
    files: tuple[str, ...] = ()


class WorkloadSpec(_Model):
    """Exactly one of job, service, manifests; `schedule` makes a job periodic.

    `qos` left out is offline for a job and online for the rest.
    """

    qos: Qos | None = None
    queue: DnsSubdomain | None = None
    priority_class: DnsSubdomain | None = None
    schedule: str | None = None
    time_zone: str | None = None
    job: JobSpec | None = None
    service: ServiceSpec | None = None
    manifests: RawManifests | None = None
    placement: PlacementSpec = Field(default_factory=PlacementSpec)
    protect: Flag | None = None


WorkloadForm = Literal["job", "periodic", "service", "manifests"]


class Workload(Intent):
    """A batch job, a periodic job, a service, or any raw manifests, with its queue and placement."""

    kind_name: ClassVar[str] = "Workload"
    kind: Literal["Workload"]
    spec: WorkloadSpec
    _raw: tuple[Mapping[str, Any], ...] = PrivateAttr(default=())
    _raw_places: tuple[tuple[Source, Path], ...] = PrivateAttr(default=())

    @property
    def namespace(self) -> str:
        return self.metadata.namespace or "default"

    @property
    def key(self) -> str:
        """`namespace/name`: how plans, locks and reports name it."""
        return f"{self.namespace}/{self.name}"

    @property
    def form(self) -> WorkloadForm:
        if self.spec.job is not None:
            return "periodic" if self.spec.schedule is not None else "job"
        return "service" if self.spec.service is not None else "manifests"

    @property
    def qos(self) -> Qos:
        return self.spec.qos or ("offline" if self.spec.job is not None else "online")

    @property
    def mode(self) -> Mode:
        default: Mode = {"service": "divide", "manifests": "everywhere"}.get(self.form, "one")  # type: ignore[assignment]
        return self.spec.placement.mode or default

    @property
    def raw(self) -> tuple[Mapping[str, Any], ...]:
        """The objects of `manifests`, inline ones first, then those read from its files."""
        return self._raw

    def with_raw(self, objects: tuple[Mapping[str, Any], ...], *, places: tuple[tuple[Source, Path], ...] = ()) -> Self:
        """The same workload with its raw objects read; `places` has the document and path of each."""
        copy = self.model_copy()
        copy._raw = objects
        copy._raw_places = places
        return copy

    def raw_at(self, index: int, path: Path = ()) -> Location:
        """The place of a field of one of the raw objects."""
        if index >= len(self._raw_places):
            return self.source_at(("spec", "manifests"))
        source, above = self._raw_places[index]
        return source.at((*above, *path))


# ---------------------------------------------------------------- Approval


class ApprovalSpec(_Model):
    plan: Annotated[str, StringConstraints(pattern=r"^sha256:[0-9a-f]{64}$")]
    reason: str = Field(min_length=1)
    expires: Annotated[date, Strict()]


class Approval(Intent):
    """A person's word for one exact plan digest."""

    kind_name: ClassVar[str] = "Approval"
    kind: Literal["Approval"]
    spec: ApprovalSpec


KINDS: dict[str, type[Intent]] = {
    model.kind_name: model for model in (Fleet, Cluster, Queue, PlacementPolicy, PriorityClass, Workload, Approval)
}
