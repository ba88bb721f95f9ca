# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""The CRC-32 of zlib and Ethernet over bytes or parts of them, as logic."""

from litex.gen import *
from migen import *

POLYNOMIAL = 0xedb88320

class Crc32(LiteXModule):
    """Computes zlib's crc32() of the data that `valid` marks since `clear`. The data comes in parts
    of `width` bits, the lowest bits of a byte first. With `reset_less` only `clear` begins anew, so
    flip-flops have one reset, and less logic."""
    def __init__(self, width=8, reset_less=False):
        self.clear = Signal()      # i, one cycle: a new CRC begins.
        self.data  = Signal(width) # i, the next bits of the data
        self.valid = Signal()      # i, `data` is taken in this cycle.
        self.crc   = Signal(32)    # o, CRC-32 of all bits that were taken

        # # #

        state = Signal(32, reset=2**32 - 1, reset_less=reset_less)
        after = state ^ self.data
        for _ in range(width):
            stage = Signal(32)
            self.comb += stage.eq(after)
            after = (stage >> 1) ^ (Replicate(stage[0], 32) & POLYNOMIAL)
        self.comb += self.crc.eq(~state)
        self.sync += [
            If(self.valid, state.eq(after)),
            If(self.clear, state.eq(state.reset)),
        ]
