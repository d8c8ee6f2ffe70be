"""Intents and placements in, manifests out: pure, fully defaulted, deterministic."""

from gitops_vg.compiler.manifests import compile_manifests, workload_manifests
from gitops_vg.compiler.yaml import dump_yaml

__all__ = ["compile_manifests", "dump_yaml", "workload_manifests"]
