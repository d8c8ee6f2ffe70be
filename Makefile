# Every task a person or CI runs. `make help` lists them.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
CONTROLPLANE = $$(scripts/build_controlplane.sh --where)

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-e2e lint format bench docs wheel clean

help: ## list the targets
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 12

setup: $(STAMP) ## create the virtual environment (hashed requirements)

$(STAMP): requirements/dev.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "gitops-vg needs Python 3.11 or newer; set PYTHON=python3.x" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.txt
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $(STAMP)

demo: setup ## run the main job, end to end, on the embedded control plane
	@$(BIN)/gitops-vg demo

test: setup ## run the tests (no Go, no cluster)
	$(BIN)/pytest -n auto -m "not e2e"

test-e2e: setup ## build a real control plane (needs Go) and run the end-to-end tests on it
	scripts/build_controlplane.sh
	$(BIN)/pytest -m e2e

lint: setup ## types, style, layer contracts, generated files current
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python scripts/generated.py --check

format: setup ## format the code, fix what can be fixed
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: setup ## print every benchmark with its target
	$(BIN)/python benchmarks/run.py

docs: setup ## write the generated files: docs/rules.md, docs/commands.md, schemas/
	$(BIN)/python scripts/generated.py

wheel: setup ## build the wheel and run it from a fresh environment
	scripts/try_wheel.sh

clean: ## remove what was built
	rm -rf $(VENV) dist build *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
