# Everything here sets up what it needs in .venv; a second run finds it ready.
#   make demo    a short tour of the program; pictures go to out/
#   make test    all tests, in parallel; they share what was compiled
#   make test-versions    a case of most tests on every Python here, with newest and oldest packages; PYTHONS="3.12 newest"
#   make test-processors  a case of the tests that compute, with the arithmetic of other processors
#   make fuzz    odd files of all kinds and killed runs; SECONDS=600 KILLS=200 SEED=7 for longer, or again
#   make mutants break signs, factors and comparisons of the physics one by one: do tests notice? COUNT=200 SEED=7
#   make lint    ruff and mypy
#   make bench   time measurements, also as JSON in out/; SECTIONS="rigid batch" for some, PAGE=docs/performance.md
#   make docs    the documentation as a site in out/site
#   make figures the pictures and outputs in README and docs, made anew
#   make verify  everything that proves the program; a page in out/
#   make clean   remove the environment, the caches and out/
# Another interpreter than the first suitable one on the path: make test PYTHON=python3.12

PYTHON ?=
VENV   := .venv
BIN    := $(VENV)/bin
# most modules of most packages are never imported: none is compiled before it is
PIP     = $(BIN)/python -m pip install --quiet --quiet --disable-pip-version-check --no-compile
PLIANT := $(BIN)/pliant
OUT    := out
CANDIDATES = $(or $(PYTHON),python3 python3.13 python3.12 python3.11 python)

.PHONY: help demo test test-versions test-processors fuzz mutants lint format bench docs figures verify clean
.DEFAULT_GOAL := help

help:
	@sed -n '2,15s/^# \{0,1\}//p' $(firstword $(MAKEFILE_LIST))

# one stamp per set of packages, renewed when pyproject.toml changes
$(VENV)/.base: pyproject.toml
	@for python in $(CANDIDATES); do \
	    if $$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then found=$$python; break; fi; \
	done; \
	if [ -z "$$found" ]; then echo "Pliant needs Python 3.11 or newer; tried: $(CANDIDATES)" >&2; exit 1; fi; \
	echo "setting up $(VENV) with $$($$found --version) (once)"; \
	test -x $(BIN)/python || $$found -m venv $(VENV)
	@$(PIP) --editable .
	@touch $@

$(VENV)/.dev: $(VENV)/.base
	@echo "adding the packages for tests and checks (once)"
	@$(PIP) --editable '.[dev]'
	@touch $@

# programs to compare with; a benchmark whose peer is missing says so
$(VENV)/.peers: $(VENV)/.dev
	@echo "adding the programs for comparison (once)"
	@$(PIP) --editable '.[peers]' || echo "not all of them could be installed; the tables say which rows are missing"
	@touch $@

# a command as the user would type it, bold on a terminal, then its output
BOLD  := $(if $(MAKE_TERMOUT),\033[1m)
PLAIN := $(if $(MAKE_TERMOUT),\033[0m)
define run
@printf '\n$(BOLD)$$ pliant %s$(PLAIN)\n' '$(1)'
@$(PLIANT) $(1)
endef

POSE := shoulder = 40 deg, elbow = -75 deg, wrist = 20 deg

demo: $(VENV)/.base
	@mkdir -p $(OUT)
	$(call run,robots)
	$(call run,show canadarm --pose "$(POSE)" --plot $(OUT)/canadarm.png)
	$(call run,shapes canadarm --plot $(OUT)/canadarm-shapes.png)
	$(call run,show seven-joint-arm --plot $(OUT)/seven-joint-arm.png)
	$(call run,simulate canadarm --output $(OUT)/canadarm.h5 --report $(OUT)/canadarm.html --force)
	@printf '\nOpen %s/canadarm.html: the run as one page, with plots and a film. The drawings lie beside it.\n' '$(OUT)'
	@printf 'Next: pliant --help, README.md, docs/index.md\n'

test: $(VENV)/.dev
	@$(BIN)/python -m pytest -n auto --dist worksteal --timeout 300 $(ARGS)

# PACKAGES=newest or oldest for one of both; ARGS=tests for all cases of all tests, which takes hours
test-versions: $(VENV)/.dev
	@$(BIN)/python tests/versions.py $(if $(PYTHONS),--pythons $(PYTHONS)) $(if $(PACKAGES),--packages $(PACKAGES)) \
	    $(if $(BESIDES),--besides $(BESIDES)) -- $(ARGS)

# PROCESSORS="generic x86-64-v3" for some; ARGS="--wide tests/simulation" for other tests
test-processors: $(VENV)/.dev
	@$(BIN)/python tests/processors.py $(if $(PROCESSORS),--only $(PROCESSORS)) -- $(ARGS)

COUNT ?= 20
mutants: $(VENV)/.dev
	@$(BIN)/python tests/mutants.py --count $(COUNT) $(if $(SEED),--seed $(SEED)) $(ARGS)

SECONDS ?= 60
KILLS   ?= 10
fuzz: $(VENV)/.dev
	@$(BIN)/python tests/fuzzing.py --seconds $(SECONDS) $(if $(SEED),--seed $(SEED))
	@$(BIN)/python tests/fuzzing.py --kills $(KILLS) $(if $(SEED),--seed $(SEED))

lint: $(VENV)/.dev
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

format: $(VENV)/.dev
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

bench: $(VENV)/.peers
	@mkdir -p $(OUT)
	@$(BIN)/python benchmarks/run.py --out $(OUT) $(if $(PAGE),--page $(PAGE)) $(SECTIONS)

docs: $(VENV)/.dev
	@$(BIN)/python docs/build_site.py

figures: $(VENV)/.dev
	@$(BIN)/python docs/refresh.py
	@$(BIN)/python docs/pages.py *.md docs/*.md docs/tutorials/*.md docs/theory/*.md

# every method, published number, identity and balance
verify: $(VENV)/.dev
	@mkdir -p $(OUT)
	@$(PLIANT) verify --out $(OUT)

clean:
	rm -rf $(VENV) .versions $(OUT) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find src tests benchmarks examples -name __pycache__ -type d -prune -exec rm -rf {} +
