# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""The echo: a far side of the net device that answers ARP, ICMP echo and UDP at line rate.

Echo.scala has the logic."""

from litex.gen import *
from litex.soc.interconnect import stream
from migen import *

from gateware.vocabulary import layouts
from gateware.vocabulary.spinal_instance import spinal_instance
from gateware.vocabulary.spinal_ports import stream_ports
from tools.verilog.spinal_build import generate


class Echo(LiteXModule):
    """Sends the Ethernet frames of `sink` back at `source`, each to its sender."""
    def __init__(self, platform):
        self.sink   = stream.Endpoint(layouts.frame_layout()) # i
        self.source = stream.Endpoint(layouts.frame_layout()) # o
        self.link   = Signal(reset=1)                         # o
        self.busy   = Signal()                                # o

        # # #

        verilog = generate("port.Echo")
        platform.add_source(verilog)
        self.specials += spinal_instance(verilog,
            o_busy = self.busy,
            **stream_ports("sink",   self.sink,   "sink"),
            **stream_ports("source", self.source, "source"),
        )
