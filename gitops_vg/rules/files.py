"""Rules about files: found while reading (gitops_vg/intents), described here."""

from __future__ import annotations

from gitops_vg.findings import Severity
from gitops_vg.rules.examples import documents, queue, workload
from gitops_vg.rules.registry import Rule

_JOB = "queue: ai-training\njob: {tasks: [{name: main, image: 'train:1'}]}"


def _file_rule(
    code: str, title: str, explanation: str, *, wrong: str = "", right: str = "", severity: Severity = Severity.ERROR
) -> Rule:
    return Rule(code, severity, title, explanation, wrong, right)


unreadable = _file_rule(
    "GVG101", "a file cannot be read",
    "A folder with a file's name, a broken link, a device, or missing permissions. An intent that cannot be read "
    "must never count as one that is gone: nothing is planned or deleted until it can be read.",
)  # fmt: skip

too_large = _file_rule(
    "GVG102", "a file is larger than what is read",
    "One file may have 1 MiB and 1,000 documents. etcd refuses larger objects anyway, and a large file is mostly "
    "one that got there by accident.",
)  # fmt: skip

not_text = _file_rule(
    "GVG103", "a file is not UTF-8 text",
    "YAML is read as UTF-8; a byte order mark at the start is tolerated.",
)  # fmt: skip

not_yaml = _file_rule(
    "GVG104", "a file is not YAML",
    "The place is where the parser gave up; the mistake is often in the line above.",
    wrong="apiVersion: gitops-vg.io/v1alpha1\nkind: Queue\nmetadata: {name: research\n",
    right=queue("research", "weight: 2"),
)  # fmt: skip

twice_in_map = _file_rule(
    "GVG105", "a key stands twice in one map",
    "Some readers take the first, some the last, some refuse: what was meant cannot be known (YAML 1.2 §3.2.1.3 "
    "demands unique keys).",
    wrong=queue("research", "weight: 2\nweight: 20"),
    right=queue("research", "weight: 20"),
)  # fmt: skip

too_deep = _file_rule(
    "GVG106", "aliases or nesting beyond reason",
    "An alias may repeat a part, but not contain itself, and a document may have 50,000 values and 60 levels with "
    "its aliases written out: a few lines of aliases of aliases would otherwise fill the memory.",
    wrong=queue("research", "capability: &whole\n  cpu: *whole"),
    right=queue("research", "capability:\n  cpu: 4"),
)  # fmt: skip

tab = _file_rule(
    "GVG107", "a tab where YAML wants spaces",
    "YAML forbids tabs in indentation (YAML 1.2 §6.1): editors show them at different widths.",
    wrong="apiVersion: gitops-vg.io/v1alpha1\nkind: Queue\nmetadata:\n\tname: research\n",
    right=queue("research", "weight: 2"),
)  # fmt: skip

key_not_text = _file_rule(
    "GVG108", "a key is not text",
    "Kubernetes knows only text as keys: a number or a truth value as a key is read as different texts by different "
    "readers.",
    wrong=workload("queue: ai-training\njob: {tasks: [{name: main, image: 'train:1', env: {1: one}}]}"),
    right=workload("queue: ai-training\njob: {tasks: [{name: main, image: 'train:1', env: {\"1\": one}}]}"),
)  # fmt: skip

ambiguous = _file_rule(
    "GVG109", "a value is read differently by YAML readers",
    "YAML 1.1, YAML 1.2 and kubectl's reader disagree about words such as `on`, `NO`, `y`, and about `012`, `0o12`, "
    "`1e3`, `4e8` (think of a commit id), `12:30:45`, `1_000`, `2024-01-01`, `=`. In quotes they all read the same "
    "text. A day is taken as it is where a day is expected (Approval, spec.expires).",
    wrong=workload("queue: ai-training\njob: {tasks: [{name: main, image: 'train:1', env: {COUNTRY: NO}}]}"),
    right=workload("queue: ai-training\njob: {tasks: [{name: main, image: 'train:1', env: {COUNTRY: \"NO\"}}]}"),
)  # fmt: skip

outside = _file_rule(
    "GVG110", "a file lies outside the fleet's folder",
    "A link or a path that leads out of the repository would make the result depend on the machine, and could carry "
    "a file into Git that was never meant for it.",
    wrong=workload("manifests: {files: [../../elsewhere.yaml]}"),
)  # fmt: skip

not_an_intent = _file_rule(
    "GVG111", "a document is no intent",
    "Every document names its apiVersion and one of the seven kinds. Kubernetes objects belong into a workload's "
    "`manifests`.",
    wrong="apiVersion: gitops-vg.io/v1alpha1\nkind: Quue\nmetadata: {name: research}\n",
    right=queue("research", "weight: 2"),
)  # fmt: skip

unknown_field = _file_rule(
    "GVG112", "a field does not exist",
    "A field that nobody reads looks like a setting and is none; mostly it is a typing mistake.",
    wrong=queue("research", "wieght: 2"),
    right=queue("research", "weight: 2"),
)  # fmt: skip

missing = _file_rule(
    "GVG113", "a field is missing",
    "Only what has no default that is right for most must be written.",
    wrong=workload("queue: ai-training\njob: {tasks: [{image: 'train:1'}]}"),
    right=workload(_JOB),
)  # fmt: skip

wrong_value = _file_rule(
    "GVG114", "a value has the wrong type or form",
    "Numbers, truth values and texts are not turned into one another: what is in quotes is text.",
    wrong=queue("research", 'weight: "2"'),
    right=queue("research", "weight: 2"),
)  # fmt: skip

twice = _file_rule(
    "GVG115", "an intent is there twice",
    "Two sources for one object: whichever is read last would win, and the other silently does nothing.",
    wrong=documents(queue("research", "weight: 2"), queue("research", "weight: 20")),
    right=queue("research", "weight: 20"),
)  # fmt: skip

no_fleet = _file_rule(
    "GVG116", "there is not exactly one Fleet",
    "gitops-vg.yaml at the top says where the control plane is and what protects it. A folder without one is not a "
    "fleet, and must not be taken for an empty one.",
    wrong="apiVersion: gitops-vg.io/v1alpha1\nkind: Fleet\nmetadata: {name: second}\n",
)  # fmt: skip

unused = _file_rule(
    "GVG117", "a Kubernetes object that no workload refers to",
    "An object beside the intents is deployed only when a workload names its file in `manifests.files`; one that is "
    "named nowhere was probably forgotten.",
    wrong="apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\n",
    right=workload(
        "manifests:\n  inline:\n    - {apiVersion: v1, kind: ConfigMap, metadata: {name: settings}}", namespace="web"
    ),
)  # fmt: skip

no_match = _file_rule(
    "GVG118", "a file name or pattern matches nothing",
    "A pattern that matches no file would quietly deploy nothing, and delete what it deployed before.",
    wrong=workload("manifests: {files: [no-such-folder/*.yaml]}"),
)  # fmt: skip

secret = _file_rule(
    "GVG119", "a Secret with its values",
    "Whoever can read the repository can read the value, for ever. The value itself is never printed.",
    wrong=workload(
        "manifests:\n  inline:\n"
        "    - {apiVersion: v1, kind: Secret, metadata: {name: token}, stringData: {token: not-a-real-one}}"
    ),
    right=workload("queue: ai-training\njob: {tasks: [{name: main, image: 'train:1', template: {spec: {containers: "
                   "[{envFrom: [{secretRef: {name: token}}]}]}}}]}"),
)  # fmt: skip

tagged = _file_rule(
    "GVG120", "tags and merge keys",
    "`!tags` and `<<` are features that kubectl, Go and YAML 1.2 readers treat differently; written out, everybody "
    "reads the same.",
    wrong=queue("research", "weight: !!binary aGVsbG8="),
    right=queue("research", "weight: 2"),
)  # fmt: skip

empty = _file_rule(
    "GVG121", "a file holds no intent",
    "An emptied file reads like a deletion of everything that was in it. Delete the file, if that is meant.",
    wrong="# nothing left here\n", right=queue("research", "weight: 2"), severity=Severity.WARNING,
)  # fmt: skip
