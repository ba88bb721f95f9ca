# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Logic for the user slot: the SpinalHDL block SpinalWhiten, with its registers.

This file has only the instance and the registers; the logic is SpinalWhiten.scala.
"""

from pathlib import Path

from litex.gen import *
from litex.soc.interconnect import stream
from litex.soc.interconnect.csr import *
from migen import *

from lanebox.layouts import stream_layout
from lanebox.spinal_build import generate


class SpinalWhiten(LiteXModule):
    def __init__(self, platform):
        self.sink    = stream.Endpoint(stream_layout()) # i, h2c
        self.source  = stream.Endpoint(stream_layout()) # o, c2h
        self.irq     = Signal()                         # o
        self.key     = CSRStorage(32, description="Each word is XORed with this.")
        self.packets = CSRStatus(32, description="Packets that have left.")

        # # #

        platform.add_source(generate("SpinalWhiten", Path(__file__).parent))
        self.specials += Instance("SpinalWhiten",
            i_clk     = ClockSignal("sys"),
            i_reset   = ResetSignal("sys"),
            i_key     = self.key.storage,
            o_packets = self.packets.status,
            o_irq     = self.irq,
            i_sink_valid                    = self.sink.valid,
            o_sink_ready                    = self.sink.ready,
            i_sink_payload_last             = self.sink.last,
            i_sink_payload_fragment_data    = self.sink.data,
            i_sink_payload_fragment_bytes   = self.sink.bytes,
            i_sink_payload_fragment_error   = self.sink.error,
            o_source_valid                  = self.source.valid,
            i_source_ready                  = self.source.ready,
            o_source_payload_last           = self.source.last,
            o_source_payload_fragment_data  = self.source.data,
            o_source_payload_fragment_bytes = self.source.bytes,
            o_source_payload_fragment_error = self.source.error,
        )
