"""HTTP to one API server: credentials and TLS by the kubernetes package, retries and deadlines ours."""

from __future__ import annotations

import json
import os
import ssl
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from gitops_vg.errors import ClusterError, Forbidden, Unavailable, UsageError
from gitops_vg.kube.errors import error_of

CONNECT_SECONDS = 5.0
READ_SECONDS = 30.0
_ATTEMPTS = 4
_FIRST_PAUSE, _LONGEST_PAUSE = 0.2, 5.0
_IN_CLUSTER_TOKEN = Path("/var/run/secrets/kubernetes.io/serviceaccount/token")


class _Untrusted(Unavailable):
    """The server's certificate is not trusted: it stays so, however often it is asked."""


class Transport:
    """Sends requests to one server. Safe for many threads.

    Every method raises a ClusterError of the answer, or Unavailable when there was none.
    """

    def __init__(
        self,
        *,
        host: str,
        pool: Any,
        headers: Callable[[], Mapping[str, str]],
        impersonate: str | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.host = host.rstrip("/")
        self._pool = pool
        self._headers = headers
        self._impersonate = impersonate
        self._sleep = sleep

    def request(
        self,
        method: str,
        path: str,
        *,
        what: str,
        query: Mapping[str, str] | None = None,
        body: Any = None,
        content_type: str = "application/json",
        accept: str = "application/json",
        idempotent: bool = True,
    ) -> Any:
        """One request and its JSON answer.

        Idempotent requests are sent again after a lost connection, 429 and 5xx, a few times and
        with growing pauses; a create is not, since it may have happened.
        """
        data = None if body is None else json.dumps(body, separators=(",", ":")).encode()
        pause = _FIRST_PAUSE
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                response = self._send(method, path, what, query, data, content_type, accept)
                if response.status < 300:
                    return _decoded(response.data, what=what)
                raise error_of(response.status, response.data, response.headers, what=what)
            except Unavailable as error:
                again = (idempotent or error.status == 429) and not isinstance(error, _Untrusted)
                if attempt == _ATTEMPTS or not again:
                    raise
                self._sleep(min(error.retry_after or pause, _LONGEST_PAUSE))
                pause *= 2
        raise AssertionError("unreachable: the last attempt returns or raises")

    def lines(self, path: str, *, what: str, query: Mapping[str, str], silence: float) -> Iterator[bytes]:
        """The lines of a streamed answer; ends when it is ended, breaks, or brings no byte for `silence` seconds."""
        import urllib3

        response = self._send("GET", path, what, query, None, "", "application/json", stream=True, read=silence)
        try:
            if response.status >= 300:
                raise error_of(response.status, response.read(), response.headers, what=what)
            rest = b""
            for chunk in response.stream(65536, decode_content=True):
                *whole, rest = (rest + chunk).split(b"\n")
                yield from (line for line in whole if line)
        except (urllib3.exceptions.HTTPError, OSError):
            # Broken, or silent for too long (as a half-open connection is): the caller makes a new one.
            return
        finally:
            response.close()

    def pause(self, seconds: float) -> None:
        if seconds > 0:
            self._sleep(seconds)

    def _send(
        self,
        method: str,
        path: str,
        what: str,
        query: Mapping[str, str] | None,
        data: bytes | None,
        content_type: str,
        accept: str,
        *,
        stream: bool = False,
        read: float = READ_SECONDS,
    ) -> Any:
        import urllib3
        from urllib3.util import Timeout

        headers = {"Accept": accept, "User-Agent": "gitops-vg", **self._credentials(what)}
        if data is not None:
            headers["Content-Type"] = content_type
        if self._impersonate:
            headers["Impersonate-User"] = self._impersonate
        url = self.host + path
        if query:
            from urllib.parse import urlencode

            url += "?" + urlencode(query)
        try:
            return self._pool.request(
                method, url, body=data, headers=headers, preload_content=not stream, retries=False, redirect=False,
                timeout=Timeout(connect=CONNECT_SECONDS, read=read),
            )  # fmt: skip
        except (urllib3.exceptions.HTTPError, OSError) as error:
            raise self._unreachable(error, what=what) from error

    def _credentials(self, what: str) -> Mapping[str, str]:
        """Headers with the token of now. Raises Forbidden when a plugin cannot renew it."""
        try:
            return self._headers()
        except Exception as error:
            # Whatever a plugin of the kubeconfig raises; its text may show a token and is left out.
            raise Forbidden(
                f"{what}: the credentials of the kubeconfig cannot be renewed ({type(error).__name__})",
                hint="run the same command with kubectl to see what its plugin says",
            ) from None

    def _unreachable(self, error: Exception, *, what: str) -> Unavailable:
        """Why there was no answer, in words of the network and not of a library."""
        cause: BaseException = error
        seen = set()
        while (inner := getattr(cause, "reason", None) or cause.__cause__ or cause.__context__) and id(
            inner
        ) not in seen:
            if not isinstance(inner, BaseException):
                break
            seen.add(id(inner))
            cause = inner
        text = str(cause)
        if isinstance(cause, ssl.SSLError) or "certificate" in text:
            return _Untrusted(
                f"{what}: {self.host} did not answer: its certificate is not trusted",
                hint="check certificate-authority-data of the kubeconfig",
            )
        if "refused" in text:
            why, hint = "nothing listens there", "is the control plane running, and is the address right?"
        elif "Name or service not known" in text or "resolve" in text or "getaddrinfo" in text:
            why, hint = "the name is not known", "check the server of the kubeconfig"
        elif "timed out" in text:
            why, hint = "no answer in time", "is the network or the server overloaded?"
        else:
            why, hint = "the connection broke", "try again in a moment"
        return Unavailable(f"{what}: {self.host} did not answer: {why}", hint=hint)


def _decoded(raw: bytes, *, what: str) -> Any:
    if not raw:
        return {}
    try:
        return json.loads(raw)
    except ValueError:
        raise ClusterError(f"{what}: the answer is not JSON", hint="is this the address of an API server?") from None


def transport_of(*, kubeconfig: str | None, context: str | None, impersonate: str | None) -> Transport:
    """The transport of a kubeconfig's context, or of the pod we run in.

    Raises UsageError for a kubeconfig that cannot be used.
    """
    configuration = _configuration(kubeconfig, context)
    from kubernetes.client import ApiClient

    try:
        client = ApiClient(configuration)
        _try_certificates(configuration)
    except (OSError, ValueError, TypeError) as error:
        raise UsageError(
            f"the certificates in {_place(kubeconfig)} cannot be used: {type(error).__name__}",
            hint="check certificate-authority-data, client-certificate-data and client-key-data",
        ) from None

    def headers() -> Mapping[str, str]:
        # Asked anew each time: tokens of pods and of exec plugins are renewed behind this call.
        return {
            setting["key"]: setting["value"] for setting in configuration.auth_settings().values() if setting["value"]
        }

    return Transport(
        host=configuration.host, pool=client.rest_client.pool_manager, headers=headers, impersonate=impersonate
    )


def _try_certificates(configuration: Any) -> None:
    """Load them once now: the pool would do so at the first request, as if the server were at fault."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if configuration.ssl_ca_cert:
        context.load_verify_locations(configuration.ssl_ca_cert)
    if configuration.cert_file:
        context.load_cert_chain(configuration.cert_file, configuration.key_file)


def _place(kubeconfig: str | None) -> str:
    return kubeconfig or os.environ.get("KUBECONFIG") or "the usual place (~/.kube/config)"


def _configuration(kubeconfig: str | None, context: str | None) -> Any:
    from kubernetes import client, config
    from kubernetes.config.config_exception import ConfigException

    configuration = client.Configuration()
    configuration.connection_pool_maxsize = 32
    place = _place(kubeconfig)
    named = kubeconfig or os.environ.get("KUBECONFIG")
    try:
        if not named and not (Path.home() / ".kube/config").exists() and _IN_CLUSTER_TOKEN.exists():
            config.load_incluster_config(client_configuration=configuration)  # type: ignore[no-untyped-call]
            return configuration
        config.load_kube_config(  # type: ignore[no-untyped-call]
            config_file=named, context=context, client_configuration=configuration, persist_config=False
        )
    except ConfigException as error:
        text = str(error)
        if "context" in text and context:
            raise UsageError(
                f"{place} has no context {context}",
                hint="`kubectl config get-contexts` lists them; name one with --context",
            ) from None
        raise UsageError(
            f"no usable kubeconfig in {place}", hint="name it with --kubeconfig, or set KUBECONFIG"
        ) from None
    except Exception as error:
        raise UsageError(
            f"the kubeconfig in {place} cannot be read: {type(error).__name__}", hint="check that it is a kubeconfig"
        ) from None
    return configuration
