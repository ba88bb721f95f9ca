# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""One gateware, two models of everything below its pins: ours, and cocotbext-pcie's.

    operations.py        what is done to the card, as data
    execute.py           does it, through a host that either side supplies
    pin_recorder.sv      bound into both simulations: writes every beat that passes the user pins
    observation.py       beats to TLPs
    well_formed.py       what must hold on each side by itself
    compare.py           two observations to a list of disagreements
    disagreements.md     those that are known, each with its reason; known.py reads it
    cocotb_*.py, pcie_usp_stub.sv, environment.py     the other side
    (sim/test/differential_board.py                   our side)
"""
