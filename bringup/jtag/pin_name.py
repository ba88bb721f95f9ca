# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Sends the name of a pin as a UART would, so that the pin can be found with a probe.

A word is `U`, the name in four characters and a line feed. Each byte has one start bit, eight data
bits, lowest first, and one stop bit. The sender's clock is inexact: the alternating bits of `U` let
the receiver measure the length of a bit.
"""

from litex.gen import *
from migen import *

BAUD      = 9600
NAME_SIZE = 4  # The length of the longest name of a pin.
PAUSE     = 20 # Bits of silence between two words, by which a reader finds where a word begins.

def word(name):
    """Return the bytes for the pin called `name`."""
    if len(name) > NAME_SIZE:
        raise ValueError(f"the name of pin {name} has {len(name)} characters, and {NAME_SIZE} fit")
    return b"U" + name.ljust(NAME_SIZE).encode("ascii") + b"\n"

def line_bits(name):
    """Return the word for the pin called `name` as bits on the line, in order."""
    return [bit for byte in word(name)
        for bit in (0, *(byte >> n & 1 for n in range(8)), 1)]


class PinName(LiteXModule):
    """Sends the name of pin `index` again and again while `enable` is set. The line idles high."""
    def __init__(self, names, bit_cycles):
        self.index  = Signal(max=max(2, len(names))) # i
        self.enable = Signal()                       # i
        self.line   = Signal(reset=1)                # o

        # # #

        length = len(line_bits("")) + PAUSE
        frame  = Signal(length)
        self.comb += Case(self.index, {
            **{n: frame.eq(Cat(*line_bits(name), *[1]*PAUSE)) for n, name in enumerate(names)},
            "default": frame.eq(2**length - 1),
        })

        cycle = Signal(max=bit_cycles)
        place = Signal(max=length)
        self.sync += [
            cycle.eq(cycle + 1),
            If(cycle == bit_cycles - 1,
                cycle.eq(0),
                place.eq(place + 1),
                If(place == length - 1, place.eq(0)),
            ),
            self.line.eq(Array(frame[n] for n in range(length))[place]),
            If(~self.enable,
                cycle.eq(0),
                place.eq(0),
                self.line.eq(1),
            ),
        ]
