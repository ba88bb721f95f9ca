# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""The default occupant of the user slot: what the host sends comes back."""

from litex.gen import *
from litex.soc.interconnect import stream
from migen import *

from lanebox.layouts import stream_layout


class Loopback(LiteXModule):
    """h2c to c2h through one register: every beat, in order, at one beat per cycle.

    Unlike the loopback inside the DMA it proves the whole path to the user's logic and back.
    """
    def __init__(self, platform):
        # # #

        self.buffer = stream.Buffer(stream_layout())
        self.sink   = self.buffer.sink   # i, h2c
        self.source = self.buffer.source # o, c2h
        self.irq    = Signal()           # o
