# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Tests of tools/synthesis/netlist.py, on cells with names as Yosys writes them."""

from tools.synthesis.netlist import Netlist, usage


def netlist(*names):
    """Return a netlist of LUTs with these names, without nets."""
    lut = {"type": "LUT2", "port_directions": {}, "connections": {}}
    return Netlist({"cells": {name: lut for name in names}, "ports": {}, "netnames": {}})


def test_a_cell_counts_for_its_innermost_block():
    """A cell counts for the block that it is in, also for a block inside a block, whose names Yosys
    separates by a backslash."""
    cells = [r"$flatten\outer.$abc$1", r"$flatten\outer.\inner.$abc$2", "outer.inner.$abc$3", "top"]
    found = usage(netlist(*cells), ["outer", "outer.inner"])
    assert {block: count.lut for block, count in found.items()} == {
        "outer": 1,
        "outer.inner": 2,
        "": 1,
    }
