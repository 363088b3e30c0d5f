# Two commands do all the set-up: make train, make test.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: train test test-full test-learning test-peers docs lint format bench soak fuzz clean
.DEFAULT_GOAL := train

# .venv is completed when a lock file or the package's own metadata change
$(VENV)/ready: requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "teen needs Python 3.11 or newer; say make PYTHON=python3.12 for another one" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps -e .
	@touch $@

# Tools and every simulator, for the tests: about 1 GB
$(VENV)/ready-dev: $(VENV)/ready requirements-dev.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-dev.lock
	@touch $@

train: $(VENV)/ready  ## TEEN on Pendulum-v1, 3 seeds, about two minutes on 2 cores
	$(BIN)/teen train --algo teen --env Pendulum-v1 --seeds 3 --steps 10000 --n 5 --width 64 \
	  --warmup 1000 --lr 1e-3 --eval-every 1000

lint: $(VENV)/ready-dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

test: lint  ## everything that runs on every change
	$(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder -m "not full and not learning and not peers"

test-full: lint  ## and what takes longer
	$(BIN)/python -m pytest -n 2 --dist loadfile -m "not learning and not peers"

test-learning: $(VENV)/ready-dev  ## every algorithm on a real MuJoCo task; an hour on 2 cores
	$(BIN)/python -m pytest -m learning

format: $(VENV)/ready-dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# The peers (Stable-Baselines3, SBX) are heavy: they live in an environment of their own, outside the lock file.
.venv-bench/ready: requirements.lock pyproject.toml
	$(PYTHON) -m venv .venv-bench
	.venv-bench/bin/python -m pip install --quiet --disable-pip-version-check -r requirements.lock
	.venv-bench/bin/python -m pip install --quiet --disable-pip-version-check -e ".[bench]"
	@touch $@

test-peers: .venv-bench/ready  ## our agents in the hands of Stable-Baselines3
	.venv-bench/bin/python -m pytest -m peers tests/peers

bench: .venv-bench/ready  ## speed, beside the peers and the machine's own limits; a quarter of an hour on 2 cores
	.venv-bench/bin/python -m benchmarks

docs: $(VENV)/ready-dev  ## the documentation site, in site/; warnings are errors
	$(BIN)/python -m scripts.site

soak: $(VENV)/ready  ## ten minutes of training with evaluations and checkpoints: memory and open files stay flat
	$(BIN)/python scripts/soak.py

fuzz: $(VENV)/ready-dev  ## hostile run folders from random seeds, for SECONDS=600 or until Ctrl-C
	$(BIN)/python -m tests.hostile.sweep $(if $(SECONDS),--seconds $(SECONDS))

clean:
	rm -rf $(VENV) .venv-bench site .cache .pytest_cache .mypy_cache .ruff_cache
