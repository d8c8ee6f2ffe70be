"""A small client of one API server of the sandbox, which keeps its connection."""

from __future__ import annotations

import http.client
import json
from dataclasses import dataclass
from typing import Any

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"


def config_map(name: str, **data: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": "default", "labels": {"app": name}},
        "data": data,
    }


@dataclass
class Client:
    """Requests to one server over one connection."""

    port: int
    token: str

    def __post_init__(self) -> None:
        self.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)

    def request(
        self, method: str, path: str, body: Any = None, *, media: str = "application/json", accept: str = "*/*"
    ) -> tuple[int, Any]:
        """Status and decoded answer. A body of bytes goes as it is."""
        content = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": media, "Accept": accept}
        self.connection.request(method, path, content, headers)
        answer = self.connection.getresponse()
        text = answer.read()
        return answer.status, json.loads(text) if text[:1] in (b"{", b"[") else text.decode()

    def apply(self, body: dict[str, Any], *, manager: str = "me") -> tuple[int, Any]:
        path = f"{CONFIG_MAPS}/{body['metadata']['name']}?fieldManager={manager}&force=true"
        return self.request("PATCH", path, body, media="application/apply-patch+yaml")

    def close(self) -> None:
        self.connection.close()
