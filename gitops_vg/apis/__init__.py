"""What we know of API kinds: which there are, and what their structural schemas demand."""

from gitops_vg.apis.catalog import Catalog, Kind, Schema, catalog, crd_manifest

__all__ = ["Catalog", "Kind", "Schema", "catalog", "crd_manifest"]
