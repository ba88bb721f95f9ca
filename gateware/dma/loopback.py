# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""The loopback inside a DMA channel, from h2c to c2h. It has the register of LitePCIe's loopback,
but its streams have packets."""

from litex.gen import *
from litex.soc.interconnect import stream
from litex.soc.interconnect.csr import *
from migen import *

from gateware.vocabulary.layouts import stream_layout


class DmaLoopback(LiteXModule):
    """Sends h2c data straight to c2h while it is enabled. The user logic then gets no data, and its
    own c2h data waits. While disabled the loopback passes both streams on."""
    def __init__(self):
        self.enable = CSRStorage(description="""DMA Loopback Enable Control.\n
         Write ``1`` to enable DMA internal loopback (DMA Reader to DMA Writer).""")

        self.sink        = stream.Endpoint(stream_layout()) # i, h2c data from the h2c engine
        self.next_source = stream.Endpoint(stream_layout()) # o, h2c data to the user
        self.next_sink   = stream.Endpoint(stream_layout()) # i, c2h data from the user
        self.source      = stream.Endpoint(stream_layout()) # o, c2h data to the c2h engine

        # # #

        self.comb += If(self.enable.storage,
            self.sink.connect(self.source)
        ).Else(
            self.sink.connect(self.next_source),
            self.next_sink.connect(self.source)
        )
