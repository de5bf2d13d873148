# Every target makes .venv itself when it is missing, or older than pyproject.toml.
PYTHON ?= python3
CORPUS ?= data/corpus
BIN := .venv/bin
INSTALLED := .venv/installed

.PHONY: help refresh test lint bench
.DEFAULT_GOAL := help

help:  ## Show this list
	@echo "make TARGET   (each makes .venv itself when it is missing; the first time takes minutes)"
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  %-9s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

refresh: $(INSTALLED)  ## Trace the starter list of models into the corpus and mine it (CORPUS=data/corpus)
	@$(BIN)/passnet refresh --source starter --mine --corpus $(CORPUS)
	@echo "Corpus: $(CORPUS). To look at it: $(BIN)/passnet stats --corpus $(CORPUS); $(BIN)/passnet tables --corpus $(CORPUS)"

test: $(INSTALLED)  ## Run the tests (not those marked slow, gpu or hub)
	@$(BIN)/python -m pytest -q -n auto --maxprocesses 4 --dist loadfile

lint: $(INSTALLED)  ## Check style, types and the rules of imports
	@$(BIN)/ruff check .
	@$(BIN)/pyright --pythonpath $(BIN)/python
	@$(BIN)/lint-imports

bench: $(INSTALLED)  ## Measure this machine, then tracing against its peers
	@$(BIN)/python -m benchmarks.calibrate
	@$(BIN)/python -m benchmarks.trace

$(INSTALLED): pyproject.toml
	@echo "Installing into .venv (a few minutes the first time)"
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --editable '.[dev]'
	@touch $(INSTALLED)
