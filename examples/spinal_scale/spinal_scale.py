# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Example for the user slot: the SpinalHDL block SpinalScale, with its register.

This file has only the instance; the logic is SpinalScale.scala. The register `user_shift` is the
same as in examples/scale.
"""

from pathlib import Path

from litex.gen import *
from litex.soc.interconnect import stream
from litex.soc.interconnect.csr import *
from migen import *

from gateware.vocabulary.layouts import stream_layout
from gateware.vocabulary.spinal_instance import spinal_instance
from tools.verilog.spinal_build import generate


class SpinalScale(LiteXModule):
    """Connects SpinalScale.scala, which multiplies each 32-bit word, to slot and register."""
    def __init__(self, platform):
        self.sink   = stream.Endpoint(stream_layout()) # i: stream h2c from the host
        self.source = stream.Endpoint(stream_layout()) # o: stream c2h to the host
        self.irq    = Signal()                         # o
        self.shift  = CSRStorage(5, description="Each word is multiplied by 2 to this power.")

        # # #

        verilog = generate("SpinalScale", Path(__file__).parent)
        platform.add_source(verilog)
        self.specials += spinal_instance(verilog,
            i_shift          = self.shift.storage,
            i_sink_valid     = self.sink.valid,
            o_sink_ready     = self.sink.ready,
            i_sink_payload   = self.sink.data,
            o_source_valid   = self.source.valid,
            i_source_ready   = self.source.ready,
            o_source_payload = self.source.data,
        )
