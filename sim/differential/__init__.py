# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Compares two models of everything below the gateware's pins: ours, and cocotbext-pcie's.

operations.py        the list of operations on the card, as data
execute.py           carries out that list through a host that either side supplies
pin_recorder.py      makes pin_recorder.sv from pin_recorder.sv.in. The module is bound into both
                     simulations, and writes every beat that passes the user pins
observation.py       turns recorded beats into TLPs
well_formed.py       checks that hold on each side by itself
compare.py           turns two observations into a list of disagreements
disagreements.md     the known disagreements, each with its reason; known.py reads it
cocotb_*.py, pcie_usp_stub.sv.in, environment.py  the other side
(sim/test/model/differential_board.py                   our side)
"""
