# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Says whether a write of a front end is still on its way out of the card."""

from litex.gen import *
from migen import *

# A write has left the card when its port's `sent` has pulsed this often since (MasterPort).
PULSES = 2

class Departure(LiteXModule):
    """Says whether a write, which the endpoint has taken, has not left the hard block yet.

    The completion of the host's register read goes by CC and overtakes the card's writes, which go
    by RQ. So a front end may say that it rests only when its last write has left.
    """
    def __init__(self):
        self.taken   = Signal() # i, one cycle: the endpoint has taken a write's last beat.
        self.sent    = Signal() # i, `sent` of the port to which the write went.
        self.leaving = Signal() # o, a write that was taken has not left the hard block.

        # # #

        left = Signal(max=PULSES + 1)
        self.comb += self.leaving.eq(left != 0)
        self.sync += If(self.taken,
            left.eq(PULSES)
        ).Elif(self.sent & self.leaving,
            left.eq(left - 1)
        )
