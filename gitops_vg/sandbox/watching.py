"""A watch: events of one resource as a stream of JSON lines, from a version on, with bookmarks."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable

from aiohttp import web

from gitops_vg.sandbox import status
from gitops_vg.sandbox.api import Api
from gitops_vg.sandbox.store import Event, Object, VersionTooNew, VersionTooOld
from gitops_vg.sandbox.urls import Target

_LONGEST = 1800.0
_BOOKMARK_EVERY = 15.0
_QUEUE = 10_000
"""A client that is this many events behind is cut off: it has to list again."""


async def stream_watch(
    request: web.Request, target: Target, *, api: Api, wanted: Callable[[Object], bool]
) -> web.StreamResponse:
    """Answer a watch until its time is up or the client leaves."""
    query = request.query
    kind = target.kind
    deadline = asyncio.get_running_loop().time() + _seconds(query.get("timeoutSeconds", ""))
    bookmarks = query.get("allowWatchBookmarks") in ("1", "true")
    events: asyncio.Queue[Event] = asyncio.Queue(_QUEUE)
    overflow = asyncio.Event()

    def note(event: Event) -> None:
        if event.kind is kind:
            try:
                events.put_nowait(event)
            except asyncio.QueueFull:
                overflow.set()

    def fits(body: Object) -> bool:
        metadata = body["metadata"]
        return (
            (not target.namespace or metadata.get("namespace") == target.namespace)
            and (not target.name or metadata["name"] == target.name)
            and wanted(body)
        )

    unsubscribe = api.store.subscribe(note)
    try:
        start = _backlog(api, target, query.get("resourceVersion", ""), fits)
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        if isinstance(start, status.StatusError):
            await _send(response, {"type": "ERROR", "object": start.body})
            return response
        for known in start:
            await response.write(known)
        while not overflow.is_set():
            left = deadline - asyncio.get_running_loop().time()
            if left <= 0:
                break
            try:
                event = await asyncio.wait_for(events.get(), min(left, _BOOKMARK_EVERY))
            except TimeoutError:
                if bookmarks and deadline > asyncio.get_running_loop().time():
                    await response.write(_bookmark(api, target))
                continue
            line = _line(api, event, fits)
            if line is not None:
                await response.write(line)
        return response
    except (ConnectionResetError, ConnectionError):
        return response
    finally:
        unsubscribe()


def _seconds(text: str) -> float:
    """How long a watch lasts. Raises StatusError 400 for what is no count of seconds."""
    if not text:
        return _LONGEST
    if not text.isascii() or not text.isdigit():
        raise status.bad_request(f'strconv.ParseInt: parsing "{text}": invalid syntax')
    return min(float(text) or _LONGEST, _LONGEST)


def _backlog(
    api: Api, target: Target, version: str, fits: Callable[[Object], bool]
) -> list[bytes] | status.StatusError:
    """What happened since `version`; without one, everything there is as ADDED."""
    if version in ("", "0"):
        items = api.store.items(target.kind, namespace=target.namespace)
        return [_added(api, target, body) for body in items if fits(body)]
    try:
        events = api.store.since(target.kind, int(version))
    except VersionTooNew:
        raise status.too_new(version, api.store.version) from None
    except VersionTooOld:
        text = f"too old resource version: {version} ({api.store.version})"
        return status.StatusError(410, "Expired", text)
    except ValueError:
        return status.bad_request(f'Invalid value: "{version}": resourceVersion is not a number')
    return [line for event in events if (line := _line(api, event, fits)) is not None]


def _added(api: Api, target: Target, body: Object) -> bytes:
    return b'{"type":"ADDED","object":' + api.store.encoded(target.kind, body) + b"}\n"


def _line(api: Api, event: Event, fits: Callable[[Object], bool]) -> bytes | None:
    """The event as the watcher sees it: an object that stops to fit is deleted for him, and the reverse."""
    now = event.type != "DELETED" and fits(event.object)
    before = event.old is not None and fits(event.old)
    if not now and not before:
        return None
    kind = "DELETED" if not now else "MODIFIED" if before else "ADDED"
    return b'{"type":"' + kind.encode() + b'","object":' + api.store.encoded(event.kind, event.object) + b"}\n"


def _bookmark(api: Api, target: Target) -> bytes:
    body = {
        "kind": target.kind.kind,
        "apiVersion": target.kind.api_version,
        "metadata": {"resourceVersion": str(api.store.version), "creationTimestamp": None},
    }
    return json.dumps({"type": "BOOKMARK", "object": body}).encode() + b"\n"


async def _send(response: web.StreamResponse, message: object) -> None:
    await response.write(json.dumps(message).encode() + b"\n")
