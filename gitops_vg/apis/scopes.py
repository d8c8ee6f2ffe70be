"""Which kinds have no namespace: those of our schemas, and those that Kubernetes itself brings."""

from __future__ import annotations

from gitops_vg.apis.catalog import catalog
from gitops_vg.objects import GroupKind

_OF_KUBERNETES = {
    "": ("Namespace", "Node", "PersistentVolume"),
    "admissionregistration.k8s.io": (
        "MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding", "MutatingWebhookConfiguration",
        "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding", "ValidatingWebhookConfiguration",
    ),
    "apiextensions.k8s.io": ("CustomResourceDefinition",),
    "apiregistration.k8s.io": ("APIService",),
    "certificates.k8s.io": ("CertificateSigningRequest", "ClusterTrustBundle"),
    "flowcontrol.apiserver.k8s.io": ("FlowSchema", "PriorityLevelConfiguration"),
    "networking.k8s.io": ("IPAddress", "IngressClass", "ServiceCIDR"),
    "node.k8s.io": ("RuntimeClass",),
    "rbac.authorization.k8s.io": ("ClusterRole", "ClusterRoleBinding"),
    "resource.k8s.io": ("DeviceClass", "ResourceSlice"),
    "scheduling.k8s.io": ("PriorityClass",),
    "storage.k8s.io": ("CSIDriver", "CSINode", "StorageClass", "VolumeAttachment", "VolumeAttributesClass"),
}  # fmt: skip
"""Kinds of Kubernetes 1.35 by group."""


def is_of_cluster(group_kind: GroupKind) -> bool:
    """Whether objects of this kind belong to the cluster as such; kinds nobody knows are taken for namespaced."""
    known = catalog().of(group_kind)
    if known is not None:
        return not known.namespaced
    return group_kind.kind in _OF_KUBERNETES.get(group_kind.group, ())
