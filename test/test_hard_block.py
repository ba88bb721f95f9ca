# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""phy/hard_block.py"""

import re
import subprocess
from pathlib import Path

import litepcie
import pytest

from lanebox.phy.hard_block import LEAVES


def sources(sim_build):
    return (sim_build/"gateware"/"sources.txt").read_text().split()


def test_all_verilog_is_generated_from_our_sources(sim_build):
    """Nothing of LitePCIe's Verilog is in the path, and nothing of a vendor's."""
    own, *others = sources(sim_build)
    assert own == str(sim_build/"gateware"/"lanebox.v")
    assert {Path(file).stem for file in others} == {"Completer", "MmioBridge", "Requester"}


def test_stock_files_are_read_where_they_are_installed(stock_build):
    """All Verilog but our own comes from the installed LitePCIe package, none from a copy."""
    own, *others = sources(stock_build)
    assert own == str(stock_build/"gateware"/"lanebox.v")
    assert {Path(file).name for file in others} >= {"pcie_usp_support.v", "axis_iff.v"}
    for file in others:
        assert Path(litepcie.__file__).parent in Path(file).parents, file


@pytest.mark.parametrize("endpoint", ["sim_build", "stock_build"])
def test_only_the_leaves_are_missing(endpoint, request):
    """The sources define every module below `lanebox` except leaves of the hard block."""
    sim_build = request.getfixturevalue(endpoint)
    lint = subprocess.run(["verilator", "--lint-only", "-Wno-lint", "-Wno-style", "--top-module",
        "lanebox", *sources(sim_build)], capture_output=True, text=True)
    missing = set(re.findall("Cannot find file containing module: '(.*?)'", lint.stderr))
    assert missing and missing <= set(LEAVES)


def test_one_clock(sim_build):
    """Everything is clocked by the hard block: no block of registers has another clock."""
    verilog = Path(sources(sim_build)[0]).read_text()
    clocks  = set(re.findall(r"@\(posedge (\w+)\)", verilog))
    drivers = dict(re.findall(r"assign (\w+_clk) = (\w+_clk);", verilog))
    for clock in clocks:
        while clock in drivers:
            clock = drivers[clock]
        assert clock == "block_clk"
