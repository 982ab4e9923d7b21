# Every target does its own set-up: a virtual environment and an editable install, made anew when pyproject.toml changes.
PYTHON ?= python3
VENV ?= .venv
MODELS ?= ../shared/models/tosa
CONFORMANCE_VENV ?= .venv-conformance
PEERS_VENV ?= .venv-peers
INTERPRETER_VENV ?= .venv-interpreter
BENCH_VENV ?= .venv-bench
NETWORKS_VENV ?= .venv-networks
JAX_VENV ?= .venv-jax
MINUTES ?= 10
PROFILE ?= int

STAMP := $(shell cksum < pyproject.toml | cut -d ' ' -f 1)
READY := .installed-$(STAMP)
PACKAGES := tosa_engine quant lut

.DELETE_ON_ERROR:
.PHONY: help demo networks test test-all lint format docs conformance conformance-ci fuzz peers interpreter torch jax bench clean

help:
	@echo 'make demo          a network from float to integers, end to end'
	@echo 'make networks      five networks from training in PyTorch to int8 and int16, next to ONNX Runtime'
	@echo 'make test          the tests'
	@echo 'make test-all      these, and then those that take long, each for a reason that its mark gives'
	@echo 'make lint          ruff and mypy'
	@echo 'make format        ruff, writing'
	@echo 'make docs          the generated pages of docs/'
	@echo 'make conformance                     the official tests of the whole integer selection'
	@echo 'make conformance PROFILE=fp          of the floating-point selection; PROFILE=all: of every selection'
	@echo 'make conformance OPS="add rescale"   official tests of these operators'
	@echo 'make conformance-ci                  the slice that every change must pass'
	@echo 'make fuzz MINUTES=10                 random graphs against the reference model'
	@echo 'make peers         other consumers of our files: Vela, IREE'
	@echo 'make interpreter   the PyTorch interpreter of NNEF documents next to ours'
	@echo 'make torch         the recipes for PyTorch and scikit-learn'
	@echo 'make jax           ten networks of JAX, and the recipe'
	@echo 'make bench         speed, next to other runtimes; MODELS=../shared/models/tosa'

demo: $(VENV)/$(READY)
	$(VENV)/bin/python examples/digits/demo.py

networks: $(NETWORKS_VENV)/$(READY)
	$(NETWORKS_VENV)/bin/python examples/torch_networks/run.py --markdown docs/torch-networks.md

PYTEST := -m pytest -q -n auto --dist loadfile --no-loadscope-reorder --durations=10

test: $(VENV)/$(READY)
	$(VENV)/bin/python $(PYTEST)

test-all: test
	$(VENV)/bin/python $(PYTEST) -m "slow and not reference and not peers and not interpreter and not torch and not jax"

lint: $(VENV)/$(READY)
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy

format: $(VENV)/$(READY)
	$(VENV)/bin/ruff check --fix .
	$(VENV)/bin/ruff format .

docs: $(VENV)/$(READY)
	$(VENV)/bin/python docs/generate_operators.py
	$(VENV)/bin/python docs/generate_matrix.py
	$(VENV)/bin/python docs/generate_onnx.py
	$(VENV)/bin/python docs/generate_stablehlo.py
	$(VENV)/bin/python docs/generate_nnef.py
	$(VENV)/bin/python docs/generate_nnef_operations.py
	$(VENV)/bin/python docs/generate_skriptnd.py
	$(VENV)/bin/python docs/generate_lut.py

conformance: $(CONFORMANCE_VENV)/$(READY)
	$(CONFORMANCE_VENV)/bin/python conformance/run.py --profile $(PROFILE) $(OPS)

conformance-ci: $(CONFORMANCE_VENV)/$(READY)
	$(CONFORMANCE_VENV)/bin/python conformance/run.py --ci
	$(CONFORMANCE_VENV)/bin/python -m pytest -q -m reference

fuzz: $(CONFORMANCE_VENV)/$(READY)
	FUZZ_MINUTES=$(MINUTES) FUZZ_RECORD=$(RECORD) $(CONFORMANCE_VENV)/bin/python -m pytest -q -m reference tests/fuzz/fuzz_reference.py

peers: $(PEERS_VENV)/$(READY)
	$(PEERS_VENV)/bin/python -m pytest -q -m peers

interpreter: $(INTERPRETER_VENV)/$(READY)
	$(INTERPRETER_VENV)/bin/python -m pytest -q -m interpreter

torch: $(NETWORKS_VENV)/$(READY)
	$(NETWORKS_VENV)/bin/python -m pytest -q -m torch

jax: $(JAX_VENV)/$(READY)
	$(JAX_VENV)/bin/python -m pytest -q -m jax tests/frontends/stablehlo

bench: $(BENCH_VENV)/$(READY)
	$(BENCH_VENV)/bin/python benchmarks/tile.py
	$(BENCH_VENV)/bin/python benchmarks/models.py $(MODELS)
	$(BENCH_VENV)/bin/python benchmarks/compare.py $(MODELS) --scratch out/bench/compiled --json out/bench/compare.json \
	    --markdown out/bench/compare.md --svg out/bench/compare.svg
	$(BENCH_VENV)/bin/python benchmarks/operators.py --json out/bench/operators.json
	$(BENCH_VENV)/bin/python benchmarks/elementwise.py --json out/bench/elementwise.json

$(VENV)/$(READY): EXTRAS := test,onnx,stablehlo
$(CONFORMANCE_VENV)/$(READY): EXTRAS := test,conformance
$(PEERS_VENV)/$(READY): EXTRAS := test,conformance,peers
$(INTERPRETER_VENV)/$(READY): EXTRAS := test,interpreter
$(BENCH_VENV)/$(READY): EXTRAS := bench
$(NETWORKS_VENV)/$(READY): EXTRAS := test,torch
$(JAX_VENV)/$(READY): EXTRAS := test,stablehlo,jax

%/$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit("Python 3.10 or newer is needed; try: make PYTHON=python3.11") \
	    if sys.version_info < (3, 10) else None'
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[$(EXTRAS)]'
	@rm -f $(@D)/.installed-*
	@touch $@

clean:
	rm -rf $(VENV) $(CONFORMANCE_VENV) $(PEERS_VENV) $(INTERPRETER_VENV) $(BENCH_VENV) $(NETWORKS_VENV) $(JAX_VENV) out
