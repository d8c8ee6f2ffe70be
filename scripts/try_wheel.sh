#!/usr/bin/env bash
# Builds the wheel, installs it into a fresh environment away from the sources, runs it there.
set -euo pipefail
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
.venv/bin/python -m build --wheel --no-isolation --outdir "$work/dist" . >/dev/null
"${PYTHON:-python3}" -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check --require-hashes -r requirements/runtime.txt
"$work/venv/bin/pip" install --quiet --disable-pip-version-check --no-deps "$work"/dist/*.whl
root=$PWD
cd "$work"
venv/bin/gitops-vg --version
venv/bin/gitops-vg validate -C "$root"
venv/bin/gitops-vg demo
