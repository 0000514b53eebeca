# Everything is built and installed inside the checkout. Needed beforehand: cargo, and a Python with venv.

PYTHON ?= python3
# Installs the same wheels as pip, in a fraction of the time.
UV_VERSION := 0.13.7

export CARGO_TARGET_DIR := $(CURDIR)/target
VENV := $(CURDIR)/.venv
OOMPH := $(CARGO_TARGET_DIR)/release/oomph
# Drives the browser in `make browser`; what it needs stays out of the checkout's files.
BROWSER := $(CARGO_TARGET_DIR)/browser
PLAYWRIGHT_VERSION := 1.65.0
# What `oomph check` is compared with, and on.
PEERS := $(CARGO_TARGET_DIR)/peers

.PHONY: setup build demo test browser measure-view truth bench bench-plan bench-check matrix wheel

setup: $(VENV)/.ready build

# The stamp makes it quick when nothing changed, and is only written when everything is in. Compiled once here, as pip
# would: otherwise every process of the tests compiles torch again where PYTHONDONTWRITEBYTECODE is set.
$(VENV)/.ready: requirements.txt
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/python -m pip install --quiet uv==$(UV_VERSION)
	$(VENV)/bin/uv pip install --quiet --compile-bytecode --python $(VENV)/bin/python --requirement requirements.txt
	touch $@

build:
	cargo build --release --locked --package oomph

# A script that is too big for its card, which is exit status 1, and what makes it fit.
demo: setup
	$(OOMPH) try --python $(VENV)/bin/python --gpu rtx-3070 examples/train.py; test $$? -eq 1
	$(OOMPH) plan --python $(VENV)/bin/python --gpu rtx-3070 examples/train.py

test: setup
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked -- -D warnings
	cargo test --workspace --locked
	$(VENV)/bin/ruff check
	$(VENV)/bin/ruff format --check
	$(VENV)/bin/python -m pytest --quiet --numprocesses auto --dist loadfile python/tests

# The page of `oomph view` in a real browser. Not part of `test`: it needs Chromium and Node, and gets them.
browser: build $(BROWSER)/.ready
	PLAYWRIGHT=$(BROWSER) OOMPH=$(OOMPH) node --test --test-concurrency=1 crates/view/browser/page.test.mjs

# How soon that page shows a million events, how smoothly it moves, how much memory it takes.
measure-view: build $(VENV)/.ready $(BROWSER)/.ready
	test -f $(BROWSER)/million.pickle || $(VENV)/bin/python bench/generate.py $(BROWSER)/million.pickle
	PLAYWRIGHT=$(BROWSER) OOMPH=$(OOMPH) node crates/view/browser/measure.mjs $(BROWSER)/million.pickle

$(BROWSER)/.ready:
	command -v chromium || { apt-get update --quiet=2 && apt-get install --quiet=2 --yes chromium; }
	npm install --silent --no-save --no-audit --no-fund --prefix $(BROWSER) playwright-core@$(PLAYWRIGHT_VERSION)
	touch $@

# Runs every truth script on the ghost, prints how far it is from the card, and writes the table.
truth: setup
	$(VENV)/bin/python truth/table.py

# How long tries take, and how much host memory.
bench: setup
	$(VENV)/bin/python truth/bench.py

# How long plans take, how many runs of the script a second, and what share of that is importing.
bench-plan: setup
	$(VENV)/bin/python truth/plan/plans.py --time-only

# How fast `oomph check` is, beside ruff, TorchFix and torch-preflight. Not part of `test`: it fetches them, and code to read.
bench-check: build $(VENV)/.ready $(PEERS)/.ready
	$(VENV)/bin/python bench/check.py --oomph $(OOMPH) --peers $(PEERS)/venv/bin --write bench/check.md \
		--large $(PEERS)/transformers --small $(PEERS)/examples

$(PEERS)/.ready: $(VENV)/.ready
	test -d $(PEERS)/transformers || git clone --quiet --depth 1 https://github.com/huggingface/transformers $(PEERS)/transformers
	test -d $(PEERS)/examples || git clone --quiet --depth 1 https://github.com/pytorch/examples $(PEERS)/examples
	$(PYTHON) -m venv $(PEERS)/venv
	$(VENV)/bin/uv pip install --quiet --python $(PEERS)/venv/bin/python \
		ruff==0.17.4 torchfix==0.7.0 torch-preflight==0.5.0
	touch $@

# The same scripts with other versions of torch.
matrix: setup
	$(VENV)/bin/python truth/matrix.py

wheel: $(VENV)/.ready
	$(VENV)/bin/maturin build --release --locked --out dist
