"""What several commands do first: read the fleet, reach the control plane, get capacity."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gitops_vg import pipeline
from gitops_vg.cli.output import Session
from gitops_vg.intents import Intents
from gitops_vg.report.text import count

if TYPE_CHECKING:
    from gitops_vg.capacity import Snapshot
    from gitops_vg.gitstore import RenderedTree, Repository
    from gitops_vg.kube import ApiServer


@dataclass(frozen=True)
class FleetCommand:
    """One command on one fleet."""

    session: Session
    root: Path
    kubeconfig: str | None = None
    context: str | None = None

    def intents(self) -> Intents:
        """The fleet's intents as they lie in the folder; warnings are told beside."""
        examined = pipeline.examine(self.root)
        warnings = [finding for finding in examined.findings if not finding.is_error]
        if warnings and len(warnings) == len(examined.findings):
            self.session.note(f"{count(len(warnings), 'warning')}; `gitops-vg validate` shows them")
        return pipeline.load(self.root)

    def server(self, intents: Intents) -> ApiServer:
        return pipeline.server_for(intents, root=self.root, kubeconfig=self.kubeconfig, context=self.context)

    def snapshot(self, intents: Intents, file: Path | None) -> Snapshot:
        """Capacity from a file, or live."""
        if file is not None:
            return pipeline.read_snapshot(file)
        with self.session.step(f"reading the capacity of {len(intents.clusters)} clusters"):
            return pipeline.capture(self.server(intents), intents, now=pipeline.utc_now())

    def repository(self) -> Repository:
        from gitops_vg.gitstore import Repository

        return Repository.open(self.root)

    def rendered_tree(self, intents: Intents) -> RenderedTree:
        """The committed rendered tree. Raises GitError when there is none, GitUnreachable."""
        rendered = intents.fleet.spec.rendered
        return pipeline.rendered_tree(self.repository(), rendered.branch, remote=rendered.remote)

    def previous_tree(self, intents: Intents) -> RenderedTree | None:
        """The committed rendered tree; None outside a repository or before the first publication.

        A remote that does not answer is told beside: what is committed here stands in for it.
        """
        from gitops_vg.errors import GitError, GitUnreachable
        from gitops_vg.gitstore import Repository

        rendered = intents.fleet.spec.rendered
        try:
            repository = Repository.open(self.root)
        except GitError:
            return None
        try:
            commit = repository.latest(rendered.branch, remote=rendered.remote)
        except GitUnreachable as error:
            self.session.note(f"{error.message}: going by the local branch {rendered.branch}")
            commit = repository.branch_commit(rendered.branch)
        return repository.read_tree(commit) if commit is not None else None
