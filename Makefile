# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
#
# A thin front end: each target sets up what it needs, then calls the program that does the work.
# `make help` lists the targets, `.venv/bin/python -m sim.run --help` every option of the simulation.

PYTHON  ?= python3
PREPARE := $(PYTHON) tools/prepare.py
RUN     := .venv/bin/python -m

# Options of `make sim`, `make shell`, `make board` and `make bench`, e.g. `make sim MPS=128 VM=0`.
# FILE may have several words; GUEST is small or debian.
SIM_OPTIONS := \
	$(if $(VM),--vm $(VM)) $(if $(MPS),--mps $(MPS)) $(if $(MRRS),--mrrs $(MRRS)) \
	$(if $(RCB),--rcb $(RCB)) $(if $(SEED),--seed $(SEED)) $(if $(KERNEL),--kernel $(KERNEL)) \
	$(if $(DRIVER),--driver $(DRIVER)) $(FILE:%=--file %) \
	$(if $(GUEST),--guest $(GUEST)) \
	$(if $(MEMORY0),--memory0 $(MEMORY0)) $(if $(MEMORY1),--memory1 $(MEMORY1)) \
	$(if $(EXAMPLE),--example $(EXAMPLE)) $(if $(ENDPOINT),--endpoint $(ENDPOINT)) \
	$(if $(MSIX),--msix) $(if $(VIRTIO),--virtio) $(if $(CAPTURE),--capture $(CAPTURE)) \
	$(if $(WAVES),--waves) $(if $(WAVES_FROM),--waves-from $(WAVES_FROM)) \
	$(if $(WAVES_TO),--waves-to $(WAVES_TO)) $(if $(ACCEL),--accel $(ACCEL)) $(if $(TLP_LOG),--tlp-log $(TLP_LOG)) \
	$(if $(PCAP),--pcap '$(PCAP)')

WITH_GUEST := $(if $(filter 0,$(VM))$(PCAP),,guest)
IN_SCALA := $(filter spinal%,$(EXAMPLE))$(wildcard $(EXAMPLE)/*.scala)
SCALA := $(if $(filter litepcie,$(ENDPOINT)),$(if $(IN_SCALA),spinal),spinal)

# LANG of the command line only: the environment's LANG is the locale.
LANGUAGE := $(if $(filter command line,$(origin LANG)),--lang '$(LANG)')

define HELP
make COMMAND [OPTION=VALUE ...], for example: make sim VM=0 EXAMPLE=scale

commands:
  sim      build all, measure in a guest with the real driver, print the table
  new      a folder with a block of your own to begin with
  board    a board that stays, for your own programs: sim:build/board.sock
  shell    an interactive guest with the board plugged in
  bench    the whole set of benchmarks, without a guest (VM=1: what the driver
           costs, in one)
  test     the tests of every part
  soak     the tests that are too long for that, in campaigns (README.md)
  lint     formatters and linters
  setup    only the set-up that the other commands do by themselves
  clean    remove what was built; downloads stay

options of sim, board and shell:
  VM=0             no guest: the benchmarks by the board's own socket
  EXAMPLE=NAME     what is in the user slot: one of examples/ or your own folder
  MPS=BYTES        largest payload of a TLP: 128, 256 or 512 (256)
  MRRS=BYTES       largest read request: 128, 256 or 512 (512)
  RCB=BYTES        read completion boundary of the host: 64 or 128 (64)
  SEED=N           of everything that is random (1)
  MSIX=1           a card with MSI-X in place of MSI
  ENDPOINT=NAME    lanebox, or litepcie: LitePCIe's own endpoint (lanebox)
  VIRTIO=1         a card with a virtio console and net device, which the
                   guest's own drivers drive: ping and iperf3 through card and
                   wire; the table's latencies are by the card's clock
  CAPTURE=QUEUES   a card with the capture block and 1, 2, 4, 8 or 16 queues,
                   for lanebox-capture (none)
  MEMORY0=FILE     contents of the memory at BAR0 + 0x10000: .hex, .coe or .bin
  MEMORY1=FILE     contents of the memory at BAR0 + 0x14000
  GUEST=debian     with Debian's Python, lspci, fio, ... in the guest (small)
  FILE=PATH:PLACE  one more file for the guest, under PLACE in its home folder
  KERNEL=SERIES    the guest's kernel: 6.1, 6.12 (the host release's own)
  DRIVER=NAME      in the guest: lanebox, or stock: LitePCIe's own (lanebox)
  ACCEL=kvm        run the guest by KVM (tcg: without)
  WAVES=1          write build/waves.fst, and a layout for GTKWave beside it
  WAVES_FROM=NS    device time at which the waves begin (0)
  WAVES_TO=NS      and at which they end (2000000)
  TLP_LOG=FILE     every TLP: a line of text, or FILE.pcapng for Wireshark
  PCAP=FILE        of sim: play this pcapng file through the card's player and
                   capture, and compare what comes back; without a guest

options of other commands:
  NAME=FOLDER      of new: where it is made, and what the block is called
  LANG=NAME        of new: migen or spinal (migen)
  EXAMPLE=FOLDER   of test: that block's tests, and its clients on a board
  WAVES=1          of test EXAMPLE=: record its tests for GTKWave, say where
  SEED=N           of bench, too
  VIRTIO=1         of bench: a thousand messages of each size through virtio,
                   beside the figures of seed 002's paper; frames at line rate
  SOAK=full        of soak: the driver's tests in full length, which takes hours
  SOAK=kernels     of soak: kernels with KASAN, KCSAN and PCI_P2PDMA
  PYTEST_OPTIONS=  of test and soak: what else pytest is told, as "-k dma"

for the set-up:
  PYTHON=PROGRAM   the Python that makes .venv (python3)
  DEBIAN_MIRROR=URL
                   where the guest's QEMU and kernel come from

`.venv/bin/python -m sim.run --help` has further options of the simulation.
endef

.PHONY: help new sim shell board bench test soak lint setup clean

help:
	@:$(info $(HELP))

new:
	@LANG=C.UTF-8 $(PYTHON) tools/new.py --name '$(NAME)' $(LANGUAGE)

sim:
	@$(PREPARE) sim python $(WITH_GUEST) $(SCALA)
	@$(RUN) sim.run $(SIM_OPTIONS)

shell:
	@$(PREPARE) sim python $(WITH_GUEST) $(SCALA)
	@$(RUN) sim.run --shell $(SIM_OPTIONS)

board:
	@$(PREPARE) sim python $(SCALA)
	@$(RUN) sim.run --board $(SIM_OPTIONS)

bench:
	@$(PREPARE) sim python spinal synthesis firmware $(if $(filter 1,$(VM)),guest)
	@$(RUN) $(if $(filter 1,$(VM)),sim.rows.host,$(if $(VIRTIO),sim.virtio,sim.bench) $(if $(SEED),--seed $(SEED)))

ifeq ($(EXAMPLE),)
test: lint setup
	@$(RUN) pytest -q -m "not soak" -n auto --dist loadgroup --no-loadscope-reorder --durations=10 $(PYTEST_OPTIONS)
else
test:
	@$(PREPARE) sim python cocotb $(SCALA)
	@$(RUN) sim.check --example $(EXAMPLE) $(if $(SEED),--seed $(SEED)) $(if $(WAVES),--waves)
endif

soak: setup
	@$(RUN) pytest -q -m soak $(PYTEST_OPTIONS)

lint:
	@$(PREPARE) sim spinal python
	@$(RUN) tools.lint

setup:
	@$(PREPARE) sim guest spinal readers python synthesis card firmware
	@.venv/bin/python targets/sim.py --build >/dev/null
	@$(RUN) sim.guest.run --prepare
	@$(RUN) sim.differential.environment

clean:
	@rm -rf build/sim build/board build/software build/driver build/spinal build/cocotb build/ideal build/probe \
		build/ku5p build/ku5p_probe build/as02mc04 build/rk_xcku5p build/synthesis
