"""A real control plane for tests: etcd, kube-apiserver and kube-controller-manager as processes on loopback.

Everything lives in one temporary folder and is stopped by pid. What Karmada's aggregated API server and webhook
would bring stands in here: kind Cluster as a CRD, deletion protection as a ValidatingAdmissionPolicy.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import urllib3
import yaml
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from gitops_vg.apis import catalog, crd_manifest
from gitops_vg.objects import PROTECTED_LABEL
from gitops_vg.sandbox.certificates import make_certificates

ROOT = Path(__file__).resolve().parents[2]
_STARTS_WITHIN = 90.0
_STOPS_WITHIN = 10.0
CONTEXT = "karmada-apiserver"


@dataclass(frozen=True)
class Endpoint:
    """Where an API server answers, and as whom."""

    url: str
    token: str
    authority: bytes
    kubeconfig: Path


def binaries() -> Path | None:
    """The folder that `scripts/build_controlplane.sh` fills; None when it has not run."""
    where = subprocess.run(
        [ROOT / "scripts/build_controlplane.sh", "--where"], capture_output=True, text=True, check=True
    ).stdout.strip()
    folder = Path(where)
    complete = all((folder / name).exists() for name in ("etcd", "kube-apiserver", "kube-controller-manager"))
    return folder if complete else None


@contextmanager
def real_server(folder: Path) -> Iterator[Endpoint]:
    """A running control plane with the CRDs of Karmada and Volcano."""
    work = Path(tempfile.mkdtemp(prefix="gitops-vg-controlplane-"))
    processes: list[subprocess.Popen[bytes]] = []
    try:
        endpoint = _start(folder, work, processes)
        _install(endpoint)
        yield endpoint
    finally:
        for process in reversed(processes):
            _stop(process)
        shutil.rmtree(work, ignore_errors=True)


def _start(folder: Path, work: Path, processes: list[subprocess.Popen[bytes]]) -> Endpoint:
    certificates = make_certificates(work)
    authority = work / "authority.crt"
    authority.write_bytes(certificates.authority)
    _service_account_key(work)
    token = secrets.token_urlsafe(24)
    (work / "tokens.csv").write_text(f'{token},admin,admin,"system:masters"\n')
    etcd, peer, port, manager = _free_ports(4)

    def spawn(name: str, *arguments: str) -> subprocess.Popen[bytes]:
        with (work / f"{name}.log").open("ab") as log:
            process = subprocess.Popen(
                [folder / name, *arguments], stdout=log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, cwd=work
            )
        processes.append(process)
        return process

    spawn(
        "etcd", f"--data-dir={work / 'etcd'}", "--unsafe-no-fsync", "--log-level=error",
        f"--listen-client-urls=http://127.0.0.1:{etcd}", f"--advertise-client-urls=http://127.0.0.1:{etcd}",
        f"--listen-peer-urls=http://127.0.0.1:{peer}", f"--initial-advertise-peer-urls=http://127.0.0.1:{peer}",
        f"--initial-cluster=default=http://127.0.0.1:{peer}",
    )  # fmt: skip
    server = spawn(
        "kube-apiserver", f"--etcd-servers=http://127.0.0.1:{etcd}", "--bind-address=127.0.0.1", f"--secure-port={port}",
        "--endpoint-reconciler-type=none", "--authorization-mode=RBAC", f"--token-auth-file={work / 'tokens.csv'}",
        "--disable-admission-plugins=StorageObjectInUseProtection,ServiceAccount",
        f"--tls-cert-file={certificates.server}", f"--tls-private-key-file={certificates.key}",
        "--service-account-issuer=https://kubernetes.default.svc.cluster.local",
        f"--service-account-key-file={work / 'sa.pub'}", f"--service-account-signing-key-file={work / 'sa.key'}",
        "--service-cluster-ip-range=10.96.0.0/16", "--profiling=false", "--watch-cache-sizes=configmaps#200",
    )  # fmt: skip
    url = f"https://127.0.0.1:{port}"
    kubeconfig = work / "kubeconfig"
    kubeconfig.touch(mode=0o600)
    kubeconfig.write_text(yaml.safe_dump(_kubeconfig(url, authority, token)))
    endpoint = Endpoint(url, token, certificates.authority, kubeconfig)
    client = RawClient(endpoint)
    _wait(lambda: client.is_ready(), "kube-apiserver is ready", server, work / "kube-apiserver.log")
    spawn(
        "kube-controller-manager", f"--kubeconfig={kubeconfig}", "--leader-elect=false", "--bind-address=127.0.0.1",
        f"--secure-port={manager}", "--controllers=namespace-controller,garbage-collector-controller",
        f"--cert-dir={work / 'kcm'}", "--concurrent-gc-syncs=5",
    )  # fmt: skip
    return endpoint


def _install(endpoint: Endpoint) -> None:
    client = RawClient(endpoint)
    kinds = [kind for kind in catalog().kinds() if kind.is_crd]
    for kind in kinds:
        body = crd_manifest(kind)
        status, answer = client.apply(
            f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{body['metadata']['name']}", body
        )
        assert status in (200, 201), f"{body['metadata']['name']}: {answer.get('message')}"

    def established() -> bool:
        items = client.get("/apis/apiextensions.k8s.io/v1/customresourcedefinitions")[1]["items"]
        good = [
            any(
                c["type"] == "Established" and c["status"] == "True"
                for c in (item.get("status") or {}).get("conditions") or []
            )
            for item in items
        ]
        return len(good) >= len(kinds) and all(good)

    _wait(established, "the CRDs are established")
    for path, body in _deletion_protection():
        status, answer = client.apply(path, body)
        assert status in (200, 201), answer
    probe = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {
        "name": "probe", "namespace": "default", "labels": {PROTECTED_LABEL: "Always"}}}  # fmt: skip

    def enforced() -> bool:
        client.apply("/api/v1/namespaces/default/configmaps/probe", probe)
        return client.request("DELETE", "/api/v1/namespaces/default/configmaps/probe")[0] in (403, 422)

    _wait(enforced, "deletion protection is enforced")
    client.request(
        "PATCH", "/api/v1/namespaces/default/configmaps/probe", body={"metadata": {"labels": None}},
        content_type="application/merge-patch+json",
    )  # fmt: skip
    client.request("DELETE", "/api/v1/namespaces/default/configmaps/probe")


def _deletion_protection() -> Iterator[tuple[str, dict[str, Any]]]:
    """What Karmada's webhook does by the label, as an admission policy."""
    api = "admissionregistration.k8s.io/v1"
    labels = f"has(oldObject.metadata.labels) && '{PROTECTED_LABEL}' in oldObject.metadata.labels"
    rule = {"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["DELETE"], "resources": ["*"]}
    message = f"This resource is protected, please make sure to remove the label: {PROTECTED_LABEL}"
    policy = {
        "apiVersion": api, "kind": "ValidatingAdmissionPolicy", "metadata": {"name": "deletion-protection"},
        "spec": {
            "failurePolicy": "Fail",
            "matchConstraints": {"resourceRules": [rule]},
            "validations": [{
                "expression": f"!({labels} && oldObject.metadata.labels['{PROTECTED_LABEL}'] == 'Always')",
                "message": message, "reason": "Forbidden",
            }],
        },
    }  # fmt: skip
    binding = {
        "apiVersion": api, "kind": "ValidatingAdmissionPolicyBinding", "metadata": {"name": "deletion-protection"},
        "spec": {"policyName": "deletion-protection", "validationActions": ["Deny"]},
    }  # fmt: skip
    yield f"/apis/{api}/validatingadmissionpolicies/deletion-protection", policy
    yield f"/apis/{api}/validatingadmissionpolicybindings/deletion-protection", binding


# ---------------------------------------------------------------- processes


def _service_account_key(work: Path) -> None:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    pem = serialization.Encoding.PEM
    secret = key.private_bytes(pem, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption())
    (work / "sa.key").write_bytes(secret)
    public = key.public_key().public_bytes(pem, serialization.PublicFormat.SubjectPublicKeyInfo)
    (work / "sa.pub").write_bytes(public)


def _kubeconfig(url: str, authority: Path, token: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1", "kind": "Config", "current-context": CONTEXT,
        "clusters": [{"name": CONTEXT, "cluster": {"server": url, "certificate-authority": str(authority)}}],
        "users": [{"name": "admin", "user": {"token": token}}],
        "contexts": [{"name": CONTEXT, "context": {"cluster": CONTEXT, "user": "admin"}}],
    }  # fmt: skip


def _free_ports(number: int) -> list[int]:
    sockets = [socket.socket() for _ in range(number)]
    try:
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]
    finally:
        for one in sockets:
            one.close()


def _wait(
    condition: Callable[[], bool], what: str, process: subprocess.Popen[bytes] | None = None, log: Path | None = None
) -> None:
    deadline = time.monotonic() + _STARTS_WITHIN
    while time.monotonic() < deadline:
        if process is not None and process.poll() is not None:
            tail = log.read_text(errors="replace")[-2000:] if log else ""
            raise RuntimeError(f"a process ended while waiting until {what}: {tail}")
        if condition():
            return
        time.sleep(0.1)
    raise RuntimeError(f"not within {_STARTS_WITHIN} s: {what}")


def _stop(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        os.kill(process.pid, signal.SIGTERM)
        try:
            process.wait(_STOPS_WITHIN)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


# ---------------------------------------------------------------- a client without our own code


class RawClient:
    """HTTP with raw data, so that assertions about a server do not depend on the client under test."""

    def __init__(self, endpoint: Endpoint) -> None:
        authority = endpoint.authority.decode()
        self._pool = urllib3.PoolManager(ca_cert_data=authority, maxsize=8)
        self._url = endpoint.url
        self._headers = {"Authorization": f"Bearer {endpoint.token}", "User-Agent": "contract/1"}

    def is_ready(self) -> bool:
        try:
            answer = self._pool.request("GET", f"{self._url}/readyz", headers=self._headers, retries=False, timeout=2)
        except urllib3.exceptions.HTTPError:
            return False
        return answer.status == 200

    def request(
        self,
        method: str,
        path: str,
        *,
        body: Any = None,
        content_type: str = "application/json",
        headers: dict[str, str] | None = None,
        **query: str,
    ) -> tuple[int, Any]:
        """Status and decoded answer; `body` may be bytes."""
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        sent = {**self._headers, **({"Content-Type": content_type} if data is not None else {}), **(headers or {})}
        url = self._url + path + (("?" + urlencode(query)) if query else "")
        answer = self._pool.request(method, url, body=data, headers=sent, retries=False, timeout=20)
        try:
            return answer.status, json.loads(answer.data)
        except ValueError:
            return answer.status, answer.data.decode(errors="replace")

    def get(self, path: str, **query: str) -> tuple[int, Any]:
        return self.request("GET", path, **query)

    def apply(self, path: str, body: Any, *, manager: str = "contract", **query: str) -> tuple[int, Any]:
        """Server-side apply with force."""
        asked = {"fieldManager": manager, "force": "true", **query}
        return self.request("PATCH", path, body=body, content_type="application/apply-patch+yaml", **asked)

    def watch(self, path: str, *, seconds: int, **query: str) -> Iterator[dict[str, Any]]:
        """Events until the server ends the watch."""
        asked = {"watch": "1", "timeoutSeconds": str(seconds), **query}
        answer = self._pool.request(
            "GET", f"{self._url}{path}?{urlencode(asked)}", headers=self._headers,
            preload_content=False, retries=False, timeout=seconds + 10,
        )  # fmt: skip
        rest = b""
        for chunk in answer.stream(4096):
            *lines, rest = (rest + chunk).split(b"\n")
            yield from (json.loads(line) for line in lines if line)
        answer.release_conn()
