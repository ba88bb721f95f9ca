# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Logic for the user slot that takes beats slowly, sends fewer beats than it takes, and can be told
to stop.

The logic takes beats in two of three cycles, and sends every fourth one on. If its register `stop`
is not 0, it takes no more after that many beats.
"""

from litex.gen import LiteXModule
from litex.soc.interconnect import stream
from litex.soc.interconnect.csr import CSRStorage
from migen import If, Signal

from gateware.vocabulary.layouts import stream_layout


class Thrifty(LiteXModule):
    def __init__(self, platform):
        self.sink = sink = stream.Endpoint(stream_layout())  # h2c data that enters this user logic
        # c2h data that this user logic sends
        self.source = source = stream.Endpoint(stream_layout())
        self.irq = Signal()  # interrupt that this user logic raises
        self.stop = CSRStorage(32, description="Beats that it takes; 0: all.")

        # # #

        turn = Signal(max=3)
        beats = Signal(32)
        takes, sends = Signal(), Signal()
        self.comb += [
            takes.eq((turn != 2) & ((self.stop.storage == 0) | (beats != self.stop.storage))),
            sends.eq(beats[:2] == 3),
            sink.connect(source, omit={"valid", "ready"}),
            source.valid.eq(sink.valid & takes & sends),
            sink.ready.eq(takes & (~sends | source.ready)),
        ]
        self.sync += [
            # By the rule of AXI4-Stream an offered beat must stay offered until it is taken. So
            # `turn` does not advance while a beat is offered and not taken.
            If(~source.valid | source.ready, If(turn == 2, turn.eq(0)).Else(turn.eq(turn + 1))),
            If(sink.valid & sink.ready, beats.eq(beats + 1)),
        ]
