# Two set-up commands on a fresh machine: `make demo` and `make test`. Each makes what it needs in .venv.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
TORCH ?= torch==2.13.0
DEMO_STORE ?= demo-store
WORKERS ?= 2

.PHONY: demo test slow selftest lint generated locks clean

demo: $(VENV)/installed
	$(BIN)/opsdebug ci --stage smoke --store $(DEMO_STORE)

test: lint
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m "not slow"

# What takes many seconds each: the pages run as they stand, the action in a real runner, another runtime's operators,
# speed measured, writers killed. CI's test job runs everything.
slow: $(VENV)/tested
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m slow

# Planted wrong operators must be caught, right ones left alone.
selftest: $(VENV)/installed
	$(BIN)/opsdebug selftest

lint: $(VENV)/tested
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# Files that are made from the code; tests and CI hold them against it.
generated:
	$(BIN)/python -m opsdebug_ci.cli.help_page docs/help.txt
	$(BIN)/python -m opsdebug_ci.store.schema_page docs/store.md
	$(BIN)/python tests/docs/example_store.py docs/queries.md
	$(BIN)/python tests/attacks/attack_page.py docs/attacks.md
	for name in run attribute trace replay failures selftest profile compare baselines shard published; do \
	  $(BIN)/python -c "from opsdebug_ci.report import schema_text; print(schema_text('opsdebug.$$name/1'), end='')" \
	    > docs/schema/opsdebug.$$name.1.json || exit 1; \
	done

# What the action installs, by hash: the whole control side, and the part that `publish` needs: neither what an app signs
# its requests for a token with, since it is given one, nor what reads C where bindings are made.
UV_LOCK := uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-annotate
locks:
	$(UV_LOCK) --upgrade pyproject.toml -o .github/action/control.lock
	$(UV_LOCK) --upgrade --no-emit-package cryptography --no-emit-package pycparser .github/action/publish.txt \
	  -o .github/action/publish.lock

# torch first and pinned: an unpinned one would bring gigabytes of CUDA.
$(VENV)/installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check "$(TORCH)" numpy
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[triton]"
	@touch $@

$(VENV)/tested: $(VENV)/installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[test,dev]"
	@touch $@

clean:
	rm -rf $(VENV) $(DEMO_STORE) .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
