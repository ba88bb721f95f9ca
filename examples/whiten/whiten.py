# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Logic for the user slot: XOR each 32-bit word of the stream with a register.

Whiten takes and gives one beat of eight words in every cycle. A packet keeps its length and its
place in the order. The end of each packet is counted, and raises an interrupt. A new value of
`user_key` applies to the beats that come after it.
"""

from litex.gen import *
from litex.soc.interconnect import stream
from litex.soc.interconnect.csr import *
from migen import *

from gateware.numbers import DATA_WIDTH
from gateware.vocabulary.layouts import stream_layout

WORD = 32

class Whiten(LiteXModule):
    """XORs each 32-bit word of a packet with a key from a register, and sends it back."""
    def __init__(self, platform):
        self.sink    = sink   = stream.Endpoint(stream_layout()) # i: stream h2c from the host
        self.source  = source = stream.Endpoint(stream_layout()) # o: stream c2h to the host
        self.irq     = Signal()                                  # o
        self.key     = CSRStorage(WORD, description="Each word is XORed with this.")
        self.packets = CSRStatus(32, description="Packets that have left.")

        # # #

        # Data -------------------------------------------------------------------------------------

        # A register holds one beat of c2h, with its `last`, `bytes` and `error`, until the card
        # takes it.
        self.held = held = stream.Buffer(stream_layout())
        self.comb += [
            sink.connect(held.sink, omit={"data"}),
            held.sink.data.eq(sink.data ^ Replicate(self.key.storage, DATA_WIDTH//WORD)),
            held.source.connect(source),
        ]

        # Packets ----------------------------------------------------------------------------------

        # A beat leaves only in a cycle with `valid` and `ready`; with `valid` alone it is only
        # offered.
        leaves = Signal()
        self.comb += leaves.eq(source.valid & source.ready & source.last)
        self.sync += [
            self.irq.eq(leaves),
            If(leaves, self.packets.status.eq(self.packets.status + 1)),
        ]
