# make demo   train a small GPT with a mistake and without, start TensorBoard on what is logged
# make test   everything that CI runs
# make bits   compare trainings with and without a watch, bit by bit, over all of torch's operators (an hour)
# make battery  train with planted faults and without, see what is found, write docs/battery.md (minutes)
# make compat  run with other versions (some hours); see tests/compat/run.py
# Also: lint, coverage, slow, fuzz, sanitize, wheel, bench, bench-panel, screenshots, clean.
#
# Variables:
#   PYTHON=python3.12    the interpreter for .venv
#   SERVE=0              for make demo: do not start TensorBoard
#   LOGDIR=runs/demo     where make demo writes
#   PORT=8000            where make demo serves; by default 6006 or the next free port
#   ROWS="2.8 newest"    for make compat: rows of tests/compat/versions.csv; TESTS=all runs more tests
#   COVERED=tests/record  what make coverage runs; by default all tests
#   WORKERS=4            number of processes of make test, if there are more than 2 cores
#   TORCH_INDEX=URL      additional package index for torch, such as that of its CPU builds

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.PHONY: demo test bits battery slow fuzz sanitize compat lint coverage frontend browser bench bench-panel wheel screenshots clean

PYTHON ?= python3
SERVE ?= 1
LOGDIR ?= runs/demo
PORT ?=
WORKERS ?= 2
TORCH_INDEX ?=
BITS ?=
ROWS ?=
TESTS ?=
FUZZ_EXAMPLES ?= 1000
COVERED ?= tests

BIN := .venv/bin
INPUTS := setup.cfg pyproject.toml constraints.txt setup.py $(wildcard tb_gradgraph/summarize/csrc/*)

demo: .venv/installed
	$(BIN)/tb-gradgraph demo --logdir $(LOGDIR) $(if $(PORT),--port $(PORT)) $(if $(filter 0,$(SERVE)),--no-serve)

test: .venv/installed-test browser
	WORKERS=$(WORKERS) .ci/test

# BITS="--only ^linalg --dtype float32" for a part of it
bits: .venv/installed-test
	$(BIN)/python -m tests.bits --processes $(WORKERS) $(BITS)

# To tune a rule, run the module with --half first --logs DIR: it trains only once.
battery: .venv/installed-test
	$(BIN)/python -m tests.diagnose.battery.run_battery --jobs $(WORKERS) --write

# Slow tests that rarely break. Each is marked, with the reason.
slow: .venv/installed-test browser
	.ci/install_browsers
	$(BIN)/python -m pytest -m slow --numprocesses $(WORKERS) --dist loadfile

# Random records, requests and tensors, different each time: FUZZ_EXAMPLES of each kind.
fuzz: .venv/installed-test
	FUZZ_EXAMPLES=$(FUZZ_EXAMPLES) $(BIN)/python -m pytest tests/fuzz

sanitize: .venv/installed-test
	.ci/sanitize $(BIN)/python

compat: slow bits fuzz sanitize
	$(BIN)/python -m tests.compat.run $(ROWS) $(if $(TESTS),--tests $(TESTS))
	$(BIN)/python -m pip install --quiet --no-deps -r tests/compat/requirements-models.txt
	$(BIN)/python -m tests.compat.healthy_models

lint: .venv/installed-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check --quiet .
	$(BIN)/mypy
	$(BIN)/codespell
	$(BIN)/clang-format --dry-run --Werror tb_gradgraph/summarize/csrc/*.[ch]
	.ci/check_frontend lint
	$(BIN)/python -m tests.count_lines

# Coverage of Python, including processes that tests start, and of TypeScript. A failing test does not
# end it, because some tests check for tracers, and coverage is one.
coverage: .venv/installed-test browser
	$(BIN)/coverage erase
	-$(BIN)/coverage run -m pytest -q --numprocesses $(WORKERS) --dist loadfile $(COVERED)
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report
	.ci/check_frontend coverage

frontend: browser
	.ci/check_frontend

browser: .venv/installed-test
	.ci/install_chromium $(BIN)/python

bench: .venv/installed-test
	$(BIN)/python -m tests.benchmarks.run --write
	$(BIN)/python -m tests.benchmarks.watch_cost --write

bench-panel: .venv/installed-test browser
	$(BIN)/python -m tests.benchmarks.panel_cost --write

screenshots: .venv/installed-test browser
	$(BIN)/python -m tests.browser.make_screenshots
	$(BIN)/python -m tests.browser.gallery.make_gallery

# A stale build/ would add files of earlier builds to the wheel.
wheel: .venv/created
	rm -rf build
	$(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir dist .
	rm -rf build
	ls -l dist

clean:
	rm -rf .venv build dist runs *.egg-info frontend/node_modules .pytest_cache .ruff_cache .mypy_cache .coverage* frontend/coverage

.venv/created:
	.ci/create_venv $(PYTHON)
	touch $@

.venv/installed: $(INPUTS) | .venv/created
	.ci/install_package . $(TORCH_INDEX)
	touch $@

.venv/installed-test: $(INPUTS) | .venv/created
	.ci/install_package '.[test,integrations]' $(TORCH_INDEX)
	touch .venv/installed $@
