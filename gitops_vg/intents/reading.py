"""A fleet's folder in, typed intents and every problem out: all errors of all files at once."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path as FilePath
from typing import Any, TypeVar

from pydantic import ValidationError

from gitops_vg.findings import Finding, Location, Severity, in_order
from gitops_vg.intents.files import FLEET_FILE, intent_files, read_text
from gitops_vg.intents.fleet import Intents
from gitops_vg.intents.messages import findings_of
from gitops_vg.intents.models import (
    API_VERSION,
    KINDS,
    Approval,
    Cluster,
    Fleet,
    Intent,
    PlacementPolicy,
    PriorityClass,
    Queue,
    Workload,
)
from gitops_vg.intents.source import Path, Source, dotted
from gitops_vg.intents.yaml import Document, read_documents

Kind = TypeVar("Kind", bound=Intent)


@dataclass(frozen=True)
class ReadResult:
    """`intents` is None when there are errors: half a fleet must never be mistaken for a whole one."""

    intents: Intents | None
    findings: tuple[Finding, ...]


def read_fleet(root: FilePath) -> ReadResult:
    """Read every file of the fleet in `root`.

    Raises nothing for what people wrote; a folder that is not there is a finding too.
    """
    findings: list[Finding] = []
    documents: list[Document] = []
    for file in intent_files(root):
        text = read_text(root, file)
        if isinstance(text, Finding):
            findings.append(text)
            continue
        read, unread = read_documents(text, file=file.as_posix(), is_date=_is_expiry)
        documents += read
        findings += unread
    intents, foreign = [], []
    for document in documents:
        if _is_foreign(document):
            foreign.append(document)
            continue
        intent, wrong = _intent(document)
        findings += wrong
        if intent is not None:
            intents.append(intent)
    intents, problems, used = _with_raw(intents, root=root)
    findings += problems
    findings += _unused(foreign, used=used)
    findings += _twice(intents)
    findings += _one_fleet(intents, root=root, findings=findings)
    if any(finding.is_error for finding in findings):
        return ReadResult(None, in_order(findings))
    return ReadResult(_fleet(intents), in_order(findings))


def _is_expiry(path: Path) -> bool:
    return path == ("spec", "expires")


def _is_foreign(document: Document) -> bool:
    """A Kubernetes object that is not ours: meant for a workload's `manifests.files`."""
    data = document.data
    if not isinstance(data, dict) or not isinstance(data.get("apiVersion"), str):
        return False
    version = data["apiVersion"]
    ours = version == API_VERSION or version.startswith("gitops-vg.io") or data.get("kind") in KINDS
    return not ours


def _error(code: str, at: Location, message: str, fix: str, field: str = "") -> Finding:
    return Finding(code, Severity.ERROR, at, message, fix, field)


def _intent(document: Document) -> tuple[Intent | None, Iterable[Finding]]:
    """The typed intent of a document, or its problems."""
    data, source = document.data, document.source
    if not isinstance(data, dict):
        return None, [_error("GVG111", source.at(), "not an intent: a map is expected",
                             "start with apiVersion, kind, metadata, spec")]  # fmt: skip
    if data.get("apiVersion") != API_VERSION:
        found = data.get("apiVersion")
        message = f"apiVersion is {found}" if found else "apiVersion is missing"
        return None, [_error("GVG111", source.at(("apiVersion",)), message, f"write apiVersion: {API_VERSION}",
                             "apiVersion")]  # fmt: skip
    kind = data.get("kind")
    model = KINDS.get(kind) if isinstance(kind, str) else None
    if model is None:
        near = difflib.get_close_matches(str(kind), KINDS, n=1)
        fix = f"did you mean {near[0]}?" if near else f"the kinds are {', '.join(KINDS)}"
        message = f"there is no kind of intent {kind}" if kind else "kind is missing"
        return None, [_error("GVG111", source.at(("kind",)), message, fix, "kind")]
    data = _with_dates(data) if model is Approval else data
    try:
        return model.model_validate(data).with_source(source), ()
    except ValidationError as error:
        return None, findings_of(error, model=model, data=data, source=source)


def _with_dates(data: dict[str, Any]) -> dict[str, Any]:
    """An Approval with its day as a date; what is no date is left for the model to refuse."""
    spec = data.get("spec")
    if isinstance(spec, dict) and isinstance(spec.get("expires"), str):
        try:
            return {**data, "spec": {**spec, "expires": date.fromisoformat(spec["expires"])}}
        except ValueError:
            return data
    return data


# ---------------------------------------------------------------- raw manifests


def _with_raw(intents: list[Intent], *, root: FilePath) -> tuple[list[Intent], list[Finding], set[str]]:
    """The workloads with their raw objects read; the files that were used."""
    result: list[Intent] = []
    findings: list[Finding] = []
    used: set[str] = set()
    for intent in intents:
        if not isinstance(intent, Workload) or intent.spec.manifests is None:
            result.append(intent)
            continue
        objects: list[Mapping[str, Any]] = list(intent.spec.manifests.inline)
        places: list[tuple[Source, Path]] = []
        for index, object_ in enumerate(objects):
            path = ("spec", "manifests", "inline", index)
            places.append((intent.written, path))
            findings += _object_problems(object_, at=intent.source_at(path), field=dotted(path))
        for index, pattern in enumerate(intent.spec.manifests.files):
            files, problems = _files(pattern, intent=intent, index=index, root=root)
            findings += problems
            for file in files:
                used.add(file.as_posix())
                read, problems = _objects(file, root=root)
                findings += problems
                objects += [document.data for document in read]
                places += [(document.source, ()) for document in read]
        result.append(intent.with_raw(tuple(objects), places=tuple(places)))
    return result, findings, used


def _files(pattern: str, *, intent: Workload, index: int, root: FilePath) -> tuple[list[FilePath], list[Finding]]:
    """The files a pattern means, beside the workload's own file."""
    field = f"spec.manifests.files[{index}]"
    at = intent.source(field)
    folder = FilePath(intent.source().file).parent
    parts = FilePath(pattern).parts
    if not pattern or FilePath(pattern).is_absolute() or ".." in parts:
        return [], [_error("GVG110", at, f"{pattern} leads out of the fleet's folder",
                           "name files below the folder of this file", field)]  # fmt: skip
    found = [path.relative_to(root) for path in sorted((root / folder).glob(pattern)) if not path.is_dir()]
    if not found:
        return [], [_error("GVG118", at, f"{pattern} matches no file in {folder.as_posix()}/",
                           "check the name, or remove the line", field)]  # fmt: skip
    return found, []


def _objects(file: FilePath, *, root: FilePath) -> tuple[list[Document], list[Finding]]:
    text = read_text(root, file)
    if isinstance(text, Finding):
        return [], [text]
    documents, problems = read_documents(text, file=file.as_posix())
    findings = list(problems)
    objects = []
    for document in documents:
        bad = list(_object_problems(document.data, at=document.source.at(), field=""))
        findings += bad
        if not bad:
            objects.append(document)
    return objects, findings


def _object_problems(body: Any, *, at: Location, field: str) -> Iterable[Finding]:
    """What keeps a raw object from being handled at all."""
    if not isinstance(body, dict) or not all(isinstance(body.get(key), str) for key in ("apiVersion", "kind")):
        yield _error("GVG111", at, "not a Kubernetes object: apiVersion or kind is missing",
                     "write apiVersion, kind, metadata.name", field)  # fmt: skip
        return
    metadata = body.get("metadata")
    if not isinstance(metadata, dict) or not isinstance(metadata.get("name"), str):
        yield _error("GVG111", at, f"{body['kind']} without metadata.name", "give it a name", field)
        return
    if body["kind"] == "Secret" and body["apiVersion"] == "v1" and (body.get("data") or body.get("stringData")):
        yield _error("GVG119", at, f"Secret {metadata['name']} has its values in the file",
                     "keep the values in a secret store and reference the Secret by name; change what was committed",
                     field)  # fmt: skip


def _unused(foreign: Iterable[Document], *, used: set[str]) -> Iterable[Finding]:
    for document in foreign:
        if document.source.file not in used:
            kind = document.data.get("kind", "object")
            yield _error("GVG117", document.source.at(), f"a {kind} that no workload refers to",
                         "name this file in the manifests.files of a workload, or move it away")  # fmt: skip


# ---------------------------------------------------------------- the whole


def _twice(intents: Iterable[Intent]) -> Iterable[Finding]:
    first: dict[tuple[str, str], Intent] = {}
    for intent in intents:
        name = intent.key if isinstance(intent, Workload) else intent.name
        known = first.setdefault((intent.kind_name, name), intent)
        if known is not intent and not isinstance(intent, Fleet):
            yield _error("GVG115", intent.source("metadata.name"), f"{intent.kind_name} {name} is here twice: "
                         f"also in {known.source('metadata.name')}", "keep one of them, or rename one",
                         "metadata.name")  # fmt: skip


def _one_fleet(intents: Iterable[Intent], *, root: FilePath, findings: Iterable[Finding]) -> Iterable[Finding]:
    fleets = [intent for intent in intents if isinstance(intent, Fleet)]
    broken = any(finding.at.file == FLEET_FILE for finding in findings)
    if not fleets and not broken:
        where = "this folder" if root == FilePath() else str(root)
        yield _error("GVG116", Location(FLEET_FILE), f"{where} is not a fleet: there is no kind Fleet in {FLEET_FILE}",
                     "run `gitops-vg init`, or name the folder with -C")  # fmt: skip
    for extra in fleets[1:]:
        yield _error("GVG116", extra.source(), f"a second Fleet, beside {fleets[0].source()}", "keep one")


def _fleet(intents: Iterable[Intent]) -> Intents:
    everything = sorted(intents, key=lambda intent: intent.key if isinstance(intent, Workload) else intent.name)

    def of(kind: type[Kind]) -> tuple[Kind, ...]:
        return tuple(intent for intent in everything if isinstance(intent, kind))

    return Intents(
        fleet=of(Fleet)[0],
        clusters=of(Cluster),
        queues=of(Queue),
        policies=of(PlacementPolicy),
        priority_classes=of(PriorityClass),
        workloads=of(Workload),
        approvals=of(Approval),
    )
