"""The loop's work on a real fleet: the pipeline, with what it needs kept open between cycles."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import date, datetime, timedelta

from gitops_vg import pipeline
from gitops_vg.capacity import CapacityCache, Snapshot
from gitops_vg.controller.loop import Published, Synced
from gitops_vg.gitstore import RenderedTree, Repository
from gitops_vg.intents import Intents
from gitops_vg.kube import ApiServer
from gitops_vg.objects import ObjectKey
from gitops_vg.reconcile import ActionKind

_REPAIRS = frozenset({ActionKind.UPDATE, ActionKind.CREATE})


class FleetStages:
    """One fleet. `follow` names a remote and a branch whose commits are the source; without it, what is checked out."""

    def __init__(
        self,
        repository: Repository,
        *,
        intents: Intents,
        server: ApiServer,
        follow: tuple[str, str] | None = None,
        clock: Callable[[], datetime] = pipeline.utc_now,
    ) -> None:
        self._repository = repository
        self._server = server
        self._branch = intents.fleet.spec.rendered.branch
        self._follow = follow
        self._clock = clock
        self._intents = intents
        ttl = timedelta(seconds=seconds(intents.fleet.spec.capacity.cache_ttl))
        self._capacity = CapacityCache(self._capture, ttl=ttl, clock=clock)
        self._tree: RenderedTree | None = None
        self._published: tuple[str, str, str, date] | None = None
        self._pending = 0
        self._applied = ""

    def fetch(self) -> None:
        """Bring the followed branch here. Raises GitUnreachable."""
        if self._follow is not None:
            self._repository.fetch(*self._follow)

    def refresh_capacity(self) -> None:
        """Look at the clusters ahead of need, so that no publication waits for it. Raises ClusterError."""
        self._capacity.refresh()

    def source_commit(self) -> str:
        if self._follow is not None:
            return self._repository.source_commit("refs/gitops-vg/{}/{}".format(*self._follow))
        return self._repository.source_commit()

    def rendered_commit(self) -> str:
        return self._repository.branch_commit(self._branch) or ""

    def publish(self) -> Published:
        source = self.source_commit()
        # Planning is pure: from the same commit, capacity and lock it would decide the same again. The day counts,
        # because approvals end; a remote is always looked at, because others publish there.
        known = (source, self._capacity.get().digest, self.rendered_commit(), self._clock().date())
        if known == self._published and self._intents.fleet.spec.rendered.remote is None:
            return Published("", self._pending)
        result, rendering = pipeline.publish_fleet(
            self._repository, snapshot_of=self._snapshot, source=source, clock=self._clock
        )
        self._pending = rendering.pending
        self._published = (source, rendering.snapshot.digest, self.rendered_commit(), self._clock().date())
        return Published(result.commit, rendering.pending)

    def sync(self) -> Synced:
        tree = self.tree()
        plan, result = pipeline.sync_fleet(self._server, tree, clock=self._clock)
        repairs = [action for action in result.done if action.kind in _REPAIRS] if tree.commit == self._applied else []
        problems = [problem.message for problem in plan.problems] + [failure.message for failure in result.failures]
        if not problems:
            self._applied = tree.commit
        return Synced(
            actions=dict(Counter(str(action.kind) for action in result.done)),
            held=len(plan.held),
            drifted=len(repairs),
            problem="; ".join(problems[:3]),
        )

    def tree(self) -> RenderedTree:
        """The committed tree; read anew only when the branch has moved. Raises GitError."""
        if self._tree is None or self._tree.commit != self.rendered_commit():
            self._tree = pipeline.rendered_tree(self._repository, self._branch)
        return self._tree

    def owns(self, key: ObjectKey) -> bool:
        """Whether an object is one of the tree."""
        return self._tree is not None and any(manifest.key == key for manifest in self._tree.manifests)

    def _snapshot(self, intents: Intents) -> Snapshot:
        self._intents = intents
        return self._capacity.get()

    def _capture(self, now: datetime) -> Snapshot:
        return pipeline.capture(self._server, self._intents, now=now)


def seconds(duration: str) -> float:
    """`500ms`, `30s`, `2m`, `1h` in seconds."""
    for suffix, factor in (("ms", 0.001), ("s", 1.0), ("m", 60.0), ("h", 3600.0)):
        if duration.endswith(suffix):
            return float(duration.removesuffix(suffix)) * factor
    raise ValueError(f"{duration} is not a duration")
