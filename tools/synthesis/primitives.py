# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""The cost of the primitives of an UltraScale+ netlist, and the ways of a signal through them.

LUT                      1 level
LUTRAM, SRL              1 level from the read address; everything else ends in a register
INV, MUXF7-9, CARRY      0 levels: they sit in the same slice, behind their LUTs
buffers                  0 levels
all else                 a path ends at its inputs and begins at its outputs

Levels show a trend and compare designs. They are not nanoseconds: routing is not included.
"""

import re
from typing import NamedTuple, Optional

# How many LUTs each kind of LUTRAM or shift register occupies.
LUTRAM_LUTS = {
    "RAM32X1S": 1,
    "RAM64X1S": 1,
    "RAM128X1S": 2,
    "RAM256X1S": 4,
    "RAM512X1S": 8,
    "RAM32X1D": 2,
    "RAM64X1D": 2,
    "RAM128X1D": 4,
    "RAM256X1D": 8,
    "RAM32M": 4,
    "RAM64M": 4,
    "RAM32M16": 8,
    "RAM64M8": 8,
    "RAM32X16DR8": 8,
    "RAM64X8SW": 8,
    "SRL16E": 1,
    "SRLC32E": 1,
}
BRAM36 = {"RAMB36E2": 1, "RAMB18E2": 0.5, "FIFO36E2": 1, "FIFO18E2": 0.5}
URAM = {"URAM288": 1, "URAM288_BASE": 1}

LUT = re.compile(r"LUT[1-6](_2)?$")
FREE = re.compile(r"(INV|BUF|MUXF[789]|CARRY[48]|[IO]BUF|OBUFT|BUFG\w*)$")
PAD = re.compile(r"[IO]BUF$")
FF = re.compile(r"FD[RSCP]E(_1)?$")
LATCH = re.compile(r"(LD[CP]E|\$_?d?latch\w*)", re.IGNORECASE)
CARRY = re.compile(r"CARRY[48]$")
BRAM = re.compile(r"(RAMB|FIFO)(36|18)E2$")
ADDRESS = re.compile(r"A\d*$")
READ_ADDRESS = re.compile(r"DPRA\d*$")

CLOCKS = ("C", "G", "CLK", "WCLK", "CLKARDCLK", "CLKBWRCLK", "RDCLK", "WRCLK")


class Arc(NamedTuple):
    """A path through a primitive, from input pin `source`, at a cost in LUT levels.

    `bits` limits the path to the lowest bits of the pin; None means all bits.
    """

    source: str
    cost: int
    bits: Optional[int] = None


def is_lutram(kind):
    """Return whether cells of this kind are LUTs that are used as memory."""
    return kind in LUTRAM_LUTS


def _read_address(kind, pin, pins):
    """Return the address pins by which the LUTRAM output `pin` is read."""
    # Each port from A to H has its own address: the output DOA is read at the address ADDRA.
    if kind.startswith(("RAM32M", "RAM64M")):
        return [pin.replace("DO", "ADDR", 1)]
    dual = READ_ADDRESS if pin == "DPO" else ADDRESS
    return [name for name in pins if dual.match(name)]


def arcs(kind, pin, index, inputs):
    """Return the paths from inputs to bit `index` of output `pin`.

    Returns None if a path begins at this output.
    """
    if is_lutram(kind):
        return [Arc(name, 1) for name in _read_address(kind, pin, inputs) if name in inputs]
    if LUT.match(kind):
        return [Arc(name, 1) for name in inputs]
    if CARRY.match(kind):  # In a carry chain a signal only goes from lower to higher bits.
        return [
            Arc(name, 0) if name.startswith("CI") or name == "CYINIT" else Arc(name, 0, index + 1)
            for name in inputs
        ]
    if FREE.match(kind):
        return [Arc(name, 0) for name in inputs]
    return None


def _only_read(kind, pin):
    """Return whether the LUTRAM input `pin` chooses what is read, and has no part in writes."""
    if kind.startswith("SRL"):
        return bool(ADDRESS.match(pin))
    # The address of the last port is also the address of writes.
    if kind.startswith(("RAM32M", "RAM64M")):
        last = "H" if kind in ("RAM32M16", "RAM64M8") else "D"
        return pin.startswith("ADDR") and pin != f"ADDR{last}"
    return bool(READ_ADDRESS.match(pin))


def ends(kind, pin, through):
    """Return whether a path ends at input `pin`.

    It does not end at a clock, nor where it goes on through the cell.
    """
    if pin in CLOCKS:
        return False
    return not _only_read(kind, pin) if is_lutram(kind) else not through


def clock_pin(kind, pin, inputs):
    """Return the name of the clock pin of the cell by which `pin` is timed, or None."""
    if BRAM.match(kind):
        second = re.search(r"B(WR|$|DIN|ADDR)|INB|DINPB|RAMB$|REGB$|REGCEB|WEB|ENB", pin)
        return "CLKBWRCLK" if second else "CLKARDCLK"
    return next((name for name in CLOCKS if name in inputs), None)
