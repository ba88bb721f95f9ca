# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Logic for the user slot that sends back its input, and can change `last` and `error` of the
packets.

If the register `ends` is 0, no packet ends, so that a c2h buffer ends only when it is full or by
the flush time. If the register `bad` is 1, each packet carries an error.
"""

from litex.gen import LiteXModule
from litex.soc.interconnect import stream
from litex.soc.interconnect.csr import CSRStorage
from migen import Signal

from gateware.vocabulary.layouts import stream_layout


class PacketEnds(LiteXModule):
    def __init__(self, platform):
        self.sink = sink = stream.Endpoint(stream_layout())  # h2c data that enters this user logic
        # c2h data that this user logic sends
        self.source = source = stream.Endpoint(stream_layout())
        self.irq = Signal()  # interrupt that this user logic raises
        self.ends = CSRStorage(reset=1, description="0: no packet ends.")
        self.bad = CSRStorage(description="1: each packet ends with an error.")

        # # #

        self.comb += [
            sink.connect(source, omit={"last", "error"}),
            source.last.eq(sink.last & self.ends.storage),
            source.error.eq(sink.error | self.bad.storage),
        ]
