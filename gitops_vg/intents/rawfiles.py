"""Raw manifests of workloads: inline ones, and those in files beside the workload's own file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path as FilePath
from typing import Any

from gitops_vg.findings import Finding, Location, Severity
from gitops_vg.intents.files import read_text
from gitops_vg.intents.models import API_VERSION, Intent, Workload
from gitops_vg.intents.source import Path, Source, dotted
from gitops_vg.intents.yaml import Document, read_documents

_GROUP = API_VERSION.partition("/")[0]


class RawFiles:
    """The raw objects in the files of one fleet; `known` are the documents that were read before.

    Gathers the problems found and the files used on the way.
    """

    def __init__(self, root: FilePath, *, known: Mapping[str, tuple[Document, ...]]) -> None:
        self._root = root
        self._known = dict(known)
        self.findings: list[Finding] = []
        self.used: set[str] = set()

    def completed(self, intent: Intent) -> Intent:
        """The intent; a workload of raw manifests has its objects read."""
        if not isinstance(intent, Workload) or intent.spec.manifests is None:
            return intent
        objects: list[Mapping[str, Any]] = []
        places: list[tuple[Source, Path]] = []
        for index, body in enumerate(intent.spec.manifests.inline):
            path: Path = ("spec", "manifests", "inline", index)
            self.findings += _object_problems(body, at=intent.source_at(path), field=dotted(path))
            objects.append(body)
            places.append((intent.written, path))
        for index, pattern in enumerate(intent.spec.manifests.files):
            for file in self._matching(pattern, intent=intent, index=index):
                for document in self._documents(file):
                    objects.append(document.data)
                    places.append((document.source, ()))
        return intent.with_raw(tuple(objects), places=tuple(places))

    def _matching(self, pattern: str, *, intent: Workload, index: int) -> list[FilePath]:
        """The files a pattern means, beside the workload's own file."""
        path: Path = ("spec", "manifests", "files", index)
        folder = FilePath(intent.source().file).parent

        def refuse(code: str, message: str, fix: str) -> list[FilePath]:
            self.findings.append(_error(code, intent.source_at(path), message, fix, dotted(path)))
            return []

        if FilePath(pattern).is_absolute() or ".." in FilePath(pattern).parts:
            return refuse("GVG110", f"{pattern} leads out of the fleet's folder", "name files below this file's folder")
        try:
            found = sorted((self._root / folder).glob(pattern))
        except (ValueError, NotImplementedError, IndexError):
            return refuse("GVG118", f"{pattern or '(empty)'} is no pattern of files", "write one such as legacy/*.yaml")
        except (OSError, RuntimeError) as error:
            return refuse("GVG118", f"{pattern} cannot be looked for: {error}", "check the folders it names")
        files = [one.relative_to(self._root) for one in found if not one.is_dir()]
        if not files:
            where = f"{folder.as_posix()}/" if folder.parts else "the fleet's folder"
            return refuse("GVG118", f"{pattern} matches no file in {where}", "check the name, or remove the line")
        return files

    def _documents(self, file: FilePath) -> Iterator[Document]:
        """The objects of one file that can be handled; problems of a file are noted once."""
        name = file.as_posix()
        first = name not in self.used
        self.used.add(name)
        if name not in self._known:
            text = read_text(self._root, file)
            if isinstance(text, Finding):
                self._known[name] = ()
                self.findings.append(text)
            else:
                self._known[name], problems = read_documents(text, file=name)
                self.findings += problems
        for document in self._known[name]:
            bad = list(_object_problems(document.data, at=document.source.at(), field=""))
            self.findings += bad if first else []
            if not bad:
                yield document


def _object_problems(body: Any, *, at: Location, field: str) -> Iterator[Finding]:
    """What keeps a raw object from being handled at all."""
    if not isinstance(body, dict) or not all(isinstance(body.get(key), str) for key in ("apiVersion", "kind")):
        yield _error("GVG111", at, "not a Kubernetes object: apiVersion or kind is missing",
                     "write apiVersion, kind, metadata.name", field)  # fmt: skip
        return
    if body["apiVersion"].partition("/")[0] == _GROUP:
        yield _error("GVG111", at, f"an intent ({body['kind']}) among raw manifests",
                     "match Kubernetes objects only, for example legacy/*.yaml", field)  # fmt: skip
        return
    metadata = body.get("metadata")
    if not isinstance(metadata, dict) or not isinstance(metadata.get("name"), str) or not metadata["name"]:
        yield _error("GVG111", at, f"{body['kind']} without metadata.name", "give it a name", field)
        return
    if not isinstance(metadata.get("namespace", ""), str):
        yield _error("GVG111", at, f"{body['kind']} {metadata['name']}: metadata.namespace is not text",
                     "write a name, or leave it out", field)  # fmt: skip
        return
    if body["kind"] == "Secret" and body["apiVersion"] == "v1" and (body.get("data") or body.get("stringData")):
        yield _error("GVG119", at, f"Secret {metadata['name']} has its values in the file",
                     "keep the values in a secret store and reference the Secret by name; change what was committed",
                     field)  # fmt: skip


def unused(foreign: Iterable[Document], *, used: set[str]) -> Iterator[Finding]:
    """Objects in the fleet's folders that no workload refers to."""
    for document in foreign:
        if document.source.file not in used:
            kind = document.data.get("kind", "object")
            yield _error("GVG117", document.source.at(), f"a {kind} that no workload refers to",
                         "name this file in the manifests.files of a workload, or move it away")  # fmt: skip


def _error(code: str, at: Location, message: str, fix: str, field: str = "") -> Finding:
    return Finding(code, Severity.ERROR, at, message, fix, field)
