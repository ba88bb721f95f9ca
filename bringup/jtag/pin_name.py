# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Send the name of a pin as a UART would, so that the pin can be found with a probe.

A word is `U`, the name in four characters and a line feed. Each byte has one start bit, eight data
bits, lowest first, and one stop bit. The sender's clock is inexact: the alternating bits of `U` let
the receiver measure the length of a bit.
"""

from litex.gen import *
from migen import *

BAUD      = 9600
NAME_SIZE = 4 # The longest name of a package pin, for example AB12, has this many characters.
# The line stays high for this many bit times between two words. A receiver finds the beginning of a
# word by this pause.
PAUSE     = 20

def word(name):
    """Return the six bytes that are sent for the pin called `name`: `U`, the name in four bytes,
    line feed.
    """
    if len(name) > NAME_SIZE:
        raise ValueError(f"the name of pin {name} has {len(name)} characters, and {NAME_SIZE} fit")
    return b"U" + name.ljust(NAME_SIZE).encode("ascii") + b"\n"

def line_bits(name):
    """Return the six bytes of word() for the pin called `name` as a list of levels (0 or 1) of the
    line, one for each bit time, with start and stop bits.
    """
    return [bit for byte in word(name)
        for bit in (0, *(byte >> n & 1 for n in range(8)), 1)]


class PinName(LiteXModule):
    """Send the name of the pin number `index` again and again while `enable` is set.

    The line idles high. `bit_cycles` is the length of a bit in clock cycles.
    """
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
