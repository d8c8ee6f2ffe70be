"""Which clusters a workload may use at all, before anybody asks for room.

The placement of the workload and of every policy that applies to it all have to agree. The
first thing that speaks against a cluster is its reason; what makes work leave comes before
what only keeps new work out (`reasons.HARD`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from gitops_vg.capacity.snapshot import ClusterCapacity, Taint
from gitops_vg.intents.fleet import Intents
from gitops_vg.intents.models import Cluster, ClusterChoice, ClusterSpec, Toleration, Where
from gitops_vg.placement.demand import Demand
from gitops_vg.placement.nodematch import taint_text
from gitops_vg.placement.plan import Reason
from gitops_vg.placement.reasons import HARD, Code, because, spoken
from gitops_vg.quantities import OVERSOLD_CPU

_KARMADA_TAINTS = "cluster.karmada.io/"
"""Taints that Karmada itself sets on members it cannot reach: they say nothing that Ready does not."""


@dataclass(frozen=True)
class Site:
    """One cluster as eligibility sees it: what is declared and what is live."""

    capacity: ClusterCapacity
    declared: Cluster | None

    @property
    def name(self) -> str:
        return self.capacity.name

    @property
    def spec(self) -> ClusterSpec:
        return self.declared.spec if self.declared is not None else ClusterSpec()

    @property
    def region(self) -> str:
        return self.spec.region or self.capacity.region

    @property
    def zones(self) -> tuple[str, ...]:
        return (self.spec.zone,) if self.spec.zone else self.capacity.zones

    @property
    def provider(self) -> str:
        return self.spec.provider or self.capacity.provider

    @property
    def labels(self) -> Mapping[str, str]:
        """Live labels, and those of the intent above them."""
        declared = self.declared.metadata.labels if self.declared is not None else {}
        return {**self.capacity.labels, **declared}

    def value_of(self, field: str) -> str:
        """What the cluster stands for when work is spread by `field`; "" when it has no value."""
        if field == "region":
            return self.region
        if field == "zone":
            return ",".join(self.zones)
        return self.provider if field == "provider" else self.name


@dataclass(frozen=True)
class Constraints:
    """All placements that apply to one workload, each with the name by which a reason calls it."""

    choices: tuple[tuple[str, ClusterChoice], ...]
    tolerations: tuple[Toleration, ...]
    spread: str

    @staticmethod
    def of(demand: Demand, *, intents: Intents) -> Constraints:
        placement = demand.workload.spec.placement
        policies = sorted(intents.policies_of(demand.workload), key=lambda policy: policy.name)
        spreads = [placement.spread, *(policy.spec.spread for policy in policies)]
        return Constraints(
            choices=(
                ("its own placement", placement.clusters),
                *((f"policy {policy.name}", policy.spec.clusters) for policy in policies),
            ),
            tolerations=(
                *placement.tolerate,
                *(one for policy in policies for one in policy.spec.tolerate),
            ),
            spread=next((spread for spread in spreads if spread), "cluster"),
        )


def refusal(demand: Demand, *, site: Site, constraints: Constraints) -> Reason | None:
    """Why the workload may not be put into the cluster, None when it may."""
    return next(_refusals(demand, site=site, constraints=constraints), None)


def is_hard(reason: Reason) -> bool:
    """Whether work that runs in the cluster has to leave it for this reason."""
    return reason.code in HARD


def _refusals(demand: Demand, *, site: Site, constraints: Constraints) -> Iterator[Reason]:
    for source, choice in constraints.choices:
        if choice.names and site.name not in choice.names:
            yield because(Code.NOT_NAMED, source=source)
        if site.name in choice.exclude:
            yield because(Code.EXCLUDED, source=source)
    if site.declared is None:
        # What is not declared cannot be judged: an intent file that went missing moves nothing.
        yield because(Code.PROBLEM, problem=site.capacity.problem or "has no Cluster intent")
    for source, choice in constraints.choices:
        yield from _where(choice.where, site=site, source=source)
    if demand.workload.qos == "online" and site.spec.packing == "binpack":
        yield because(Code.ONLINE_ON_BINPACK)
    yield from _oversold(demand, site=site)
    untolerated = [one for one in site.capacity.taints if not _tolerated(one, constraints.tolerations)]
    for taint in untolerated:
        if taint.effect == "NoExecute" and not taint.key.startswith(_KARMADA_TAINTS):
            yield because(Code.EVICTING_TAINT, taint=taint_text(taint))
    if site.capacity.problem:
        yield because(Code.PROBLEM, problem=site.capacity.problem)
    for taint in untolerated:
        if taint.effect in ("NoSchedule", "NoExecute"):
            yield because(Code.TAINT, taint=taint_text(taint))
    if site.capacity.kinds is not None:
        for kind in demand.kinds:
            if kind not in site.capacity.kinds:
                yield because(Code.KIND_NOT_SERVED, kind=kind)


def _where(where: Where, *, site: Site, source: str) -> Iterator[Reason]:
    spec = site.spec
    if where.colocation == "ready" and not spec.colocation.ready:
        yield because(Code.NOT_COLOCATION_READY)
    if where.colocation == "not-ready" and spec.colocation.ready:
        yield because(Code.COLOCATION_READY, source=source)
    if where.packing is not None and where.packing != spec.packing:
        yield because(Code.PACKING, packing=spec.packing, source=source, wanted=where.packing)
    # Of a cluster that cannot be seen now, what is not known says nothing against it.
    blind = bool(site.capacity.problem)
    if where.region not in (None, site.region) and (site.region or not blind):
        yield because(Code.REGION, region=site.region or "not known", source=source, wanted=where.region)
    if where.zone is not None and where.zone not in site.zones and (site.zones or not blind):
        yield because(Code.ZONE, source=source, wanted=where.zone)
    if where.provider not in (None, site.provider) and (site.provider or not blind):
        yield because(Code.PROVIDER, provider=site.provider or "not known", source=source, wanted=where.provider)
    if where.accelerator is not None and where.accelerator not in spec.accelerators:
        yield because(Code.ACCELERATOR, source=source, wanted=where.accelerator)
    for key, value in sorted(where.labels.items()):
        if site.labels.get(key) != value and (key in site.labels or not blind):
            yield because(Code.LABEL, label=f"{key}={value}", source=source)


def _oversold(demand: Demand, *, site: Site) -> Iterator[Reason]:
    """Oversold resources: for offline work, where colocation is ready and oversell is on."""
    if not demand.oversold:
        return
    if demand.workload.qos == "online":
        yield because(Code.OVERSOLD_ONLINE)
    colocation = site.spec.colocation
    if not colocation.ready:
        yield because(Code.NOT_COLOCATION_READY)
    for name in demand.oversold:
        on = colocation.oversell.cpu if name == OVERSOLD_CPU else colocation.oversell.memory
        if not on:
            yield because(Code.OVERSOLD_OFF, resource=spoken(name).removeprefix("oversold "))


def _tolerated(taint: Taint, tolerations: tuple[Toleration, ...]) -> bool:
    """A toleration without a value tolerates every value, without an effect every effect."""
    if taint.effect not in ("NoSchedule", "NoExecute"):
        return True
    return any(
        one.key == taint.key
        and (one.value is None or one.value == taint.value)
        and (one.effect is None or one.effect == taint.effect)
        for one in tolerations
    )
