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

from gateware.vocabulary.layouts import stream_layout
from gateware.vocabulary.spinal_instance import spinal_instance
from gateware.vocabulary.spinal_ports import stream_ports
from tools.verilog.spinal_build import generate


class SpinalWhiten(LiteXModule):
    """Connects the SpinalHDL block, which XORs each word with a key, to user slot and registers."""
    def __init__(self, platform):
        self.sink    = stream.Endpoint(stream_layout()) # i: stream h2c from the host
        self.source  = stream.Endpoint(stream_layout()) # o: stream c2h to the host
        self.irq     = Signal()                         # o
        self.key     = CSRStorage(32, description="Each word is XORed with this.")
        self.packets = CSRStatus(32, description="Packets that have left.")

        # # #

        # The instance must name every port of SpinalWhiten but clk and reset, each with its
        # direction and width.
        verilog = generate("SpinalWhiten", Path(__file__).parent)
        platform.add_source(verilog)
        self.specials += spinal_instance(verilog,
            **stream_ports("sink",   self.sink,   "sink"),
            **stream_ports("source", self.source, "source"),
            i_key     = self.key.storage,
            o_packets = self.packets.status,
            o_irq     = self.irq,
        )
