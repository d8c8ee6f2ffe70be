"""The only package that talks HTTP to an API server."""

from __future__ import annotations

from gitops_vg.kube.client import ApiServer, Live, WatchEvent
from gitops_vg.kube.transport import Transport, transport_of

__all__ = ["ApiServer", "Live", "Transport", "WatchEvent", "connect"]


def connect(*, kubeconfig: str | None = None, context: str | None = None, impersonate: str | None = None) -> ApiServer:
    """The API server of a kubeconfig's context, or of the pod we run in.

    Nothing is sent yet. Raises UsageError for a kubeconfig that cannot be used.
    """
    return ApiServer(transport_of(kubeconfig=kubeconfig, context=context, impersonate=impersonate))
