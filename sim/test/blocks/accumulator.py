# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Logic for the user slot whose answer depends on all data that was sent to it.

Each beat that the logic sends back is the exclusive or of all beats so far. So one beat too many or
too few makes every later beat wrong. The logic counts beats, and raises `irq` after each page of 4
KiB.
"""

from litex.gen import LiteXModule
from litex.soc.interconnect import stream
from litex.soc.interconnect.csr import CSRStatus, CSRStorage
from migen import If, Signal, log2_int

from gateware.numbers import DATA_WIDTH
from gateware.vocabulary.layouts import stream_layout

PAGE = 4096 * 8 // DATA_WIDTH  # number of beats of 32 bytes in a page of 4 KiB


class Accumulator(LiteXModule):
    def __init__(self, platform):
        self.sink = sink = stream.Endpoint(stream_layout())  # h2c data that enters this user logic
        # c2h data that this user logic sends
        self.source = source = stream.Endpoint(stream_layout())
        self.irq = Signal()  # interrupt that this user logic raises
        self.clear = CSRStorage(description="A write forgets all beats.")
        self.beats = CSRStatus(32, description="Beats since then.")

        # # #

        before = Signal(DATA_WIDTH)
        self.comb += [
            sink.connect(source, omit={"data"}),
            source.data.eq(before ^ sink.data),
        ]
        self.sync += [
            self.irq.eq(0),
            If(
                sink.valid & sink.ready,
                before.eq(source.data),
                self.beats.status.eq(self.beats.status + 1),
                self.irq.eq(self.beats.status[: log2_int(PAGE)] == PAGE - 1),
            ),
            If(
                self.clear.re,
                before.eq(0),
                self.beats.status.eq(0),
            ),
        ]
