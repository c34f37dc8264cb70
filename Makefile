# Everything sets itself up: a virtual environment in .venv, with pinned versions, made when it is missing or stale.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
WORKERS ?= auto

.PHONY: help demo test test-all lint docs bench format clean

help:
	@echo "make demo      plan, audit and draw two generated maps into demo-out/"
	@echo "make test      lint, types, import rules, tests, documentation (minutes)"
	@echo "make test-all  the same with the slow tests"
	@echo "make docs      the documentation into docs/_build/html"
	@echo "make bench     speed and memory against scipy"

demo: $(VENV)/.installed
	$(BIN)/veilroute demo --out demo-out

test: lint $(VENV)/.installed-dev
	$(BIN)/python -m pytest -q -n $(WORKERS) -m "not slow"
	$(MAKE) docs

test-all: lint $(VENV)/.installed-dev
	$(BIN)/python -m pytest -q -n $(WORKERS)
	$(MAKE) docs

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: $(VENV)/.installed-dev
	$(BIN)/python -m sphinx -q -W --keep-going -b doctest docs docs/_build/doctest
	$(BIN)/python -m sphinx -q -W --keep-going -b html docs docs/_build/html

bench: $(VENV)/.installed-dev
	$(BIN)/python benchmarks/sweeps.py
	$(BIN)/python benchmarks/covering.py
	$(BIN)/python benchmarks/heuristics.py
	$(BIN)/python benchmarks/plan_speed.py

format: $(VENV)/.installed-dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

$(VENV)/.installed: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "veilroute needs Python 3.11 or later; set PYTHON=... to one"; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) install --quiet -c constraints.txt -e .
	touch $@

$(VENV)/.installed-dev: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "veilroute needs Python 3.11 or later; set PYTHON=... to one"; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) install --quiet -c constraints.txt -e ".[dev]"
	touch $(VENV)/.installed $@

clean:
	rm -rf $(VENV) demo-out docs/_build .mypy_cache .ruff_cache .pytest_cache .hypothesis
