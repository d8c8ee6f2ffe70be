"""The embedded control plane as a whole: one karmada-apiserver and its members, on loopback."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import secrets
import shutil
import tempfile
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import yaml

from gitops_vg.apis import Catalog, catalog
from gitops_vg.sandbox.api import Api
from gitops_vg.sandbox.builtin import install_builtin
from gitops_vg.sandbox.certificates import Certificates, make_certificates
from gitops_vg.sandbox.members import MemberSpec, sample_members
from gitops_vg.sandbox.server import Server
from gitops_vg.sandbox.store import Store

if TYPE_CHECKING:
    from gitops_vg.sandbox.karmada import Controllers, Member

KARMADA = "karmada-apiserver"
_KARMADA_GROUPS = ("policy.karmada.io", "work.karmada.io", "cluster.karmada.io", "config.karmada.io", "apps.karmada.io",
                   "autoscaling.karmada.io", "networking.karmada.io", "remedy.karmada.io", "multicluster.x-k8s.io")  # fmt: skip
_READY_WITHIN = 20.0

Result = TypeVar("Result")


class Sandbox:
    """A running embedded control plane. `start` gives one in a background thread; `stop` ends it.

    `kubeconfig` is a file with a context for karmada-apiserver and one for each member.
    """

    def __init__(
        self,
        *,
        members: tuple[MemberSpec, ...] | None = None,
        state_dir: Path | None = None,
        job_seconds: float = 30.0,
        tls: bool = True,
        port: int = 0,
        kubeconfig: Path | None = None,
        karmada: bool = True,
    ) -> None:
        self.members = sample_members() if members is None else members
        self.job_seconds = job_seconds
        self.apis: dict[str, Api] = {}
        self.servers: dict[str, Server] = {}
        self._folder = Path(tempfile.mkdtemp(prefix="gitops-vg-sandbox-"))
        self._state_dir = state_dir
        self._port = port
        self._karmada = karmada
        self._token = secrets.token_urlsafe(24)
        self._certificates: Certificates | None = make_certificates(self._folder) if tls else None
        self.kubeconfig = kubeconfig or self._folder / "kubeconfig"
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._ready: Future[None] = Future()
        self._stopping: asyncio.Event | None = None
        self.controllers: Controllers | None = None

    # ------------------------------------------------------------ starting and stopping

    @classmethod
    def start(cls, **settings: Any) -> Sandbox:
        """A sandbox in a background thread, ready to answer. Settings as of the constructor."""
        sandbox = cls(**settings)
        sandbox._thread = threading.Thread(target=sandbox.run, name="sandbox", daemon=True)
        sandbox._thread.start()
        sandbox._ready.result(timeout=_READY_WITHIN)
        return sandbox

    def run(self, ready: Callable[[], None] = lambda: None) -> None:
        """Serve in this thread until `stop`; `ready` is called once everything answers."""
        try:
            asyncio.run(self._serve(ready))
        except BaseException as error:
            if self._thread is None or self._ready.done():
                raise
            self._ready.set_exception(error)  # `start` waits for it, and raises it.
        finally:
            shutil.rmtree(self._folder, ignore_errors=True)

    def stop(self) -> None:
        """Stop serving; state on disk stays."""
        if self._loop is not None and self._stopping is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._stopping.set)
        if self._thread is not None:
            self._thread.join(timeout=10)

    def __enter__(self) -> Sandbox:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    async def _serve(self, ready: Callable[[], None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._stopping = asyncio.Event()
        try:
            self._build()
            tls = self._certificates.context() if self._certificates else None
            for name, server in self.servers.items():
                await server.start(port=self._port if name == KARMADA else 0, tls=tls)
            if self._karmada:
                from gitops_vg.sandbox.karmada import install

                self.controllers = install(self)
            self._write_kubeconfig()
            ready()
            self._ready.set_result(None)
            await self._stopping.wait()
        finally:
            if self.controllers is not None:
                await self.controllers.stop()
            for server in self.servers.values():
                await server.stop()
            for api in self.apis.values():
                api.store.close()

    def _build(self) -> None:
        served = catalog()
        self._add(KARMADA, served)
        for member in self.members:
            api = self._add(member.name, served.without(*_KARMADA_GROUPS))
            kind = api.kind("", "Node")
            for node in member.nodes:
                if api.find(kind, "", node.name) is None:
                    # Node status comes from its kubelet, by the status subresource.
                    api.create(kind, node.manifest, manager="kubelet")
                    api.patch(
                        kind,
                        "",
                        node.name,
                        {"status": node.manifest["status"]},
                        subresource="status",
                        manager="kubelet",
                    )

    def _add(self, name: str, served: Catalog) -> Api:
        path = None
        if self._state_dir is not None:
            self._state_dir.mkdir(parents=True, exist_ok=True)
            path = self._state_dir / f"{name}.sqlite"
        api = self.apis[name] = Api(served, Store(path=path), name=name)
        install_builtin(api)
        self.servers[name] = Server(api, token=self._token)
        return api

    # ------------------------------------------------------------ using it

    @property
    def karmada(self) -> Api:
        return self.apis[KARMADA]

    @property
    def server(self) -> Server:
        """The server of karmada-apiserver; `.faults` takes faults on order."""
        return self.servers[KARMADA]

    def member(self, name: str) -> Member:
        """A member as Karmada sees it, to cut off (`down`) and bring back (`up`)."""
        assert self.controllers is not None, "this sandbox runs without Karmada's controllers"
        return self.controllers.member(name)

    def url(self, name: str = KARMADA) -> str:
        """The address of one API server."""
        scheme = "https" if self._certificates else "http"
        return f"{scheme}://127.0.0.1:{self.servers[name].port}"

    @property
    def token(self) -> str:
        """The bearer token of every server of this run."""
        return self._token

    @property
    def authority(self) -> bytes | None:
        """The PEM of the certificate authority, None without TLS."""
        return self._certificates.authority if self._certificates else None

    def call(self, function: Callable[[], Result]) -> Result:
        """Run `function` in the event loop and give its result; the only safe way to touch `apis` from outside."""
        assert self._loop is not None
        done: Future[Result] = Future()

        def work() -> None:
            try:
                done.set_result(function())
            except BaseException as error:
                done.set_exception(error)

        self._loop.call_soon_threadsafe(work)
        return done.result(timeout=30)

    def _write_kubeconfig(self) -> None:
        cluster: dict[str, Any] = {}
        if self._certificates:
            cluster["certificate-authority-data"] = base64.b64encode(self._certificates.authority).decode()
        names = list(self.servers)
        config: Mapping[str, Any] = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": KARMADA,
            "clusters": [{"name": name, "cluster": {"server": self.url(name), **cluster}} for name in names],
            "users": [{"name": "sandbox", "user": {"token": self._token}}],
            "contexts": [{"name": name, "context": {"cluster": name, "user": "sandbox"}} for name in names],
        }
        self.kubeconfig.parent.mkdir(parents=True, exist_ok=True)
        # Whoever reads it meanwhile sees the old one or the new one, never a part.
        draft = self.kubeconfig.with_name(f".{self.kubeconfig.name}.{os.getpid()}")
        draft.touch(mode=0o600)
        draft.write_text(yaml.safe_dump(json.loads(json.dumps(config)), sort_keys=False), encoding="utf-8")
        draft.replace(self.kubeconfig)
