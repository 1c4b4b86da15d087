# Everything runs in .venv, which `make` sets up by itself. PYTHON chooses the interpreter to make it with, VENV another
# folder, and VERSIONS another list of versions.
PYTHON ?= python3
VENV ?= .venv
VERSIONS ?= constraints.txt
BIN := $(VENV)/bin
INSTALLED := $(VENV)/installed

# Modules are compiled when they are imported for the first time. Pip would compile all modules of all dependencies,
# most of which are never imported, and would take twice as long.
unexport PYTHONDONTWRITEBYTECODE
PIP_INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --constraint $(VERSIONS)

.PHONY: help demo docs pages test slow quick shown mutate check lint types types_of_package tests bench page clean

help:
	@echo "make demo    set up, analyze the sample treebank with the demo model, print the table"
	@echo "make test    set up, then ruff, mypy, the pages and the tests that are not marked as slow"
	@echo "make slow    the tests that are marked as slow (families, whole corpora, kills), and shapes of arrays"
	@echo "make quick   the tests of single modules alone"
	@echo "make shown   renew what the tests compare tables, figures and pages with; then look at git diff"
	@echo "make mutate  plant small faults one at a time; the test named beside each must notice it"
	@echo "make check   ruff and mypy"
	@echo "make pages   build the documentation without running the tutorials"
	@echo "make docs    build the documentation, with all tutorials executed; needs no network once it is set up"
	@echo "make page    build the script and the styles of the report (needs Node.js and npm)"
	@echo "make bench   time and memory against the plain forward pass"
	@echo "make clean   remove .venv and caches"

$(INSTALLED): pyproject.toml hatch_build.py $(VERSIONS)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Python 3.11 or newer is needed; name one: make PYTHON=python3.12 ..."; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(PIP_INSTALL) --upgrade pip  # the one of an older Python takes twice as long to choose versions
	$(PIP_INSTALL) --editable '.[demo,dev,docs,translation,tree]'
	touch $@

demo: $(INSTALLED)
	$(BIN)/attentionology analyze --control random-init:3 --gradients hidden --out runs/demo --overwrite

mutate: $(INSTALLED)
	OMP_NUM_THREADS=1 CHECK_SHAPES=0 $(BIN)/python -m tests.mutate

check: lint types

lint: $(INSTALLED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(INSTALLED)
	$(BIN)/mypy

# Those of the tests, which are as much code again, are checked with the slow tests.
types_of_package: $(INSTALLED)
	$(BIN)/mypy src/attentionology benchmarks docs hatch_build.py

# Names in docstrings must exist (-n), and a warning is an error (-W). Every build is a full one (-E), and the site holds
# nothing but its pages, so that two builds of the same source are equal.
SPHINX = HF_HUB_OFFLINE=1 OMP_NUM_THREADS=1 $(BIN)/sphinx-build -W -n -E --keep-going --quiet -b html

docs: $(INSTALLED)
	rm -rf build/site
	$(SPHINX) -d build/doctrees docs build/site
	@echo build/site/index.html

# Without running the tutorials, which take most of the time of a build.
pages: $(INSTALLED)
	rm -rf build/pages
	$(SPHINX) -D nb_execution_mode=off -d build/pages/doctrees docs build/pages/site

# One process more than there are cores, because tests of commands wait for other processes and for a browser.
PROCESSES = $(shell $(PYTHON) -c 'import os; print(min(5, 1 + os.cpu_count()))')

# Several processes of one thread each; several threads in each of them would wait for each other. They take the files
# in the order of tests/conftest.py, the longest first. THREADS=2 shows whether results depend on the number of threads.
THREADS ?= 1
PYTEST = OMP_NUM_THREADS=$(THREADS) $(BIN)/python -m pytest --numprocesses $(PROCESSES) --dist loadfile --no-loadscope-reorder

# Mypy and then the pages, which are one process each and take about a minute, are made beside the first tests.
test: lint
	$(MAKE) --no-print-directory --jobs 2 types_of_package tests pages

# Several processes that import everything for the first time would all compile the same modules. One does it before them,
# once in an environment, beside mypy. What it finds wrong is found again by the tests.
$(VENV)/compiled: $(INSTALLED)
	CHECK_SHAPES=0 $(BIN)/python -m pytest --collect-only --quiet tests > $@ || true

tests: $(VENV)/compiled
	CHECK_SHAPES=0 $(PYTEST) -m "not slow" tests/unit tests/reference tests/acceptance

# With shapes checked, which the other tests leave out.
slow: $(INSTALLED) types
	$(PYTEST) tests/unit tests/reference
	CHECK_SHAPES=0 $(PYTEST) -m slow tests/acceptance

quick: $(INSTALLED)
	CHECK_SHAPES=0 $(PYTEST) -m "not slow" tests/unit tests/reference

shown: $(INSTALLED)
	OMP_NUM_THREADS=1 CHECK_SHAPES=0 $(BIN)/python -m tests.renew --numprocesses $(PROCESSES) --dist loadfile

bench: $(INSTALLED)
	$(BIN)/python -m benchmarks.dependency
	$(BIN)/python -m benchmarks.engine
	$(BIN)/python -m benchmarks.operations
	$(BIN)/python -m benchmarks.parts
	$(BIN)/python -m benchmarks.corpus --longest 10
	$(BIN)/python -m benchmarks.norms
	$(BIN)/python -m benchmarks.surface
	$(BIN)/python -m benchmarks.coreference
	$(BIN)/python -m benchmarks.alignment
	$(BIN)/python -m benchmarks.probes
	$(BIN)/python -m benchmarks.explanation
	$(BIN)/python -m benchmarks.lengths
	$(BIN)/python -m benchmarks.page
	$(BIN)/python -m benchmarks.wait

# The packages are removed afterwards, because a source distribution that is built beside them would hold them.
page:
	cd reports/page && npm ci --no-audit --no-fund && npm run check && npm run build
	rm -rf reports/page/node_modules

clean:
	rm -rf .venv .mypy_cache .pytest_cache .ruff_cache .hypothesis
