"""The rendered tree: what is in it, how it is written, and how it is read back and proven whole."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property
from typing import Any

import yaml

from gitops_vg import __version__
from gitops_vg.capacity import Snapshot, snapshot_from_json, snapshot_to_json
from gitops_vg.compiler import dump_yaml
from gitops_vg.errors import GitError, InputError
from gitops_vg.intents.fleet import Intents
from gitops_vg.objects import Manifest
from gitops_vg.placement import PlacementLock, lock_from_data, lock_to_data

MANIFEST = "MANIFEST.json"
LOCK = "placements.lock.yaml"
SNAPSHOT = "snapshot.json"
APPROVALS = "approvals.json"
SETTINGS = "settings.json"
_MANIFESTS = "manifests/"
_BESIDE = frozenset({MANIFEST, LOCK, SNAPSHOT, APPROVALS, SETTINGS})

_LOADER: type[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

_UNREADABLE = (KeyError, ValueError, TypeError, AttributeError, RecursionError, yaml.YAMLError, InputError)
"""What content raises that is not what we once wrote there."""

Files = Mapping[str, bytes]
"""Content by path in the rendered tree."""


@dataclass(frozen=True)
class ApprovalRecord:
    """An Approval as `sync` knows it."""

    name: str
    plan: str
    reason: str
    expires: date

    def holds(self, digest: str, *, today: date) -> bool:
        """Whether it opens this plan on this day."""
        return self.plan == digest and today <= self.expires


@dataclass(frozen=True)
class TreeSettings:
    """What `sync` needs of the Fleet."""

    fleet: str
    max_count: int = 10
    max_percent: int = 5


@dataclass(frozen=True)
class Document:
    """One file of a tree: its content and the sha256 of it; as YAML, and as a manifest, when asked for."""

    raw: bytes
    digest: str

    @cached_property
    def data(self) -> Any:
        """The content as YAML. Raises yaml.YAMLError, ValueError."""
        return yaml.load(self.raw, Loader=_LOADER)

    @cached_property
    def manifest(self) -> Manifest:
        return Manifest(self.data)


@dataclass(frozen=True)
class RenderedTree:
    """One committed rendered tree, every file of it verified against its own MANIFEST."""

    commit: str
    lock: PlacementLock
    settings: TreeSettings
    approvals: tuple[ApprovalRecord, ...] = ()
    snapshot: Snapshot | None = None
    source: str = ""
    """The commit of the intents it was made from."""
    foreign: tuple[str, ...] = ()
    """Files in the branch that somebody else put there; they are left alone."""
    documents: Mapping[str, Document] = field(default_factory=dict, repr=False)
    """Every file the tool wrote, by path."""

    @cached_property
    def manifests(self) -> tuple[Manifest, ...]:
        """All manifests, sorted by identity. Raises GitError for content that is no manifest of its path."""
        return self._read(self.manifest_paths)

    @property
    def manifest_paths(self) -> tuple[str, ...]:
        return tuple(path for path in self.documents if path.startswith(_MANIFESTS))

    def replaced_by(self, files: Files) -> tuple[Manifest, ...]:
        """The manifests that would change or go if `files` came after this tree; the rest is not even parsed."""
        digests = {path: sha256(files[path]) if path in files else "" for path in self.manifest_paths}
        return self._read(path for path, digest in digests.items() if digest != self.documents[path].digest)

    def _read(self, paths: Iterable[str]) -> tuple[Manifest, ...]:
        found = []
        for path in paths:
            try:
                manifest = self.documents[path].manifest
                if manifest.path != path:
                    raise ValueError(f"it is {manifest.key}")
            except _UNREADABLE as error:
                raise damaged(self.commit, f"{path} cannot be read ({error})") from None
            found.append(manifest)
        return tuple(sorted(found, key=lambda manifest: manifest.key))


def may_be_ours(path: str) -> bool:
    """Whether the tool writes files of this name; whether it wrote this one says MANIFEST.json."""
    return path in _BESIDE or path.startswith(_MANIFESTS)


def render_files(
    intents: Intents, *, manifests: Iterable[Manifest], lock: PlacementLock, snapshot: Snapshot
) -> dict[str, bytes]:
    """Every file of the rendered tree but MANIFEST.json."""
    approvals = [
        {"name": approval.name, "plan": approval.spec.plan, "reason": approval.spec.reason,
         "expires": approval.spec.expires.isoformat()}
        for approval in intents.approvals
    ]  # fmt: skip
    deletes = intents.fleet.spec.deletes
    settings = {
        "fleet": intents.fleet.name,
        "deletes": {"maxCount": deletes.max_count, "maxPercent": deletes.max_percent},
    }
    files = {
        LOCK: dump_yaml(lock_to_data(lock)).encode(),
        SNAPSHOT: _json(_without_time(snapshot_to_json(snapshot))),
        APPROVALS: _json(approvals),
        SETTINGS: _json(settings),
    }
    for manifest in manifests:
        files[manifest.path] = dump_yaml(manifest.body).encode()
    return files


def _without_time(data: dict[str, Any]) -> dict[str, Any]:
    """The time of a capture would make a commit each time."""
    return {key: value for key, value in data.items() if key != "takenAt"}


def manifest_file(digests: Mapping[str, str], *, source: str, policies: str) -> bytes:
    """MANIFEST.json: every owned path with its sha256, the tool, the source commit, the digest of the policies."""
    head = {"policies": policies, "source": source, "tool": __version__}
    # One line a file, for people and diffs; put together by hand, because indenting encoders are slow.
    lines = [f"  {json.dumps(path, ensure_ascii=False)}: {json.dumps(digests[path])}" for path in sorted(digests)]
    rest = "".join(f" {json.dumps(key)}: {json.dumps(value)},\n" for key, value in head.items())
    return ("{\n" + rest + ' "files": {\n' + ",\n".join(lines) + "\n }\n}\n").encode()


def policy_digest(intents: Intents) -> str:
    """`sha256:…` of every intent that decides over workloads of others: Fleet, clusters, queues, priorities, policies."""
    deciding = (intents.fleet, *intents.clusters, *intents.queues, *intents.priority_classes, *intents.policies)
    text = json.dumps([intent.model_dump(mode="json", by_alias=True) for intent in deciding], sort_keys=True)
    return "sha256:" + sha256(text.encode())


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _json(data: Any) -> bytes:
    return (json.dumps(data, indent=1, sort_keys=True, ensure_ascii=False) + "\n").encode()


# ---------------------------------------------------------------- reading it back


def document(raw: bytes) -> Document:
    """A file's content with its digest."""
    return Document(raw, sha256(raw))


def read_manifest(raw: bytes, *, commit: str) -> dict[str, Any]:
    """MANIFEST.json as data. Raises GitError for anything else."""
    try:
        data: dict[str, Any] = json.loads(raw)
        if not isinstance(data["files"], dict):
            raise TypeError("files is not a map")
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise damaged(commit, f"{MANIFEST} cannot be read ({error})") from None
    return data


def parse_tree(
    commit: str, manifest: Mapping[str, Any], documents: Mapping[str, Document], *, foreign: Iterable[str]
) -> RenderedTree:
    """The tree of a commit from the files that MANIFEST.json names.

    A file that is missing or has another content than MANIFEST.json says makes the whole tree unusable:
    a partial tree must never look like a smaller world. Raises GitError.
    """
    owned: dict[str, str] = manifest["files"]
    for path, digest in owned.items():
        if path not in documents:
            raise damaged(commit, f"{path} is missing")
        if documents[path].digest != digest:
            raise damaged(commit, f"{path} was changed by somebody else")
    try:
        settings = json.loads(documents[SETTINGS].raw)
        approvals = [
            ApprovalRecord(item["name"], item["plan"], item["reason"], date.fromisoformat(item["expires"]))
            for item in json.loads(documents[APPROVALS].raw)
        ]
        snapshot = {"takenAt": "1970-01-01T00:00:00+00:00", **json.loads(documents[SNAPSHOT].raw)}
        return RenderedTree(
            commit=commit,
            lock=lock_from_data(documents[LOCK].data),
            settings=TreeSettings(
                settings["fleet"], settings["deletes"]["maxCount"], settings["deletes"]["maxPercent"]
            ),
            approvals=tuple(approvals),
            snapshot=snapshot_from_json(snapshot),
            source=str(manifest.get("source", "")),
            foreign=tuple(sorted(foreign)),
            documents=documents,
        )
    except _UNREADABLE as error:
        raise damaged(commit, f"it cannot be read ({error})") from None


def damaged(commit: str, why: str) -> GitError:
    """The error of a tree that must not be used."""
    return GitError(
        f"the rendered tree of commit {commit[:12]} is not whole: {why}",
        hint=f"nothing was changed; look at `git show {commit[:12]}`, then take the branch back to a commit of gitops-vg",
    )
