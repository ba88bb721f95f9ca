# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Example for the user slot: multiply every 32-bit word of the stream by a power of two.

Scale takes and gives one beat of eight words in every cycle. Bits shifted out of a word are lost. A
new value of `user_shift` applies to the beats that come after it, even inside a packet. So write it
only while no data passes.
"""

from litex.gen import *
from litex.soc.interconnect import stream
from litex.soc.interconnect.csr import *
from migen import *

from gateware.numbers import DATA_WIDTH
from gateware.vocabulary.layouts import stream_layout

WORD = 32

class Scale(LiteXModule):
    """Multiplies each 32-bit word from the host by 2 to the power of a register; sends it back."""
    def __init__(self, platform):
        self.sink   = stream.Endpoint(stream_layout()) # i: stream h2c from the host
        self.source = stream.Endpoint(stream_layout()) # o: stream c2h to the host
        self.irq    = Signal()                         # o
        self.shift  = CSRStorage(5, description="Each word is multiplied by 2 to this power.")

        # # #

        # The registers before and behind the shifters keep the shifters' delay out of the paths to
        # the neighbouring blocks.
        self.before = before = stream.Buffer(stream_layout())
        self.behind = behind = stream.Buffer(stream_layout())
        self.comb += [
            self.sink.connect(before.sink),
            before.source.connect(behind.sink, omit={"data"}),
            behind.source.connect(self.source),
        ]
        for n in range(0, DATA_WIDTH, WORD):
            word = before.source.data[n:n + WORD]
            self.comb += behind.sink.data[n:n + WORD].eq(word << self.shift.storage)
