"""The embedded control plane: a real API server over HTTP that behaves like Karmada with Volcano members."""

from gitops_vg.sandbox.members import MemberSpec, NodeSpec, sample_members
from gitops_vg.sandbox.sandbox import KARMADA, Sandbox
from gitops_vg.sandbox.store import StateInUse

__all__ = ["KARMADA", "MemberSpec", "NodeSpec", "Sandbox", "StateInUse", "sample_members"]
