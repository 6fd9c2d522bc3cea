# Python 3.11 or later, and make: the rest is fetched into .venv.
# Another interpreter: make PYTHON=python3.13 test

PYTHON ?= python3
VENV := .venv
SUITE := tests/conformance/node_modules/.package-lock.json

# With the environment's programs first, so that what we start finds what belongs to it.
IN_VENV := PATH="$(CURDIR)/$(VENV)/bin:$$PATH"

.DEFAULT_GOAL := help
.NOTPARALLEL:
.DELETE_ON_ERROR:
.PHONY: help demo test check conformance bench clean

help: ## say what there is
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 20

demo: $(VENV)/.cli ## run the examples: workers that die between two rounds, a child on stdio
	@$(IN_VENV) python examples/demo.py

test: $(VENV)/.test ## run the tests
	$(IN_VENV) python -m pytest --numprocesses auto --dist worksteal

check: $(VENV)/.dev ## run formatter, linters and type checkers
	$(IN_VENV) ruff format --check
	$(IN_VENV) ruff check
	$(IN_VENV) mypy
	$(IN_VENV) PYRIGHT_PYTHON_IGNORE_WARNINGS=1 pyright
	$(IN_VENV) PYTHONPATH=src lint-imports
	$(IN_VENV) python tests/typing_failures/check.py
	$(IN_VENV) python -m tests.docs.check

conformance: $(VENV)/.conformance $(SUITE) ## run the official conformance suite, and official TypeScript clients and servers
	$(IN_VENV) python -m tests.conformance.run

bench: $(VENV)/.test ## measure against the official Python SDK
	$(IN_VENV) python tests/bench/run.py

clean: ## remove everything that was made here
	rm -rf $(VENV) out build dist src/*.egg-info tests/conformance/node_modules
	rm -rf .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# -- the environment --------------------------------------------------------------------------

# One stamp for each extra of pyproject.toml; a change of that file makes everything anew.
$(VENV)/.made: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "Antiphon needs Python 3.11 or later, and $(PYTHON) is none;" \
	    "name one: make PYTHON=python3.13 ..." >&2; exit 1; }
	$(PYTHON) -m venv --clear $(VENV)
	@touch $@

$(VENV)/.%: $(VENV)/.made
	$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check --no-input -e '.[$*]'
	@touch $@

# The suite's version and all that it needs are pinned by package-lock.json.
$(SUITE): tests/conformance/package-lock.json $(VENV)/.conformance
	cd tests/conformance && $(IN_VENV) npm ci --ignore-scripts --no-audit --no-fund
	@touch $@
