# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Define a data register behind the part's own JTAG port, for logic in the fabric (UG570,
"BSCANE2").
"""

from litex.gen import *
from migen import *


class UserRegister(LiteXModule):
    """The signals of the JTAG state machine (TAP) while instruction USER<chain> is selected.

    They are in clock domain `tck`. `capture`, `shift` and `update` are high while the TAP is in
    that state, so logic acts on them at the rising edge of TCK that ends such a cycle. `tdo` leaves
    the part through a register, at the falling edge of TCK.
    """
    def __init__(self, chain):
        self.cd_tck  = ClockDomain(reset_less=True)
        # o, TCK as a signal, to be used as data in logic. Flip-flops use the clock domain `tck`.
        self.tck     = Signal()
        self.tdi     = Signal() # o
        self.tdo     = Signal() # i
        self.capture = Signal() # o
        self.shift   = Signal() # o
        self.update  = Signal() # o

        # # #

        selected, capture, shift, update = (Signal() for _ in range(4))
        self.specials += Instance("BSCANE2",
            p_JTAG_CHAIN = chain,
            o_SEL        = selected,
            o_CAPTURE    = capture,
            o_SHIFT      = shift,
            o_UPDATE     = update,
            o_TCK        = self.tck,
            o_TDI        = self.tdi,
            i_TDO        = self.tdo,
        )
        self.specials += Instance("BUFG", i_I=self.tck, o_O=self.cd_tck.clk)
        self.comb += [
            self.capture.eq(selected & capture),
            self.shift.eq(selected & shift),
            self.update.eq(selected & update),
        ]
