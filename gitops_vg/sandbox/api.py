"""The operations of one API server: what HTTP requests and in-process controllers do to objects.

Synchronous and single-threaded: everything runs in the one event loop. The order of a write is that
of a real server: defaults and pruning, mutating admission, defaults and pruning again, status kept
apart, validation, validating admission, ownership of fields, storage.
"""

from __future__ import annotations

import random
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

from gitops_vg.apis.catalog import Catalog, Kind
from gitops_vg.apis.structural import default, prune, validate
from gitops_vg.objects import GroupKind
from gitops_vg.sandbox import status
from gitops_vg.sandbox.kinds import AGGREGATED, counted, counts_generations, empty_status, is_typed, pruned, schema_of
from gitops_vg.sandbox.lifecycle import Lifecycle
from gitops_vg.sandbox.merge import ApplyConflict, TypedPatchError, apply_object, update_ownership
from gitops_vg.sandbox.metadata import clean_metadata, metadata_problems, misshapen
from gitops_vg.sandbox.patches import PatchError, json_patch, merge_patch, strategic_patch
from gitops_vg.sandbox.selectors import field_test, label_test
from gitops_vg.sandbox.store import Object, Store

Operation = Literal["CREATE", "UPDATE", "DELETE"]
PatchType = Literal["merge", "json", "strategic"]
FieldValidation = Literal["Strict", "Warn", "Ignore"]


@dataclass(frozen=True)
class AdmissionRequest:
    """One write on its way in. `object` is None on DELETE, `old` on CREATE."""

    operation: Operation
    kind: Kind
    namespace: str
    name: str
    object: Object | None
    old: Object | None
    manager: str
    subresource: str = ""
    dry_run: bool = False


Mutation = Callable[[AdmissionRequest], Object | None]
"""Gives the changed object, or None when it has nothing to change; may raise StatusError."""

Validation = Callable[[AdmissionRequest], None]
"""Raises StatusError to refuse."""


@dataclass
class Write:
    """How a write is done, as query parameters say it. `warnings` collects what the answer warns of."""

    manager: str = "unknown"
    dry_run: bool = False
    validation: FieldValidation = "Warn"
    subresource: str = ""
    warnings: list[str] | None = None


class Api:
    """One API server. `mutating` and `validating` are its admission, in order of registration."""

    def __init__(
        self, catalog: Catalog, store: Store, *, name: str = "", clock: Callable[[], datetime] | None = None
    ) -> None:
        self.catalog = catalog
        self.store = store
        self.name = name
        self.mutating: list[Mutation] = []
        self.validating: list[Validation] = []
        self._clock = clock or (lambda: datetime.now(UTC))
        self.lifecycle = Lifecycle(self)

    # ------------------------------------------------------------ reading

    def kind(self, group: str, kind: str) -> Kind:
        """The kind by group and name. Raises StatusError 404 when it is not served."""
        found = self.catalog.of(GroupKind(group, kind))
        if found is None:
            raise status.no_such_resource()
        return found

    def find(self, kind: Kind, namespace: str, name: str) -> Object | None:
        """The object or None."""
        return self.store.get(kind, namespace, name)

    def get(self, kind: Kind, namespace: str, name: str) -> Object:
        """The object. Raises StatusError 404."""
        body = self.store.get(kind, namespace, name)
        if body is None:
            raise status.not_found(kind, name)
        return body

    def list(
        self, kind: Kind, *, namespace: str = "", label_selector: str = "", field_selector: str = ""
    ) -> list[Object]:
        """Objects of a kind, by namespace and name. Raises StatusError 400 for a bad selector."""
        items = self.store.items(kind, namespace=namespace)
        if label_selector:
            test = label_test(label_selector)
            items = [body for body in items if test(body)]
        if field_selector:
            test = field_test(field_selector)
            items = [body for body in items if test(body)]
        return items

    # ------------------------------------------------------------ writing

    def create(
        self,
        kind: Kind,
        body: Object,
        *,
        namespace: str = "",
        manager: str = "unknown",
        dry_run: bool = False,
        write: Write | None = None,
    ) -> Object:
        """A new object. Raises StatusError: AlreadyExists, Invalid, Forbidden, NotFound (namespace)."""
        write = write or Write(manager=manager, dry_run=dry_run)
        body = self._identified(kind, body, namespace, "")
        metadata = body["metadata"]
        if "name" not in metadata and metadata.get("generateName"):
            suffix = "".join(random.choices("bcdfghjklmnpqrstvwxz2456789", k=5))
            body = {**body, "metadata": {**metadata, "name": metadata["generateName"] + suffix}}
        if not body["metadata"].get("name"):
            raise status.invalid(kind, "", metadata_problems(kind, body))
        if metadata.get("resourceVersion"):
            raise status.bad_request("resourceVersion should not be set on objects to be created")
        name = body["metadata"]["name"]
        self.lifecycle.check_namespace(kind, body["metadata"].get("namespace", ""), name)
        if self.store.get(kind, body["metadata"].get("namespace", ""), name) is not None:
            raise status.already_exists(kind, name)
        body = self._new(kind, body)
        body = self._fit(kind, body, write)
        body = self._own(kind, None, body, write)
        return self._finish(kind, None, body, write)

    def update(
        self,
        kind: Kind,
        body: Object,
        *,
        namespace: str = "",
        manager: str = "unknown",
        subresource: str = "",
        dry_run: bool = False,
        write: Write | None = None,
        name: str = "",
    ) -> Object:
        """Replace an object (PUT). Raises StatusError: NotFound, Conflict, Invalid, Forbidden."""
        write = write or Write(manager=manager, dry_run=dry_run, subresource=subresource)
        body = self._identified(kind, body, namespace, name)
        name = body["metadata"].get("name", "")
        old = self.get(kind, body["metadata"].get("namespace", ""), name)
        self._check_version(kind, old, body)
        body = self._fit(kind, self._kept(kind, old, body, write), write)
        body = self._own(kind, old, body, write)
        return self._finish(kind, old, body, write)

    def patch(
        self,
        kind: Kind,
        namespace: str,
        name: str,
        patch: Any,
        *,
        patch_type: PatchType = "merge",
        manager: str = "unknown",
        subresource: str = "",
        dry_run: bool = False,
        write: Write | None = None,
    ) -> Object:
        """Change parts of an object. Raises StatusError as `update`, and 400 or 422 for a bad patch."""
        write = write or Write(manager=manager, dry_run=dry_run, subresource=subresource)
        old = self.get(kind, namespace, name)
        try:
            if patch_type == "json":
                body = json_patch(old, patch)
            elif patch_type == "strategic":
                if kind.is_crd:
                    raise status.StatusError(
                        415, "UnsupportedMediaType",
                        "the body of the request was in an unknown format - accepted media types include: "
                        "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml",
                    )  # fmt: skip
                body = strategic_patch(old, patch, kind.schema)
            else:
                body = merge_patch(old, patch)
        except PatchError as error:
            reason = "Invalid" if error.code == 422 else "BadRequest"
            text = (
                f"the server rejected our request due to an error in our request: {error}"
                if error.code == 422
                else str(error)
            )
            raise status.StatusError(error.code, reason, text) from error
        if not isinstance(body, dict):
            raise status.bad_request("the patch does not leave an object")
        body = self._identified(kind, body, namespace, name)
        self._check_version(kind, old, body)
        body = self._fit(kind, self._kept(kind, old, body, write), write)
        body = self._own(kind, old, body, write)
        return self._finish(kind, old, body, write)

    def apply(
        self,
        kind: Kind,
        namespace: str,
        name: str,
        body: Object,
        *,
        manager: str,
        force: bool = False,
        subresource: str = "",
        dry_run: bool = False,
        write: Write | None = None,
    ) -> Object:
        """Server-side apply. Raises StatusError: Conflict with the managers, 500 for undeclared fields, Invalid …"""
        write = write or Write(manager=manager, dry_run=dry_run, subresource=subresource)
        if body.get("metadata", {}).get("managedFields") is not None:
            raise status.bad_request("metadata.managedFields must be nil")
        body = self._identified(kind, body, namespace, name)
        old = self.store.get(kind, body["metadata"].get("namespace", ""), name)
        if old is None:
            self.lifecycle.check_namespace(kind, body["metadata"].get("namespace", ""), name)
        else:
            self._check_version(kind, old, body)
        try:
            result = apply_object(
                old, body, schema=kind.schema, manager=write.manager, api_version=kind.api_version,
                time=self.now(), force=force, subresource=write.subresource,
            )  # fmt: skip
        except ApplyConflict as conflict:
            raise status.apply_conflict(conflict.conflicts) from conflict
        except TypedPatchError as error:
            where = f"{namespace}/{name}; {kind.group}/{kind.version}, Kind={kind.kind}"
            raise status.internal(f"failed to create typed patch object ({where}): {error}") from error
        if old is not None and result is old:
            return self._finish(kind, old, old, write)
        result = self._kept(kind, old, result, write) if old is not None else self._new(kind, result)
        return self._finish(kind, old, self._fit(kind, result, write), write)

    def delete(
        self,
        kind: Kind,
        namespace: str,
        name: str,
        *,
        uid: str | None = None,
        resource_version: str | None = None,
        propagation: str = "Background",
        dry_run: bool = False,
        manager: str = "unknown",
    ) -> Object:
        """Delete an object, or mark it when finalizers hold it. Gives a Status, or the marked object.

        Raises StatusError: NotFound, Conflict (preconditions), Forbidden (admission).
        """
        old = self.get(kind, namespace, name)
        metadata = old["metadata"]
        if uid is not None and uid != metadata["uid"]:
            raise status.precondition_failed(kind, name, "UID", given=uid, stored=metadata["uid"])
        stored = metadata["resourceVersion"]
        if resource_version is not None and resource_version != stored:
            raise status.precondition_failed(kind, name, "ResourceVersion", given=resource_version, stored=stored)
        request = AdmissionRequest("DELETE", kind, namespace, name, None, old, manager, dry_run=dry_run)
        for check in self.validating:
            check(request)
        if dry_run:
            held = bool(metadata.get("finalizers"))
            return self.lifecycle.marked(old) if held else status.success(kind, name, metadata["uid"])
        return self.lifecycle.delete(kind, old, propagation=propagation)

    # ------------------------------------------------------------ the steps of a write

    def now(self) -> str:
        """The time as objects write it."""
        return self._clock().strftime("%Y-%m-%dT%H:%M:%SZ")

    def _identified(self, kind: Kind, body: Object, namespace: str, name: str) -> Object:
        """The body with the type and name of its URL. Raises StatusError 400 where they disagree."""
        version, given = body.get("apiVersion"), body.get("kind")
        if version != kind.api_version or given != kind.kind:
            if not version or not given:
                raise status.bad_request(
                    f"Object 'Kind' is missing in '{given or ''}'" if not given else "apiVersion is missing"
                )
            raise status.bad_request(
                f"the API version in the data ({version}) does not match the expected API version ({kind.api_version})"
                if version != kind.api_version
                else f"the kind in the data ({given}) does not match the expected kind ({kind.kind})"
            )
        metadata = body.get("metadata") or {}
        if not isinstance(metadata, dict):
            raise status.bad_request("metadata is not a map")
        metadata = clean_metadata(metadata)
        if problem := misshapen(metadata):
            where = (
                f'{kind.kind} in version "{kind.version}" cannot be handled as a {kind.kind}: '
                if is_typed(kind)
                else ""
            )
            raise status.bad_request(where + problem)
        if kind.namespaced:
            if metadata.get("namespace", namespace) != namespace:
                raise status.bad_request(
                    "the namespace of the provided object does not match the namespace sent on the request"
                )
            metadata = {**metadata, "namespace": namespace}
        elif "namespace" in metadata:
            metadata = {key: value for key, value in metadata.items() if key != "namespace"}
        if name and metadata.get("name", name) != name:
            raise status.bad_request(
                f"the name of the object ({metadata['name']}) does not match the name on the URL ({name})"
            )
        return {**body, "metadata": {**metadata, "name": name} if name else metadata}

    def _check_version(self, kind: Kind, old: Object, body: Object) -> None:
        metadata = body["metadata"]
        if metadata.get("resourceVersion") not in (None, "", old["metadata"]["resourceVersion"]):
            raise status.version_conflict(kind, old["metadata"]["name"])
        if metadata.get("uid") not in (None, "", old["metadata"]["uid"]):
            why = f"Precondition failed: UID in precondition: {metadata['uid']}, UID in object meta: {old['metadata']['uid']}"
            raise status.version_conflict(kind, old["metadata"]["name"], why)

    def _new(self, kind: Kind, body: Object) -> Object:
        metadata = {k: v for k, v in body["metadata"].items() if k not in ("resourceVersion", "deletionTimestamp")}
        metadata |= {"uid": str(uuid.uuid4()), "creationTimestamp": self.now()}
        if counts_generations(kind):
            metadata["generation"] = 1
        if "status" in kind.subresources:
            body = {key: value for key, value in body.items() if key != "status"}
            if is_typed(kind):
                body["status"] = empty_status(kind)
        return {**body, "metadata": metadata}

    def _kept(self, kind: Kind, old: Object, body: Object, write: Write) -> Object:
        """The body with what a write cannot change taken from the stored object."""
        before, metadata = old["metadata"], dict(body["metadata"])
        for name in ("uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "generation"):
            metadata.pop(name, None)
            if name in before:
                metadata[name] = before[name]
        if write.subresource == "status":
            result = {**old, "metadata": {**before, "managedFields": metadata.get("managedFields", [])}}
            result.pop("status", None)
            return {**result, "status": body["status"]} if "status" in body else result
        result = {**body, "metadata": metadata}
        if "status" in kind.subresources:
            result.pop("status", None)
            if "status" in old:
                result["status"] = old["status"]
        return result

    def _fit(self, kind: Kind, body: Object, write: Write) -> Object:
        """Defaults and pruning; unknown fields are refused, told or dropped as asked."""
        if kind.schema is None:
            return body
        if kind.group == AGGREGATED and isinstance(body.get("spec"), dict):
            # Its Go types leave empty lists out, so nobody comes to own one.
            spec = {name: value for name, value in body["spec"].items() if value != []}
            body = {**body, "spec": spec}
        body, dropped = pruned(kind, body, write.subresource)
        if dropped and write.validation == "Strict":
            unknown = ", ".join(f'unknown field "{path}"' for path in dropped)
            where = (
                f'{kind.kind} in version "{kind.version}" cannot be handled as a {kind.kind}: '
                if not kind.is_crd
                else ""
            )
            raise status.bad_request(f"{where}strict decoding error: {unknown}")
        if dropped and write.validation == "Warn" and write.warnings is not None:
            write.warnings.extend(f'unknown field "{path}"' for path in dropped)
        return body

    def _own(self, kind: Kind, old: Object | None, body: Object, write: Write) -> Object:
        # A kind of Go types is never without spec and status: whoever fills them does not own them as a whole.
        before: Object | None = {"spec": {}, "status": {}} if old is None and is_typed(kind) else old
        return update_ownership(
            before, body, schema=kind.schema, manager=write.manager, api_version=kind.api_version,
            time=self.now(), subresource=write.subresource,
        )  # fmt: skip

    def _finish(self, kind: Kind, old: Object | None, body: Object, write: Write) -> Object:
        """Admission, validation, and storage unless it is a dry run."""
        metadata = body["metadata"]
        namespace, name = metadata.get("namespace", ""), metadata["name"]
        operation: Operation = "CREATE" if old is None else "UPDATE"
        body = self._mutate(kind, old, body, write, operation)
        if problems := self._problems(kind, old, body, write.subresource):
            raise status.invalid(kind, name, problems)
        request = AdmissionRequest(
            operation, kind, namespace, name, body, old, write.manager, write.subresource, write.dry_run
        )
        for check in self.validating:
            check(request)
        if old is not None:
            if _same(old, body):
                return old
            if counts_generations(kind) and counted(kind, old) != counted(kind, body):
                body = {
                    **body,
                    "metadata": {**body["metadata"], "generation": old["metadata"].get("generation", 0) + 1},
                }
        if write.dry_run:
            version = old["metadata"]["resourceVersion"] if old is not None else None
            return {**body, "metadata": {**body["metadata"], **({"resourceVersion": version} if version else {})}}
        if old is not None and "deletionTimestamp" in body["metadata"] and not body["metadata"].get("finalizers"):
            return self.lifecycle.finalized(kind, body)
        return self.store.put(kind, body)

    def _mutate(self, kind: Kind, old: Object | None, body: Object, write: Write, operation: Operation) -> Object:
        metadata = body["metadata"]
        for mutate in self.mutating:
            request = AdmissionRequest(
                operation, kind, metadata.get("namespace", ""), metadata["name"], body, old,
                write.manager, write.subresource, write.dry_run,
            )  # fmt: skip
            try:
                changed = mutate(request)
            except (TypeError, AttributeError, KeyError, ValueError):
                # Admission takes shapes for granted that validation, which comes after it, refuses.
                if problems := self._problems(kind, old, body, write.subresource):
                    raise status.invalid(kind, metadata["name"], problems) from None
                raise
            if changed is not None:
                body = changed
                if kind.schema is not None:
                    body, _ = prune(kind.schema, default(kind.schema, body))
        return body

    def _problems(self, kind: Kind, old: Object | None, body: Object, subresource: str) -> Sequence[Any]:
        problems = metadata_problems(kind, body)
        if kind.schema is not None and kind.group != AGGREGATED:
            problems += self._new_problems(kind, old, body, subresource)
        return problems

    def _new_problems(self, kind: Kind, old: Object | None, body: Object, subresource: str) -> Sequence[Any]:
        """Violations of the schema; on update those that were there before are tolerated."""
        schema = schema_of(kind, subresource)
        found = [problem for problem in validate(schema, body) if not problem.field.startswith("metadata.")]
        if not found or old is None:
            return found
        before = set(validate(schema, old))
        return [problem for problem in found if problem not in before]


def _same(old: Object, new: Object) -> bool:
    """Whether nothing but times of managedFields differs."""
    if old is new:
        return True
    if {**old, "metadata": None} != {**new, "metadata": None}:
        return False
    before, after = dict(old["metadata"]), dict(new["metadata"])
    for metadata in (before, after):
        metadata.pop("resourceVersion", None)
        entries = metadata.pop("managedFields", None) or []
        metadata["managedFields"] = sorted(
            ({key: value for key, value in entry.items() if key != "time"} for entry in entries),
            key=lambda entry: (entry["manager"], entry["operation"], entry.get("subresource", "")),
        )
    return before == after
