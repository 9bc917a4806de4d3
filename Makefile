# Every target sets up what it needs in .venv and is quick when run again.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check -q

.PHONY: help demo browser test lint lock docs bench bench-speed bench-docs asv golden adversarial determinism fuzz coverage mutants setup clean
help:  ## list these targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "make %-12s %s\n", $$1, $$2}'

.venv/pip.stamp:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "coterie needs Python 3.11 or newer; set PYTHON=python3.x")'
	$(PYTHON) -m venv .venv
	$(PIP) install --upgrade "pip>=25.1"
	@touch $@

.venv/core.stamp: .venv/pip.stamp pyproject.toml
	$(PIP) install -e ".[io,report]"
	@touch $@

.venv/%.group: .venv/core.stamp
	$(PIP) install --group $*
	@touch $@

setup: .venv/core.stamp  ## install the library and its command in .venv

demo: .venv/core.stamp  ## cluster a built-in data set; writes labels and a report to demo/
	$(BIN)/coterie demo --out demo

SPREAD := --numprocesses=auto --dist=worksteal

# Debian's chromium and axe-core, for the tests of the report. If one of them cannot be installed, its
# tests are skipped and say why. Remove .venv/browser.stamp to try again.
APT := $(shell test "$$(id -u)" = 0 || echo "sudo -n") env DEBIAN_FRONTEND=noninteractive apt-get -qq

.venv/browser.stamp: .venv/core.stamp
	@$(PIP) install "playwright>=1.45" || echo "no playwright: the browser tests will be skipped"
	@{ command -v chromium || command -v chromium-browser; } >/dev/null \
	  || { command -v apt-get >/dev/null && $(APT) update && $(APT) install -y --no-install-recommends chromium; } >/dev/null 2>&1 \
	  || echo "no chromium: the browser tests will be skipped"
	@{ command -v npm >/dev/null && npm install --prefix .venv/node --no-audit --no-fund --silent axe-core@4; } >/dev/null 2>&1 \
	  || echo "no axe-core: the accessibility tests will be skipped"
	@touch $@

browser: .venv/browser.stamp  ## install a browser for the tests of the report, if possible

test: .venv/core.stamp .venv/test.group .venv/browser.stamp  ## run all tests
	$(BIN)/python -m pytest $(SPREAD)

lint: .venv/core.stamp .venv/lint.group  ## check style, types, import layers and locked dependencies
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m tests.adversarial.dependencies

lock: .venv/core.stamp .venv/lock.group  ## update requirements.lock: newest versions, with hashes
	@grep '^#' requirements.lock >.venv/lock.txt
	$(BIN)/pip-compile --quiet --upgrade --generate-hashes --extra io --extra report --strip-extras --no-header \
	  --no-emit-index-url --no-emit-trusted-host --no-emit-find-links -o .venv/packages.txt pyproject.toml
	@cat .venv/packages.txt >>.venv/lock.txt
	@mv .venv/lock.txt requirements.lock

docs: .venv/core.stamp .venv/docs.group  ## build the documentation site in docs/_build/html
	$(BIN)/sphinx-build -W --keep-going -q -b html docs docs/_build/html

bench: .venv/core.stamp .venv/test.group  ## print speed ratios, each measured in one run
	$(BIN)/python benchmarks/ratios.py

bench-speed: .venv/core.stamp .venv/test.group  ## compare speed with n x n, scipy and the machine; peak memory; growth
	$(BIN)/python benchmarks/ratios.py compression eac twins
	$(BIN)/python benchmarks/bounds.py
	$(BIN)/python benchmarks/scale.py --growth

bench-docs: .venv/core.stamp .venv/test.group  ## run the specs and write docs/benchmarks (an hour or two)
	$(BIN)/python benchmarks/docs.py

asv: .venv/core.stamp .venv/bench.group  ## measure time, memory and agreement by size with asv
	cd benchmarks && ../$(BIN)/asv machine --yes --config asv.conf.json >/dev/null
	cd benchmarks && ../$(BIN)/asv run --config asv.conf.json --python=same --quick

golden: .venv/core.stamp .venv/test.group  ## compare with the authors' own runs, if their data are available
	$(BIN)/python -m tests.golden.agreement

adversarial: .venv/core.stamp .venv/test.group .venv/newest.stamp  ## attack with awkward ensembles, damaged files, kills and faults; fails on any violation
	$(BIN)/python -m tests.adversarial --cases 100

# The newest other Python, to compare results with. If there is none, that comparison is left out.
.venv/newest.stamp: .venv/core.stamp
	-@$(BIN)/python -m tests.adversarial.pythons .venv/newest
	@touch $@

determinism: .venv/core.stamp .venv/test.group .venv/newest.stamp  ## check that results are equal across threads, BLAS kernels and Python versions
	$(BIN)/python -m tests.adversarial determinism

fuzz: .venv/core.stamp .venv/test.group .venv/fuzz.group  ## fuzz each reader for ten minutes, guided by coverage
	$(BIN)/python -m tests.adversarial guided --cases 600

# Coverage cannot see into compiled kernels, so tests with small inputs run a second time with the kernels
# interpreted, file by file. Some of them run out of time there. Such failures are ignored: the first run
# decides whether tests pass. Each property gets few examples, because both runs only measure coverage.
TRACED := $(BIN)/coverage run -m pytest -q --hypothesis-profile=few
INTERPRETED := $(wildcard $(foreach place,numerics evidence,tests/$(place)/test_*.py)) \
  $(foreach method,bce ceshl rce sccbg spce trce voting,tests/solvers/test_$(method).py) \
  tests/test_consensus.py tests/scale/test_pool.py
FORGIVING := --timeout=10 -o timeout_func_only=true --tb=no -W "ignore:overflow encountered:RuntimeWarning"

coverage: .venv/core.stamp .venv/test.group .venv/coverage.group .venv/browser.stamp  ## measure the lines and branches that tests reach
	@mkdir -p build/coverage
	$(BIN)/coverage erase
	$(TRACED) $(SPREAD)
	printf '%s\n' $(INTERPRETED) | NUMBA_DISABLE_JIT=1 xargs -P "$$(nproc)" -I FILE \
	  sh -c 'timeout -k 10 240 $(TRACED) $(FORGIVING) FILE || true' >build/coverage/interpreted.log 2>&1
	$(BIN)/coverage combine -q
	$(BIN)/coverage json -q -o build/coverage/report.json
	$(BIN)/python -m tests.adversarial.floors build/coverage/report.json

mutants: .venv/core.stamp .venv/test.group .venv/mutants.group  ## make a sample of changes to the code; tests must notice them
	$(BIN)/python -m tests.adversarial.mutants

clean:  ## remove everything that these targets made
	rm -rf .venv build demo docs/_build docs/_made docs/api docs/gallery .asv .pytest_cache .mypy_cache .ruff_cache .hypothesis
