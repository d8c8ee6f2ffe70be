"""GitOps policy generator and reconciler for multi-cluster batch on Karmada and Volcano."""

__version__ = "0.1.0"
