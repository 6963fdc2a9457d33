# Every target sets up what it needs; on a fresh machine `make demo` and `make test` just work.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
BASE := $(VENV)/.base
READY := $(VENV)/.ready

# One thread each: the test workers share the cores, and benchmarks are defined on one thread.
export OPENBLAS_NUM_THREADS ?= 1
export OMP_NUM_THREADS ?= 1
# Tests start many processes, which would each compile the package again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: setup demo docs docs-figures test nightly fuzz torture check size level bench bench-regret bench-certain bench-campaigns dist dist-check format clean

setup: $(READY)

# Rebuilt when the compiled sources or the dependencies change.
SOURCES := $(shell find src -name '*.pyx' -o -name '*.pxd' -o -name '*.h')
INSTALL := PIP_CONSTRAINT=$(CURDIR)/constraints.txt $(BIN)/python -m pip install --quiet --editable
EMPTY := $(VENV)/pyvenv.cfg
$(EMPTY):
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade --constraint constraints.txt pip

$(BASE): pyproject.toml setup.py constraints.txt $(SOURCES) | $(EMPTY)
	$(INSTALL) .
	touch $@

# With what tests, checks, benchmarks and the site need.
$(READY): $(BASE)
	$(INSTALL) '.[dev]'
	touch $@

# As a user would have it, without the developers' tools.
demo: $(BASE)
	$(BIN)/evenhand demo --out out
	$(BIN)/evenhand inspect examples/skating/skate_america.csv --column option_group=side \
		--column option=skater --column features=base_value,max_base,ability --report out/skating.png

# By file: what a file sets up (a server, a cluster, a run) is set up once.
test: $(READY)
	$(BIN)/python -m pytest --numprocesses 2 --dist loadfile

# Before a release: all that `make test` does, every policy with every check on every case, benchmarks on tiny sizes,
# all kernels of linear algebra, kills, and some random examples.
nightly: $(READY)
	$(BIN)/python -m pytest --numprocesses 2 --dist loadfile --nightly

# All combinations of policies, checks and cases; then other examples in every run, and many of them. What it finds
# becomes a test.
fuzz: $(READY)
	$(BIN)/python -m pytest --numprocesses 2 --nightly tests/conformance/test_policies.py tests/unit/test_certified.py
	$(BIN)/python -m pytest --numprocesses 2 --hypothesis-profile=fuzz tests/properties
	$(BIN)/python -m pytest --numprocesses 2 --nightly tests/integration/test_serve_fuzz.py

# A thousand kills of workers and of servers: some twenty minutes.
torture: $(READY)
	$(BIN)/python tests/torture.py --kills 500
	$(BIN)/python tests/killed_server.py --kills 30
	$(BIN)/python tests/killed_server.py --kills 30 --store postgres --servers 2

# The documentation site: out/site/index.html, to be opened without a server. A warning is an error.
docs: $(READY)
	rm -rf out/site out/trees
	$(BIN)/python -m sphinx --quiet --fail-on-warning --keep-going -b html -d out/trees docs out/site

# The pictures of these pages, by the commands that stand beside them: minutes, or ONLY="season plan".
docs-figures: $(READY)
	$(BIN)/python docs/figures.py $(ONLY)

check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# How large every room is, and how much of it an ordinary call walks through.
size: $(READY)
	$(BIN)/python benchmarks/size.py

# Level and power of everything that is said to be sure, on tables whose truth is known, beside what they were: some
# twenty minutes, or ONLY='top|bar'. It fails if a row is worse by more than its error.
level: $(READY)
	$(BIN)/python benchmarks/level.py --jobs 2 --only '$(ONLY)'

bench: $(READY)
	$(BIN)/python benchmarks/designs.py
	$(BIN)/python benchmarks/sequential.py

# An hour or more; what was run is kept in out/regret, so it may be stopped and started again.
bench-regret: $(READY)
	mkdir -p out
	$(BIN)/evenhand compare --full --store out/regret --report out/compare.csv --report out/compare.png

# How often what is sure is true, and what that costs: the tables of docs/research.
bench-certain: $(READY)
	$(BIN)/python benchmarks/careful.py
	$(BIN)/python benchmarks/checks.py
	$(BIN)/python benchmarks/search.py cost
	$(BIN)/python benchmarks/search.py level
	$(BIN)/python benchmarks/decide.py

# Evaluators over HTTP beside the store alone. Nobody else should be busy.
bench-campaigns: $(READY)
	$(BIN)/python benchmarks/serve.py all

# What would be published: built from a copy of the committed tree and dated by its commit, so that the same commit
# and tools make the same bytes; and its page rendered.
dist: $(EMPTY)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt build twine
	rm -rf build/tree dist && mkdir -p build/tree
	git archive HEAD | tar -x -C build/tree
	SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) PIP_CONSTRAINT=$(CURDIR)/build/tree/constraints.txt \
		$(BIN)/python -m build --outdir dist build/tree
	$(BIN)/twine check --strict dist/*
	cd dist && sha256sum *

# The wheel in empty environments: alone, with each extra, with all, with the oldest dependencies that are allowed.
dist-check: dist
	$(PYTHON) tests/installed.py dist/*.whl

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV) build dist out src/*.egg-info
	find src -name '*.so' -delete -o -name '_*.c' -delete
