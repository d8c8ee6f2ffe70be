"""A fleet's folder in, typed intents and every problem out: all errors of all files at once."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
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
from gitops_vg.intents.rawfiles import RawFiles, unused
from gitops_vg.intents.source import Path
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
    documents, findings = _documents(root)
    intents: list[Intent] = []
    foreign: list[Document] = []
    for document in (document for read in documents.values() for document in read):
        if _is_foreign(document):
            foreign.append(document)
            continue
        intent, wrong = _intent(document)
        findings += wrong
        if intent is not None:
            intents.append(intent)
    raw = RawFiles(root, known=documents)
    intents = [raw.completed(intent) for intent in intents]
    findings += raw.findings
    findings += unused(foreign, used=raw.used)
    findings += _twice(intents)
    findings += _one_fleet(intents, findings=findings)
    if any(finding.is_error for finding in findings):
        return ReadResult(None, in_order(findings))
    return ReadResult(_fleet(intents), in_order(findings))


def _documents(root: FilePath) -> tuple[dict[str, tuple[Document, ...]], list[Finding]]:
    """The documents of every file that could be read, and what was wrong with the files."""
    documents: dict[str, tuple[Document, ...]] = {}
    files, unsearched = intent_files(root)
    findings = list(unsearched)
    for file in files:
        text = read_text(root, file)
        if isinstance(text, Finding):
            findings.append(text)
            continue
        name = file.as_posix()
        documents[name], problems = read_documents(text, file=name, is_date=_is_expiry)
        findings += problems
        if not documents[name] and not problems:
            at = Location(name)
            findings.append(Finding("GVG121", Severity.WARNING, at, "the file holds no intent",
                                    "delete the file, or write an intent"))  # fmt: skip
    return documents, findings


def _is_expiry(path: Path) -> bool:
    return path == ("spec", "expires")


def _is_foreign(document: Document) -> bool:
    """A Kubernetes object that is not ours: meant for a workload's `manifests.files`."""
    data = document.data
    if not isinstance(data, dict) or not isinstance(data.get("apiVersion"), str):
        return False
    version = data["apiVersion"]
    return not version.startswith("gitops-vg.io") and str(data.get("kind")) not in KINDS


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
        # By alias only: programs may also name fields as Python does, files have one spelling.
        return model.model_validate(data, by_alias=True, by_name=False).with_source(source), ()
    except ValidationError as error:
        return None, findings_of(error, model=model, data=data, document=document)


def _with_dates(data: dict[str, Any]) -> dict[str, Any]:
    """An Approval with its day as a date; what is no date is left for the model to refuse."""
    spec = data.get("spec")
    if isinstance(spec, dict) and isinstance(spec.get("expires"), str):
        try:
            return {**data, "spec": {**spec, "expires": date.fromisoformat(spec["expires"])}}
        except ValueError:
            return data
    return data


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


def _one_fleet(intents: Iterable[Intent], *, findings: Iterable[Finding]) -> Iterable[Finding]:
    fleets = [intent for intent in intents if isinstance(intent, Fleet)]
    broken = any(finding.at.file == FLEET_FILE for finding in findings)
    if not fleets and not broken:
        yield _error("GVG116", Location(FLEET_FILE), f"not a fleet: there is no kind Fleet in {FLEET_FILE}",
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
