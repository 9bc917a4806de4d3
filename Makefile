# Every target sets up what it needs in .venv and is quick when run again.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check -q

.PHONY: help demo test lint docs bench asv golden setup clean
help:  ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "make %-8s %s\n", $$1, $$2}'

.venv/pip.stamp:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "coterie needs Python 3.11 or newer; set PYTHON=python3.x")'
	$(PYTHON) -m venv .venv
	$(PIP) install --upgrade "pip>=25.1"
	@touch $@

.venv/core.stamp: .venv/pip.stamp pyproject.toml
	$(PIP) install -e ".[io]"
	@touch $@

.venv/%.group: .venv/core.stamp
	$(PIP) install --group $*
	@touch $@

setup: .venv/core.stamp  ## the library and its command in .venv

demo: .venv/core.stamp  ## cluster an embedded data set and write the labels to demo/
	$(BIN)/coterie demo --out demo

test: .venv/core.stamp .venv/test.group  ## all tests
	$(BIN)/python -m pytest

lint: .venv/core.stamp .venv/lint.group  ## style, types and import layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: .venv/core.stamp .venv/docs.group  ## the documentation site in docs/_build/html
	$(BIN)/sphinx-build -W --keep-going -q -b html docs docs/_build/html

bench: .venv/core.stamp .venv/test.group  ## speed ratios measured in one run
	$(BIN)/python benchmarks/ratios.py

asv: .venv/core.stamp .venv/bench.group  ## time, memory and agreement by size, with asv
	cd benchmarks && ../$(BIN)/asv machine --yes --config asv.conf.json >/dev/null
	cd benchmarks && ../$(BIN)/asv run --config asv.conf.json --python=same --quick

golden: .venv/core.stamp .venv/test.group  ## agreement with the authors' own runs, where the data are
	$(BIN)/python -m tests.golden.agreement

clean:  ## remove everything that was made
	rm -rf .venv demo docs/_build .pytest_cache .mypy_cache .ruff_cache .hypothesis
