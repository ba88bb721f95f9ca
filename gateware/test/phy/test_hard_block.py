# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Tests of phy/hard_block.py, the connection to the vendor's PCIe core."""

import re
import subprocess
from pathlib import Path

import litepcie
import pytest

from gateware.numbers import COMPLETION_TIMEOUT, LONGEST_READ, SYS_CLK_FREQ
from gateware.phy.flr import DRAIN_SECONDS, RESET_CYCLES
from gateware.phy.hard_block import LEAVES

# Seconds for which a host leaves a function alone after it has asked for its function level reset
# (PCIe base specification 6.6.2).
FLR_SECONDS = 100e-3
# The longest completion timeout, in seconds, of the default range (PCIe base specification
# 7.5.3.16).
BLOCK_SECONDS = 50e-3


def sources(sim_build):
    return (sim_build / "gateware" / "sources.txt").read_text().split()


def test_all_verilog_is_generated_from_our_sources(sim_build):
    """The default build of the gateware has no Verilog of LitePCIe and none of a vendor."""
    own, *others = sources(sim_build)
    assert own == str(sim_build / "gateware" / "lanebox.v")
    assert {Path(file).stem for file in others} == {"Completer", "MmioBridge", "Requester"}


def test_stock_files_are_read_where_they_are_installed(stock_build):
    """A build with LitePCIe's endpoint uses LitePCIe's Verilog in the installed package, without
    copies.
    """
    own, *others = sources(stock_build)
    assert own == str(stock_build / "gateware" / "lanebox.v")
    assert {Path(file).name for file in others} >= {"pcie_usp_support.v", "axis_iff.v"}
    for file in others:
        assert Path(litepcie.__file__).parent in Path(file).parents, file


@pytest.mark.parametrize("endpoint", ["sim_build", "stock_build"])
def test_only_the_leaves_are_missing(endpoint, request):
    """Every module below the top module `lanebox` is in the sources, except the hard block's
    primitives.
    """
    sim_build = request.getfixturevalue(endpoint)
    lint = subprocess.run(
        [
            "verilator",
            "--lint-only",
            "-Wno-lint",
            "-Wno-style",
            "--top-module",
            "lanebox",
            *sources(sim_build),
        ],
        capture_output=True,
        text=True,
    )
    missing = set(re.findall("Cannot find file containing module: '(.*?)'", lint.stderr))
    assert missing and missing <= set(LEAVES)


def test_a_function_level_reset_outlasts_a_lost_read():
    """A lost read's tag is free again before the host may use a function that it has reset.

    That takes at most three completion timeouts. ReturnErrorTest and ReadTableTest measure this.
    """
    assert LONGEST_READ < DRAIN_SECONDS
    assert DRAIN_SECONDS + RESET_CYCLES / SYS_CLK_FREQ < FLR_SECONDS
    assert 3 * COMPLETION_TIMEOUT < FLR_SECONDS


def test_a_lost_tag_rests_for_as_long_as_the_hard_block_waits():
    """A lost read's tag is used again only when the hard block, too, has given up that read.

    The tag rests (is not used) for at least 5/2 of the timeout, as ReadTableTest measures.
    """
    assert 5 / 2 * COMPLETION_TIMEOUT >= BLOCK_SECONDS


def test_one_clock(sim_build):
    """All registers of the gateware are clocked by the hard block's user clock."""
    verilog = Path(sources(sim_build)[0]).read_text()
    clocks = set(re.findall(r"@\(posedge (\w+)\)", verilog))
    drivers = dict(re.findall(r"assign (\w+_clk) = (\w+_clk);", verilog))
    for clock in clocks:
        while clock in drivers:
            clock = drivers[clock]
        assert clock == "block_clk"
