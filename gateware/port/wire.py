# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""The wire: a far side of the net device that brings its frames to the client's side of a MAC.

The target connects `transmit`, `receive` and `up`. In simulation they lead to the model of a MAC
and its line (sim/board/port/). No MAC for a real card exists yet."""

from litex.gen import *
from litex.soc.interconnect import stream
from migen import *

from gateware.vocabulary import layouts


class Wire(LiteXModule):
    """Gives the frames of `sink` to a MAC, and the MAC's frames to `source`.

    A MAC that is not ready makes the frames of `sink` wait. The frames of `receive` must not wait:
    a MAC has no room for them. `source` is always ready but for a cycle in a frame, so one beat of
    room in the MAC is enough."""
    def __init__(self, platform):
        self.sink   = sink   = stream.Endpoint(layouts.frame_layout()) # i
        self.source = source = stream.Endpoint(layouts.frame_layout()) # o
        self.link   = Signal()                                         # o, the link is up.
        self.busy   = Signal()                                         # o

        self.transmit = transmit = stream.Endpoint(layouts.frame_layout()) # o
        self.receive  = receive  = stream.Endpoint(layouts.frame_layout()) # i
        self.up       = Signal()                                           # i, MAC link is up.

        # # #

        self.comb += [
            sink.connect(transmit),
            receive.connect(source),
            self.link.eq(self.up),
            self.busy.eq(sink.valid | receive.valid),
        ]
