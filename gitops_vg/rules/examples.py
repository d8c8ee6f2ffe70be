"""Short ways to write the examples of rules: whole documents, as people would write them."""

from __future__ import annotations

from textwrap import dedent, indent

from gitops_vg.intents.models import API_VERSION


def document(kind: str, name: str, spec: str, *, namespace: str = "") -> str:
    """One intent."""
    metadata = f"{{name: {name}, namespace: {namespace}}}" if namespace else f"{{name: {name}}}"
    body = indent(dedent(spec).strip(), "  ")
    return f"apiVersion: {API_VERSION}\nkind: {kind}\nmetadata: {metadata}\nspec:\n{body}\n"


def workload(spec: str, *, name: str = "train", namespace: str = "ml") -> str:
    return document("Workload", name, spec, namespace=namespace)


def queue(name: str, spec: str) -> str:
    return document("Queue", name, spec)


def cluster(name: str, spec: str) -> str:
    return document("Cluster", name, spec)


def policy(name: str, spec: str) -> str:
    return document("PlacementPolicy", name, spec)


def documents(*parts: str) -> str:
    """Several intents in one file."""
    return "---\n".join(parts)
