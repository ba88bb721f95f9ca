# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
#
# A thin front: each target sets up what it needs, then calls the program that does the work.
# `make help` lists the targets, `.venv/bin/python -m sim.run --help` every option of the simulation.

PYTHON  ?= python3
PREPARE := $(PYTHON) tools/prepare.py
RUN     := .venv/bin/python -m

# Options of `make sim`, `make shell` and `make bench`, e.g. `make sim MPS=128 VM=0`.
SIM_OPTIONS := \
	$(if $(VM),--vm $(VM)) $(if $(MPS),--mps $(MPS)) $(if $(MRRS),--mrrs $(MRRS)) \
	$(if $(RCB),--rcb $(RCB)) $(if $(SEED),--seed $(SEED)) $(if $(KERNEL),--kernel $(KERNEL)) \
	$(if $(DRIVER),--driver $(DRIVER)) \
	$(if $(MEMORY0),--memory0 $(MEMORY0)) $(if $(MEMORY1),--memory1 $(MEMORY1)) \
	$(if $(EXAMPLE),--example $(EXAMPLE)) $(if $(ENDPOINT),--endpoint $(ENDPOINT)) \
	$(if $(MSIX),--msix) \
	$(if $(WAVES),--waves) $(if $(WAVES_FROM),--waves-from $(WAVES_FROM)) \
	$(if $(WAVES_TO),--waves-to $(WAVES_TO)) $(if $(ACCEL),--accel $(ACCEL)) $(if $(TLP_LOG),--tlp-log $(TLP_LOG))

GUEST := $(if $(filter 0,$(VM)),,guest)
SCALA := $(if $(filter litepcie,$(ENDPOINT)),$(if $(filter spinal%,$(EXAMPLE)),spinal),spinal)

.PHONY: help sim shell bench test soak lint setup clean

help:
	@echo "make sim     the real driver's benchmarks in a guest, the board plugged in (VM=0: without a guest)"
	@echo "make test    the tests of every part; the README says what it leaves to make soak"
	@echo "make bench   the whole benchmark set, without a guest (VM=1: what the driver costs, in one)"
	@echo "make shell   an interactive guest with the board plugged in"
	@echo "make soak    the longer campaigns (SOAK=full: the driver's in full length, hours)"
	@echo "make lint    formatters and linters"
	@echo "make setup   only the set-up that the other targets do by themselves"
	@echo "make clean   remove what was built; downloads stay"

sim:
	@$(PREPARE) sim $(GUEST) $(SCALA)
	@$(RUN) sim.run $(SIM_OPTIONS)

shell:
	@$(PREPARE) sim guest $(SCALA)
	@$(RUN) sim.run --shell $(SIM_OPTIONS)

bench:
	@$(PREPARE) sim spinal synthesis $(if $(filter 1,$(VM)),guest)
	@$(RUN) $(if $(filter 1,$(VM)),sim.host,sim.bench $(if $(SEED),--seed $(SEED)))

test: lint setup
	@$(RUN) pytest -q -m "not soak" -n auto --dist loadgroup --no-loadscope-reorder --durations=10 $(PYTEST_OPTIONS)

soak: setup
	@$(RUN) pytest -q -m soak $(PYTEST_OPTIONS)

lint:
	@$(PREPARE) sim spinal
	@$(RUN) tools.lint

setup:
	@$(PREPARE) sim guest spinal readers python synthesis card
	@.venv/bin/python targets/sim.py --build >/dev/null
	@$(RUN) sim.guest.run --prepare
	@$(RUN) sim.differential.environment

clean:
	@rm -rf build/sim build/board build/software build/driver build/spinal build/cocotb build/ideal build/probe \
		build/ku5p build/ku5p_probe build/as02mc04 build/rk_xcku5p build/synthesis
