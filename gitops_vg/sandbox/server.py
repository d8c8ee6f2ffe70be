"""An Api over HTTP(S): the routes, verbs, media types and forms of answer of a Kubernetes API server."""

from __future__ import annotations

import asyncio
import base64
import json
import logging
import ssl
from collections.abc import Awaitable, Callable
from typing import Any

from aiohttp import web

from gitops_vg.sandbox import discovery, status
from gitops_vg.sandbox.api import Api, PatchType, Write
from gitops_vg.sandbox.faults import Dropped, Faults
from gitops_vg.sandbox.requests import decoded, delete_options, is_dry, json_object, yaml_object
from gitops_vg.sandbox.selectors import field_test, label_test
from gitops_vg.sandbox.store import Object, VersionTooOld
from gitops_vg.sandbox.tables import as_table
from gitops_vg.sandbox.urls import Target, target_of
from gitops_vg.sandbox.watching import stream_watch

_log = logging.getLogger(__name__)

MAX_BODY = 3 * 1024 * 1024
"""As a real API server: larger requests are refused with 413."""

Subresource = Callable[[web.Request, Target], Awaitable[web.StreamResponse]]

_PATCHES: dict[str, PatchType] = {
    "application/merge-patch+json": "merge",
    "application/json-patch+json": "json",
    "application/strategic-merge-patch+json": "strategic",
}
_OPENAPI_PROTOBUF = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
_APPLY = ("application/apply-patch+yaml", "application/apply-patch+cbor")


class Server:
    """Serves one Api. `subresources` adds handlers by (group kind, subresource), for example a proxy."""

    def __init__(self, api: Api, *, token: str | None = None) -> None:
        self.api = api
        self.faults = Faults()
        self.subresources: dict[tuple[str, str], Subresource] = {}
        self.requests = 0
        self._token = token
        self._runner: web.AppRunner | None = None
        self.port = 0

    async def start(self, *, port: int = 0, tls: ssl.SSLContext | None = None) -> None:
        """Listen on loopback; `port` 0 takes a free one."""
        application = web.Application(client_max_size=MAX_BODY)
        application.router.add_route("*", "/{path:.*}", self.answer)
        self._runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.2)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", port, ssl_context=tls, backlog=512)
        await site.start()
        self.port = self._runner.addresses[0][1]

    async def stop(self) -> None:
        """Close every connection and stop listening."""
        if self._runner is None:
            return
        # A TLS connection closes politely, which outlives the event loop: idle clients are cut off instead.
        for connection in self._runner.server.connections if self._runner.server is not None else ():
            if connection.transport is not None:
                connection.transport.abort()
        await self._runner.cleanup()
        await asyncio.sleep(0)
        self._runner = None

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """Any request, with failures as Status objects; a proxy in front passes its requests here."""
        self.requests += 1
        warnings: list[str] = []
        try:
            if self._token is not None and request.headers.get("Authorization") != f"Bearer {self._token}":
                raise status.StatusError(401, "Unauthorized", "Unauthorized")
            drop = await self.faults.before(request.method, request.path, continues="continue" in request.query)
            response = await self._route(request, warnings)
            if drop:
                raise Dropped
        except Dropped:
            if request.transport is not None:
                request.transport.abort()
            return web.Response(status=500)
        except status.StatusError as error:
            response = _json(error.body, code=error.code)
            if error.retry_after is not None:
                response.headers["Retry-After"] = str(error.retry_after)
        except ConnectionError:
            return web.Response(status=500)  # The client left; nobody reads this.
        except web.HTTPRequestEntityTooLarge:
            text = f"Request entity too large: limit is {MAX_BODY}"
            response = _json(status.StatusError(413, "RequestEntityTooLarge", text).body, code=413)
        except Exception:
            _log.exception("%s %s", request.method, request.path)
            text = "this request caused the API server to fail; its log says where"
            response = _json(status.StatusError(500, "InternalError", text).body, code=500)
        for warning in warnings:
            if not response.prepared:
                response.headers.add("Warning", f'299 - "{warning}"')
        return response

    # ------------------------------------------------------------ routes

    async def _route(self, request: web.Request, warnings: list[str]) -> web.StreamResponse:
        path = request.path.rstrip("/") or "/"
        plain = self._about(request, path)
        if plain is not None:
            return plain
        target = target_of(path, catalog=self.api.catalog)
        if target is None:
            if path.startswith("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"):
                return await _allow_all(request)
            return web.Response(status=404, text="404 page not found\n")
        kind = target.kind
        if target.subresource:
            handler = self.subresources.get((str(kind.group_kind), target.subresource))
            if handler is not None:
                return await handler(request, target)
            if target.subresource not in discovery.subresources(kind):
                return web.Response(status=404, text="404 page not found\n")
        if request.method == "GET":
            return await self._read(request, target)
        return await self._write(request, target, warnings)

    def _about(self, request: web.Request, path: str) -> web.Response | None:
        """Answers that are about the server itself."""
        catalog = self.api.catalog
        merged = "apidiscovery.k8s.io" in request.headers.get("Accept", "")
        content = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
        if path in ("/healthz", "/readyz", "/livez"):
            return web.Response(text="ok")
        if path == "/version":
            return _json(discovery.VERSION)
        if path == "/api":
            if merged:
                return _json(discovery.aggregated(catalog, core=True), content_type=content)
            return _json({"kind": "APIVersions", "versions": ["v1"]})
        if path == "/apis":
            if merged:
                return _json(discovery.aggregated(catalog, core=False), content_type=content)
            return _json(discovery.group_list(catalog))
        if path in ("/openapi/v2", "/swagger.json"):
            if "protobuf" in request.headers.get("Accept", ""):
                # An empty message is a document without definitions: older kubectl then validates nothing itself.
                return web.Response(body=b"", content_type=_OPENAPI_PROTOBUF)
            return _json(discovery.openapi_v2())
        if path == "/openapi/v3":
            return _json(discovery.openapi_v3_index(catalog))
        if path.startswith("/openapi/v3/"):
            found = discovery.openapi_v3(catalog, path.removeprefix("/openapi/v3/"))
            return _json(found) if found else web.Response(status=404, text="404 page not found\n")
        return self._group(path)

    def _group(self, path: str) -> web.Response | None:
        parts = path.strip("/").split("/")
        found = None
        if parts == ["api", "v1"]:
            found = discovery.resource_list(self.api.catalog, "", "v1")
        elif parts[0] == "apis" and len(parts) == 3:
            found = discovery.resource_list(self.api.catalog, parts[1], parts[2])
        elif parts[0] == "apis" and len(parts) == 2 and parts[1] in discovery.groups(self.api.catalog):
            found = {"kind": "APIGroup", "apiVersion": "v1", **discovery.group(self.api.catalog, parts[1])}
        return _json(found) if found is not None else None

    # ------------------------------------------------------------ reading

    async def _read(self, request: web.Request, target: Target) -> web.StreamResponse:
        kind, query = target.kind, request.query
        if target.name and query.get("watch") not in ("1", "true"):
            body = self.api.get(kind, target.namespace, target.name)
            if _wants_table(request):
                return _json(as_table(kind, [body], metadata={"resourceVersion": body["metadata"]["resourceVersion"]}))
            return web.Response(body=self.api.store.encoded(kind, body), content_type="application/json")
        if query.get("watch") in ("1", "true"):
            labels, fields = label_test(query.get("labelSelector", "")), field_test(query.get("fieldSelector", ""))
            return await stream_watch(request, target, api=self.api, wanted=lambda body: labels(body) and fields(body))
        return self._list(request, target)

    def _list(self, request: web.Request, target: Target) -> web.Response:
        kind, query = target.kind, request.query
        labels, fields = label_test(query.get("labelSelector", "")), field_test(query.get("fieldSelector", ""))
        store, limit, token = self.api.store, _number(query.get("limit", "0"), "limit"), query.get("continue", "")
        version = store.version
        if token:
            version, last = _decode_token(token)
            try:
                # All pages show the state of the first.
                items = store.items_at(kind, version, namespace=target.namespace)
            except VersionTooOld:
                raise _expired() from None
            items = [body for body in items if _place(body) > last]
        else:
            items = store.items(kind, namespace=target.namespace)
        items = [body for body in items if labels(body) and fields(body)]
        metadata: Object = {"resourceVersion": str(version)}
        if limit and len(items) > limit:
            metadata["remainingItemCount"] = len(items) - limit
            items = items[:limit]
            metadata["continue"] = _encode_token(version, _place(items[-1]))
        if _wants_table(request):
            return _json(as_table(kind, items, metadata=metadata))
        head = json.dumps({"kind": f"{kind.kind}List", "apiVersion": kind.api_version, "metadata": metadata})
        # Items of a list of Go types have no type of their own; those of custom resources do.
        skip = 0 if kind.is_crd else len(f'"apiVersion":"{kind.api_version}","kind":"{kind.kind}",')
        texts = (self.api.store.encoded(kind, item) for item in items)
        body = b",".join(b"{" + text[1 + skip :] if skip else text for text in texts)
        return web.Response(body=head[:-1].encode() + b', "items": [' + body + b"]}", content_type="application/json")

    # ------------------------------------------------------------ writing

    async def _write(self, request: web.Request, target: Target, warnings: list[str]) -> web.StreamResponse:
        kind, query, method = target.kind, request.query, request.method
        write = Write(
            manager=query.get("fieldManager") or request.headers.get("User-Agent", "unknown").split("/")[0],
            dry_run=is_dry(query.get("dryRun", "")),
            validation=_field_validation(query.get("fieldValidation", "Warn")),
            subresource=target.subresource,
            warnings=warnings,
        )
        if kind.namespaced and not target.namespace:
            raise _not_allowed()
        if method == "DELETE":
            return await self._delete(request, target, write)
        if method == "POST" and not target.name:
            body = await json_object(request)
            return _json(self.api.create(kind, body, namespace=target.namespace, write=write), code=201)
        if method == "PUT" and target.name:
            body = await json_object(request)
            return _json(self.api.update(kind, body, namespace=target.namespace, name=target.name, write=write))
        if method == "PATCH" and target.name:
            return await self._patch(request, target, write)
        raise _not_allowed()

    async def _patch(self, request: web.Request, target: Target, write: Write) -> web.Response:
        kind, media = target.kind, request.content_type
        if media in _APPLY:
            if not request.query.get("fieldManager"):
                raise _no_manager()
            body = await yaml_object(request)
            _check_applied(kind.api_version, kind.kind, target.name, body)
            existed = self.api.find(kind, target.namespace, target.name) is not None
            force = request.query.get("force", "false") in ("true", "1")
            result = self.api.apply(
                kind, target.namespace, target.name, body, manager=write.manager, force=force, write=write
            )
            return _json(result, code=200 if existed else 201)
        if media not in _PATCHES:
            raise status.StatusError(415, "UnsupportedMediaType", "415: Unsupported Media Type", details={})
        patch = await decoded(request)
        return _json(
            self.api.patch(kind, target.namespace, target.name, patch, patch_type=_PATCHES[media], write=write)
        )

    async def _delete(self, request: web.Request, target: Target, write: Write) -> web.Response:
        options = delete_options(await decoded(request) if request.can_read_body else {}, query=request.query)
        write.dry_run = options.dry_run
        if target.name:
            result = self.api.delete(
                target.kind, target.namespace, target.name, uid=options.uid,
                resource_version=options.resource_version, propagation=options.propagation,
                dry_run=write.dry_run, manager=write.manager,
            )  # fmt: skip
            return _json(result)
        items = self.api.list(
            target.kind, namespace=target.namespace, label_selector=request.query.get("labelSelector", ""),
            field_selector=request.query.get("fieldSelector", ""),
        )  # fmt: skip
        for body in items:
            metadata = body["metadata"]
            self.api.delete(
                target.kind, metadata.get("namespace", ""), metadata["name"], propagation=options.propagation,
                dry_run=write.dry_run, manager=write.manager,
            )  # fmt: skip
        metadata = {"resourceVersion": str(self.api.store.version)}
        return _json({"kind": f"{target.kind.kind}List", "apiVersion": target.kind.api_version,
                      "metadata": metadata, "items": items})  # fmt: skip


# ---------------------------------------------------------------- requests and answers


def _json(body: Any, *, code: int = 200, content_type: str = "application/json") -> web.Response:
    text = json.dumps(body, separators=(",", ":")).encode()
    return web.Response(status=code, body=text, headers={"Content-Type": content_type})


def _check_applied(api_version: str, kind: str, name: str, body: Object) -> None:
    group, _, version = str(body.get("apiVersion", "")).rpartition("/")
    if body.get("kind") != kind or body.get("apiVersion") != api_version:
        raise status.bad_request(f"invalid object type: {group}/{version}, Kind={body.get('kind', '')}")
    metadata = body.get("metadata")
    if not isinstance(metadata, dict) or not metadata.get("name"):
        raise status.bad_request(
            f"the name of the object ({name} based on URL) was undeterminable: name must be provided"
        )


def _no_manager() -> status.StatusError:
    cause = {
        "reason": "FieldValueRequired",
        "message": "Required value: is required for apply patch",
        "field": "fieldManager",
    }
    return status.StatusError(
        422, "Invalid",
        'PatchOptions.meta.k8s.io "" is invalid: fieldManager: Required value: is required for apply patch',
        details={"group": "meta.k8s.io", "kind": "PatchOptions", "causes": [cause]},
    )  # fmt: skip


def _field_validation(value: str) -> Any:
    if value not in ("Strict", "Warn", "Ignore"):
        raise status.bad_request(f'fieldValidation: Unsupported value: "{value}"')
    return value


def _not_allowed() -> status.StatusError:
    return status.StatusError(
        405, "MethodNotAllowed", "the server does not allow this method on the requested resource"
    )


def _number(text: str, what: str) -> int:
    try:
        return max(0, int(text))
    except ValueError:
        raise status.bad_request(f"{what} is not a number: {text}") from None


def _wants_table(request: web.Request) -> bool:
    return "as=Table" in request.headers.get("Accept", "")


def _place(body: Object) -> tuple[str, str]:
    return (body["metadata"].get("namespace", ""), body["metadata"]["name"])


def _expired() -> status.StatusError:
    text = "The provided continue parameter is too old to display a consistent list result. Start a new list."
    return status.StatusError(410, "Expired", text)


def _encode_token(version: int, last: tuple[str, str]) -> str:
    return base64.urlsafe_b64encode(json.dumps([version, *last]).encode()).decode().rstrip("=")


def _decode_token(token: str) -> tuple[int, tuple[str, str]]:
    try:
        version, namespace, name = json.loads(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))
        return int(version), (str(namespace), str(name))
    except (ValueError, TypeError) as error:
        raise status.bad_request(f"invalid continue token: continue key is not valid: {error}") from error


async def _allow_all(request: web.Request) -> web.Response:
    # kubectl asks in protobuf; the answer is the same whatever it asked.
    body = {} if "protobuf" in request.content_type else await json_object(request)
    review = {"kind": "SelfSubjectAccessReview", "apiVersion": "authorization.k8s.io/v1"}
    return _json({**review, **body, "status": {"allowed": True}}, code=201)
