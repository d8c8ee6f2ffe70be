"""Writes the files that are derived from code: docs/rules.md, docs/commands.md, schemas/.

`--check` writes nothing and fails when one of them is not current (used by `make lint`).
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

os.environ["COLUMNS"] = "100"

import click

from gitops_vg import rules
from gitops_vg.cli.app import COMMANDS, app
from gitops_vg.intents import json_schemas
from gitops_vg.report import rules as rule_report

ROOT = Path(__file__).resolve().parents[1]


def commands_page() -> str:
    """Every command's own help, in the order of `gitops-vg --help`."""
    parts = ["# Commands\n\nWhat `gitops-vg COMMAND --help` prints. Written by `make docs`.\n"]
    with click.Context(app, info_name="gitops-vg") as parent:
        for name in COMMANDS:
            command = app.get_command(parent, name)
            assert command is not None
            with click.Context(command, info_name=name, parent=parent, max_content_width=100) as context:
                parts.append(f"## {name}\n\n```\n{command.get_help(context).rstrip()}\n```\n")
    return "\n".join(parts)


def rules_page() -> str:
    """Every rule with its reason and an example of wrong and right."""
    known = rules.registry()
    parts = [f"# Rules\n\n{len(known)} rules; `gitops-vg rules CODE` prints one. Written by `make docs`.\n"]
    for rule in known:
        data = rule_report.rule_data(rule)
        parts.append(f"## {rule.code}: {rule.title}\n\n*{rule.severity}* – {data['explanation']}\n")
        parts += [f"{word}:\n\n```yaml\n{data[word]}\n```\n" for word in ("wrong", "right") if data[word]]
    return "\n".join(parts)


def generated() -> Iterator[tuple[Path, str]]:
    """Each file with its content as it should be."""
    yield ROOT / "docs/commands.md", commands_page()
    yield ROOT / "docs/rules.md", rules_page()
    for kind, schema in json_schemas().items():
        yield ROOT / f"schemas/{kind.lower()}.json", json.dumps(schema, indent=2, sort_keys=True) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="only tell whether the files are current")
    check = parser.parse_args().check
    stale = []
    for path, text in generated():
        if path.is_file() and path.read_text(encoding="utf-8") == text:
            continue
        stale.append(path.relative_to(ROOT))
        if not check:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    for path in stale:
        print(f"{'not current' if check else 'wrote'}: {path}")
    if check and stale:
        print("run `make docs` and commit what it wrote")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
