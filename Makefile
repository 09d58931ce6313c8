# Everything is built and run inside .venv; the first use of a target installs what it
# needs.  Any Python from 3.11 on will do:  make demo PYTHON=python3.13
# More arguments for pytest:                make test-python ARGS="-k softmax -x"

PYTHON ?= python3
ARGS   ?=

VENV := .venv
BIN  := $(VENV)/bin
PIP  := $(BIN)/python -m pip install --quiet

# The large peers that only test-all compares against.
GIANTS := torch==2.13.0 jax

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:  # two pips in one environment would disturb each other
.PHONY: help demo test test-python test-native test-all coverage check format bench wheel clean

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(VENV)/package  ## train on XOR and on the circle, and show the results
	$(BIN)/chainrule train xor
	$(BIN)/chainrule train circle

test: test-python test-native  ## run the tests, on both engines; without PyTorch, JAX, patience

# What takes long, or needs the giants, is left to test-all.
QUICK := -m "not torch and not jax and not slow and not exhaustive"

test-python: $(VENV)/extra-test  ## run them on the source as it stands
	$(BIN)/pytest -n 2 $(QUICK) $(ARGS)

# What no engine can change (the command line, pictures, data ...) is tested once.
ENGINE_TESTS := engine engines_agree engine_imports value table conventions numbers copying \
    graphs dual transforms memory layers strict nonfinite own_operations planted_row losses \
    optimizers storage trace symbol initializers explanation rough_use public_surface micrograd

test-native: $(VENV)/extra-test $(VENV)/extension  ## run those of the engine on the compiled one
	$(call on_native,pytest -n 2 $(QUICK) $(ARGS) $(ENGINE_TESTS:%=tests/test_%.py))

test-all: $(VENV)/giants $(VENV)/extension  ## install PyTorch and JAX too, run every test on both
	$(BIN)/pytest -n 2 $(ARGS)
	$(call on_native,pytest -n 2 $(ARGS) tests)

define on_native
	@cp -R src/chainrule $(NATIVE)
	@if [ -f $(NATIVE)/chainrule/no_extension.txt ]; then \
	    echo "Left out, because there is no compiled engine: $(1)"; \
	    cat $(NATIVE)/chainrule/no_extension.txt; \
	else set -x; \
	    PYTHONPATH=$(CURDIR)/$(NATIVE) CHAINRULE_ENGINE=native $(BIN)/$(1); \
	fi
endef

coverage: $(VENV)/extra-test  ## run the tests and list the lines and branches they miss
	$(BIN)/pytest -n 2 -m "not torch and not jax and not exhaustive" --cov $(ARGS)

check: $(VENV)/extra-check  ## formatting, lint, strict types, and the floors
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo --no-cache

format: $(VENV)/extra-check  ## format the code and mend what ruff can mend by itself
	$(BIN)/ruff check --fix-only .
	$(BIN)/ruff format .

wheel: $(VENV)/python  ## build both wheels in dist/: with the extension, and for every platform
	CHAINRULE_BUILD=native $(BIN)/pip wheel --quiet --no-deps --wheel-dir dist .
	CHAINRULE_BUILD=python $(BIN)/pip wheel --quiet --no-deps --wheel-dir dist .
	@ls -1 dist/*.whl

bench: $(VENV)/extra-bench $(VENV)/extension  ## measure speed side by side with other engines
	$(BIN)/python benchmarks/run.py $(ARGS)
	$(call on_native,python benchmarks/eager.py $(ARGS))

clean:  ## remove .venv and everything generated
	rm -rf $(VENV) build dist src/*.egg-info .coverage* htmlcov
	rm -rf .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +

# ----------------------------------------------------------------- the environment
# Each file below is an empty stamp inside .venv.  It is older than pyproject.toml when
# the requirements may have changed, and only then pip runs again.

$(VENV)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and \
	    "chainrule needs Python 3.11 or newer; this is " + sys.version.split()[0] + \
	    ". Name another one: make PYTHON=python3.13 ...")'
	$(PYTHON) -m venv $(VENV)
	$(PIP) --upgrade pip
	@touch $@

$(VENV)/package: pyproject.toml $(VENV)/python
	$(PIP) --editable .
	@touch $@

$(VENV)/extra-%: pyproject.toml $(VENV)/python
	$(PIP) --editable ".[$*]"
	@touch $@

# The package with its extension, where an editable install has none.  The pure part is
# copied anew for every run; the extension is compiled when the engine's source has changed.
NATIVE := $(VENV)/native
ENGINE := $(shell sed -n 's/^    "\(.*\.py\)",$$/\1/p' src/chainrule/engine.py)

$(VENV)/extension: setup.py $(ENGINE:%=src/chainrule/%) $(VENV)/python
	rm -rf $(NATIVE)
	$(PIP) --no-deps --target $(NATIVE) .
	@touch $@

$(VENV)/giants: $(VENV)/extra-test
	$(PIP) $(GIANTS)
	@touch $@
