# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Gives the h2c stream to the player while it runs, and to the user slot otherwise."""

from litex.gen import *
from litex.soc.interconnect import stream
from migen import *

from gateware.vocabulary.layouts import stream_layout


class H2cSwitch(LiteXModule):
    """Passes the h2c stream on to one of two sources. The other one has no beats meanwhile.

    A beat that the user logic has been offered and has not taken when the player starts goes to the
    player. So software should start and stop the player while no h2c data is on its way."""
    def __init__(self):
        self.sink    = stream.Endpoint(stream_layout()) # i, the h2c stream
        self.slot    = stream.Endpoint(stream_layout()) # o, beats for the user slot
        self.player  = stream.Endpoint(stream_layout()) # o, beats for the player
        self.to_play = Signal()                         # i, the player gets the stream.

        # # #

        self.comb += If(self.to_play,
            self.sink.connect(self.player),
        ).Else(
            self.sink.connect(self.slot),
        )
