"""Git as the store of intents and of rendered trees."""

from gitops_vg.gitstore.publish import PublishResult, publish
from gitops_vg.gitstore.repository import Repository, start_repository
from gitops_vg.gitstore.source import SourceState
from gitops_vg.gitstore.tree import ApprovalRecord, RenderedTree, TreeSettings, policy_digest, render_files

__all__ = [
    "ApprovalRecord",
    "PublishResult",
    "RenderedTree",
    "Repository",
    "SourceState",
    "TreeSettings",
    "policy_digest",
    "publish",
    "render_files",
    "start_repository",
]
