# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""The default logic in the user slot: it sends the host's h2c data back to the host as c2h data."""

from litex.gen import *
from litex.soc.interconnect import stream
from migen import *

from gateware.vocabulary.layouts import stream_layout


class Loopback(LiteXModule):
    """Passes h2c on to c2h through one register: every beat, in order, at one beat per cycle.

    Unlike the loopback inside the DMA, this one exercises the whole path to the user slot and back.
    """
    def __init__(self, platform):
        # # #

        self.buffer = stream.Buffer(stream_layout())
        self.sink   = self.buffer.sink   # i, h2c stream: data from the host
        self.source = self.buffer.source # o, c2h stream: data to the host
        self.irq    = Signal()           # o, never set: the loopback raises no interrupt.
