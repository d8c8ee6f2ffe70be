"""What the reconciler needs of a committed rendered tree; `gitstore.RenderedTree` is one."""

from __future__ import annotations

from typing import Protocol

from gitops_vg.gitstore import ApprovalRecord, TreeSettings
from gitops_vg.objects import Manifest
from gitops_vg.placement import PlacementLock


class DesiredTree(Protocol):
    """One committed tree, complete and verified."""

    @property
    def commit(self) -> str: ...
    @property
    def manifests(self) -> tuple[Manifest, ...]: ...
    @property
    def lock(self) -> PlacementLock: ...
    @property
    def settings(self) -> TreeSettings: ...
    @property
    def approvals(self) -> tuple[ApprovalRecord, ...]: ...
