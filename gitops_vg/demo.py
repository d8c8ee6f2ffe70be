"""The main job, end to end, on the embedded control plane: what `make demo` shows.

Everything is real but the clusters: a Git repository in a temporary folder, the embedded karmada-apiserver
with the nodes of the sample fleet, and the same functions that the commands call.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

from gitops_vg import pipeline
from gitops_vg.compiler import dump_yaml
from gitops_vg.errors import Denied, GitopsVgError, GuardError
from gitops_vg.gitstore import PublishResult, RenderedTree, Repository, start_repository
from gitops_vg.kube import ApiServer, connect
from gitops_vg.objects import GroupKind, ObjectKey
from gitops_vg.reconcile import BindingState, binding_states
from gitops_vg.report import capacity as capacity_report
from gitops_vg.report import drift as drift_report
from gitops_vg.report import plan as plan_report
from gitops_vg.report import rendered as rendered_report
from gitops_vg.report import sync as sync_report
from gitops_vg.report.text import Style, count
from gitops_vg.sandbox import KARMADA, Sandbox

_SETTLES_WITHIN = 15.0
_QUEUE = ObjectKey("scheduling.volcano.sh", "Queue", "", "reports")
_SHOP = ObjectKey("apps", "Deployment", "web", "shop")
FLEET = ("gitops-vg.yaml", "clusters", "policies", "workloads")


def sample_fleet() -> Path:
    """The sample fleet: in a checkout the top level of the repository, in an installed wheel a folder of the package."""
    package = Path(__file__).resolve().parent
    packed = package / "sample"
    return packed if packed.is_dir() else package.parent


class Demo:
    """One showing. `say` prints a paragraph; `run` gives False when something was not as it has to be."""

    def __init__(self, *, say: Callable[[str], None], style: Style) -> None:
        self._say = say
        self._style = style
        self._failed: list[str] = []
        self._digest = ""

    def run(self) -> bool:
        """Show everything. Raises GitopsVgError where a step cannot be done at all."""
        with _fleet_copy() as folder, Sandbox.start(job_seconds=20) as sandbox:
            server = connect(kubeconfig=str(sandbox.kubeconfig), context=KARMADA)
            repository = start_repository(folder, message="The sample fleet")
            self._fleet(server, folder)
            tree = self._publish(repository, server)
            self._apply(server, tree)
            self._bindings(server, tree)
            self._edit(sandbox, server, tree)
            self._refusal(repository, server)
            self._lift(repository, server, sandbox)
        if self._failed:
            self._say("\n".join(["not as it has to be:", *self._failed]))
        return not self._failed

    # ------------------------------------------------------------ the steps

    def _fleet(self, server: ApiServer, folder: Path) -> None:
        intents = pipeline.load(folder)
        self._head("The fleet and its free capacity")
        now = pipeline.utc_now()
        _wait(lambda: len(server.list(GroupKind("cluster.karmada.io", "Cluster"))) == len(intents.clusters))
        snapshot = pipeline.capture(server, intents, now=now)
        self._say(capacity_report.as_text(snapshot, now=now, style=self._style))
        self._head("The plan, with a reason for each workload")
        rendering = pipeline.decide(intents, snapshot, previous={})
        self._say(plan_report.as_text(rendering.plan, previous={}, style=self._style))
        for key in ("ml/bert-training", "ml/llm-pretraining"):
            self._say(plan_report.explanation(rendering.plan.decision[key], plan=rendering.plan, style=self._style))

    def _publish(self, repository: Repository, server: ApiServer) -> RenderedTree:
        self._head("The commit: manifests for Volcano and Karmada on the branch `rendered`")
        result, rendering = self._published(repository, server)
        self._say(rendered_report.published_text(result, style=self._style))
        return pipeline.rendered_tree(repository, rendering.intents.fleet.spec.rendered.branch)

    def _published(self, repository: Repository, server: ApiServer) -> tuple[PublishResult, pipeline.Rendering]:
        return pipeline.publish_fleet(
            repository, snapshot_of=lambda intents: pipeline.capture(server, intents, now=pipeline.utc_now())
        )

    def _apply(self, server: ApiServer, tree: RenderedTree) -> None:
        self._head("The apply, in order: interpreters, namespaces, policies, queues, then workloads")
        plan, result = pipeline.sync_fleet(server, tree)
        self._say(sync_report.result_text(plan, result, style=self._style))
        self._expect(not result.failures, "an object could not be applied")

    def _bindings(self, server: ApiServer, tree: RenderedTree) -> None:
        self._head("What Karmada made of it: every binding as planned")

        def states() -> tuple[BindingState, ...]:
            return tuple(binding_states(server, tree))

        _wait(lambda: all(not state.differs and not state.trouble for state in states()))
        self._say(drift_report.bindings_text(states(), style=self._style))
        self._expect(all(not state.differs for state in states()), "a binding differs from the plan")

    def _edit(self, sandbox: Sandbox, server: ApiServer, tree: RenderedTree) -> None:
        self._head("Somebody edits the Deployment web/shop by hand")
        kind = sandbox.karmada.kind("apps", "Deployment")
        patch = {"spec": {"template": {"spec": {"containers": [{"name": "shop", "image": "shop:2.4-hotfix"}]}}}}
        sandbox.call(
            lambda: sandbox.karmada.patch(kind, "web", "shop", patch, patch_type="strategic", manager="kubectl-edit")
        )
        found = pipeline.drift_of(server, tree)
        self._say(drift_report.as_text(found, style=self._style))
        self._expect(any(item.key == _SHOP and item.changes for item in found.drifted), "the edit was not found")
        plan, result = pipeline.sync_fleet(server, tree)
        self._say("repaired:\n" + sync_report.result_text(plan, result, style=self._style))
        self._expect(pipeline.drift_of(server, tree).is_empty, "the edit was not repaired")

    def _refusal(self, repository: Repository, server: ApiServer) -> None:
        self._head("Somebody deletes the protected queue `reports`: refused twice")
        live = server.get(_QUEUE)
        assert live is not None
        try:
            server.delete(_QUEUE, uid=live["metadata"]["uid"])
            self._expect(False, "the control plane let the queue be deleted")
        except Denied as error:
            self._say(f"by the control plane: {error.message}")
        self._retire_queue(repository, message="Retire the queue reports")
        try:
            self._published(repository, server)
            self._expect(False, "the removal of a protected queue was published")
        except GuardError as error:
            lines = [f"by gitops-vg: {error.message}", *(f"    {reason}" for reason in error.reasons)]
            self._say("\n".join([*lines, f"    plan {error.digest}", f"    {error.hint}"]))
            self._digest = error.digest

    def _lift(self, repository: Repository, server: ApiServer, sandbox: Sandbox) -> None:
        self._head("An Approval of exactly this plan, and the protection is lifted")
        approval = {
            "apiVersion": "gitops-vg.io/v1alpha1",
            "kind": "Approval",
            "metadata": {"name": "retire-reports"},
            "spec": {
                "plan": self._digest,
                "reason": "the reports moved to queue ai-training",
                "expires": (pipeline.utc_now() + timedelta(days=7)).date().isoformat(),
            },
        }
        path = repository.root / "policies/approvals/retire-reports.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dump_yaml(approval), encoding="utf-8")
        repository.commit_all("Approve the retirement of the queue reports")
        self._say(path.read_text(encoding="utf-8").rstrip())
        result, rendering = self._published(repository, server)
        self._say(rendered_report.published_text(result, style=self._style))
        tree = pipeline.rendered_tree(repository, rendering.intents.fleet.spec.rendered.branch)
        plan, done = pipeline.sync_fleet(server, tree)
        self._say(sync_report.result_text(plan, done, style=self._style))
        _wait(lambda: server.get(_QUEUE) is None)
        self._expect(server.get(_QUEUE) is None, "the queue is still there")
        left = [name for name in sandbox.apis if name != KARMADA and self._in_member(sandbox, name)]
        self._expect(not left, f"the queue is still in {', '.join(left)}")
        self._expect(pipeline.drift_of(server, tree).is_empty, "something differs at the end")
        self._say("the queue is gone from the control plane and from every member; nothing else was touched")

    def _in_member(self, sandbox: Sandbox, name: str) -> bool:
        """Whether a member still has the queue; Karmada takes a moment to take it back."""

        def there() -> bool:
            api = sandbox.apis[name]
            return api.find(api.kind(_QUEUE.group, _QUEUE.kind), "", _QUEUE.name) is not None

        _wait(lambda: not sandbox.call(there))
        return sandbox.call(there)

    def _retire_queue(self, repository: Repository, *, message: str) -> None:
        """The change a person would make: the queue goes, and the report moves to another one."""
        queues = repository.root / "policies/queues.yaml"
        kept = [part for part in queues.read_text(encoding="utf-8").split("---\n") if "name: reports" not in part]
        queues.write_text("---\n".join(kept), encoding="utf-8")
        report = repository.root / "workloads/nightly-report.yaml"
        report.write_text(report.read_text(encoding="utf-8").replace("queue: reports", "queue: ai-training"))
        repository.commit_all(message)

    # ------------------------------------------------------------ saying

    def _head(self, text: str) -> None:
        self._say(self._style.paint(f"\n== {text}", "bold"))

    def _expect(self, true: bool, otherwise: str) -> None:
        if not true:
            self._failed.append(otherwise)


@contextmanager
def _fleet_copy() -> Iterator[Path]:
    """The sample fleet in a temporary folder of its own."""
    source = sample_fleet()
    missing = [name for name in FLEET if not (source / name).exists()]
    if missing:
        raise GitopsVgError(
            f"the sample fleet is incomplete: {', '.join(missing)}", hint="run the demo from a checkout"
        )
    with tempfile.TemporaryDirectory(prefix="gitops-vg-demo-") as folder:
        for name in FLEET:
            path = source / name
            if path.is_dir():
                shutil.copytree(path, Path(folder) / name)
            else:
                shutil.copy(path, Path(folder) / name)
        yield Path(folder)


def _wait(condition: Callable[[], bool]) -> None:
    """Until it is true, or long enough: what is not true then is said by the step itself."""
    deadline = time.monotonic() + _SETTLES_WITHIN
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.05)


def summary(seconds: float) -> str:
    """The last line."""
    return f"done in {seconds:.1f} s; {count(3, 'cluster')} of 20 real nodes each, nothing left behind"
