# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Tests of tools/synthesis/depth.py and primitives.py, on netlists that are counted by hand."""

import pytest

from tools.synthesis.depth import NO_CLOCK, LoopError, Timing
from tools.synthesis.netlist import Netlist

OUTPUTS = ("O", "Q", "SPO", "DPO", "CO", "DOUTADOUT", "DOUTBDOUT", "DOA", "DOB", "CLK_OUT")


class Sketch:
    """A mapped netlist that a test makes cell by cell.

    A net is a name, and a vector is a list of names.
    """

    def __init__(self):
        self.bits, self.cells = {}, {}

    def _bit(self, net):
        return net if net in ("0", "1") else self.bits.setdefault(net, len(self.bits) + 2)

    def add(self, kind, **pins):
        nets = {pin: net if isinstance(net, list) else [net] for pin, net in pins.items()}
        name = next(bits[0] for pin, bits in nets.items() if pin in OUTPUTS)
        self.cells[f"{name}_cell"] = {
            "type": kind,
            "port_directions": {pin: "output" if pin in OUTPUTS else "input" for pin in nets},
            "connections": {pin: [self._bit(net) for net in bits] for pin, bits in nets.items()},
        }

    def ff(self, data, held, clock="clk"):
        self.add("FDRE", C=clock, CE="1", D=data, R="0", Q=held)

    def timing(self, inputs=(), outputs=()):
        ports = {**dict.fromkeys(inputs, "input"), **dict.fromkeys(outputs, "output")}
        return Timing(
            Netlist(
                {
                    "cells": self.cells,
                    "ports": {
                        net: {"direction": way, "bits": [self._bit(net)]}
                        for net, way in ports.items()
                    },
                    "netnames": {net: {"bits": [bit]} for net, bit in self.bits.items()},
                }
            )
        )


def deepest(timing, clock="clk"):
    return timing.paths()[0][clock][0]


@pytest.fixture
def sketch():
    return Sketch()


def test_luts_in_a_row_are_counted(sketch):
    """Three LUTs between two registers are three levels, and the path names its ends and nets."""
    sketch.ff("d", "start")
    sketch.add("LUT2", I0="start", I1="1", O="one")
    sketch.add("LUT6", I0="one", I5="other", O="two")
    sketch.add("LUT1", I0="two", O="three")
    sketch.ff("three", "stop")
    path = deepest(sketch.timing(["d", "other"]))
    assert (path.levels, path.start, path.end) == (3, "start", "stop.D")
    assert path.names == ["one", "two", "three"]


def test_the_deepest_of_several_ways_counts(sketch):
    """The depth of a register's input is that of the deepest of the paths that lead to it."""
    sketch.ff("d", "short")
    sketch.ff("d", "long")
    sketch.add("LUT2", I0="long", I1="d", O="one")
    sketch.add("LUT2", I0="one", I1="short", O="two")
    sketch.ff("two", "stop")
    path = deepest(sketch.timing(["d"]))
    assert (path.levels, path.start) == (2, "long")


def test_what_sits_behind_a_lut_in_its_slice_is_free(sketch):
    """Inverters, MUXF cells, carry chains and buffers count as no LUT level."""
    sketch.ff("d", "start")
    sketch.add("LUT3", I0="start", O="lut")
    sketch.add("INV", I="lut", O="inverted")
    sketch.add("MUXF7", I0="inverted", I1="0", S="0", O="mux")
    sketch.add(
        "CARRY4",
        CI="0",
        CYINIT="0",
        DI=["mux", "0", "0", "0"],
        S=["mux", "0", "0", "0"],
        O=["s0", "s1", "s2", "s3"],
        CO=["c0", "c1", "c2", "c3"],
    )
    sketch.ff("s3", "stop")
    assert deepest(sketch.timing(["d"])).levels == 1


def test_nothing_goes_down_a_carry_chain(sketch):
    """In a carry chain, sum bit 0 depends on the lowest inputs only.

    Sum bit 3 depends on all inputs.
    """
    sketch.ff("d", "start")
    sketch.add("LUT3", I0="start", O="high")
    sketch.add(
        "CARRY4",
        CI="0",
        CYINIT="0",
        DI=["0", "0", "0", "0"],
        S=["d", "0", "0", "high"],
        O=["s0", "s1", "s2", "s3"],
        CO=["c0", "c1", "c2", "c3"],
    )
    sketch.ff("s0", "low_stop")
    sketch.ff("s3", "high_stop")
    levels = {
        cell.name: levels
        for levels, _, _, cell, pin in sketch.timing(["d"]).ends_by_level()
        if pin == "D"
    }
    assert levels["low_stop_cell"] == 0 and levels["high_stop_cell"] == 1


def test_a_lutram_is_read_through_its_address_alone(sketch):
    """A read of a LUTRAM from address to data counts as one level. A path ends at its write data
    and its write enable.
    """
    sketch.ff("d", "address")
    sketch.add("LUT2", I0="d", O="once")
    sketch.add("LUT2", I0="once", O="twice")
    sketch.add(
        "RAM64M8",
        ADDRA=["address"],
        ADDRH=["once"],
        DIA=["twice"],
        WE="twice",
        WCLK="clk",
        DOA=["data"],
    )
    sketch.ff("data", "stop")
    found = {
        (cell.name, pin): levels for levels, _, _, cell, pin in sketch.timing(["d"]).ends_by_level()
    }
    assert found[("stop_cell", "D")] == 1
    assert found[("data_cell", "DIA")] == 2 and found[("data_cell", "WE")] == 2
    assert found[("data_cell", "ADDRH")] == 1, "ADDRH is the write address: a path must end"
    assert ("data_cell", "ADDRA") not in found, "ADDRA is a read address: the path must go on"


@pytest.mark.parametrize("pin, levels", [("SPO", 1), ("DPO", 2)])
def test_each_output_of_a_dual_port_lutram_has_its_own_address(sketch, pin, levels):
    """In a dual-port LUTRAM each output depends on one address.

    The output SPO depends on the write address A, and DPO on the read address DPRA only.
    """
    sketch.ff("d", "near")
    sketch.ff("d", "far")
    sketch.add("LUT2", I0="far", O="further")
    sketch.add("RAM64X1D", A0="near", DPRA0="further", D="d", WE="d", WCLK="clk", **{pin: "data"})
    sketch.ff("data", "stop")
    assert deepest(sketch.timing(["d"])).levels == levels


def test_block_ram_begins_and_ends_paths(sketch):
    """A path ends at a block RAM's inputs and begins at its outputs, at the clock of each port."""
    sketch.add(
        "RAMB36E2",
        CLKARDCLK="clk",
        CLKBWRCLK="other_clk",
        ADDRARDADDR=["address"],
        DINBDIN=["written"],
        DOUTADOUT=["read"],
    )
    sketch.add("LUT2", I0="read", O="address")
    sketch.add("LUT2", I0="address", O="written")
    timing = sketch.timing(["clk", "other_clk"])
    assert deepest(timing).levels == 1 and deepest(timing).end == "read_cell.ADDRARDADDR"
    assert deepest(timing).start == "read_cell.DOUTADOUT"
    assert deepest(timing, "other_clk").levels == 2


def test_a_black_box_has_the_clock_of_the_other_end(sketch):
    """A path to a vendor core has the clock of its start. A path from port to port has no clock."""
    sketch.ff("d", "start")
    sketch.add("LUT2", I0="start", O="lut")
    sketch.add("vendor_core", pin="lut", Q="answer")
    sketch.ff("answer", "stop")
    path = deepest(sketch.timing(["d", "i"], ["i"]))
    assert (path.levels, path.end) == (1, "answer_cell.pin")
    assert deepest(sketch.timing(["d", "i"], ["i"]), NO_CLOCK).end == "port i"


def test_a_clock_is_called_by_its_name_behind_the_buffers(sketch):
    """Reports call a clock by the net before its global buffer, the name that a user knows."""
    sketch.add("BUFG", I="user_clk", O="$buffered")
    sketch.ff("d", "stop", clock="$buffered")
    timing = sketch.timing(["d", "user_clk"])
    timing.netlist._names[sketch.bits["$buffered"]] = [(True, 9, "$buffered")]
    assert list(timing.paths()[0]) == ["user_clk"]


def test_a_register_before_a_memory_is_called_after_it(sketch):
    """In the paths of a netlist, the register that Yosys makes of a memory's synchronous read is
    named after the memory.
    """
    sketch.ff("d", "start")
    sketch.add("LUT2", I0="start", O="lut")
    sketch.ff("lut", "$abc$1$o2")
    sketch.add("RAM64M8", ADDRA=["$abc$1$o2"], WCLK="clk", DOA=["store.0.1"])
    timing = sketch.timing(["d"])
    timing.netlist._names[sketch.bits["$abc$1$o2"]] = [(True, 9, "$abc$1$o2")]
    assert deepest(timing).end == "register before store.0.1_cell.ADDRA.D"


def test_a_loop_is_an_error(sketch):
    """A combinational loop of two LUTs raises LoopError."""
    sketch.add("LUT2", I0="there", O="here")
    sketch.add("LUT2", I0="here", O="there")
    with pytest.raises(LoopError, match="without a register near (t?here)"):
        sketch.timing()


def test_paths_alike_are_one_line(sketch):
    """Paths between the same two vectors are one entry of the report: the deepest of them, and how
    many there are.
    """
    for bit in range(4):
        sketch.ff("d", f"from[{bit}]")
        sketch.add("LUT2", I0=f"from[{bit}]", O=f"lut[{bit}]")
        sketch.ff(f"lut[{bit}]", f"to[{bit}]")
    paths, histogram = sketch.timing(["d"]).paths()
    assert [(path.levels, path.alike) for path in paths["clk"]][0] == (1, 4)
    assert histogram["clk"][1] == 4
