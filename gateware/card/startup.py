# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""The pins of the configuration flash, which a design reaches through STARTUPE3 alone."""

from litex.gen import *
from migen import *


class FlashPins(LiteXModule):
    """Connects an SPI master to the configuration flash. The part may only have one STARTUPE3.

    After a configuration the first clocks on `sck` do not reach the pin (three, by UG570): a design
    makes some with CS# high before its first transfer."""
    def __init__(self):
        self.cs_n    = Signal(reset=1) # i
        self.sck     = Signal()        # i
        self.mosi    = Signal()        # i
        self.release = Signal()        # i, D00 is not driven, so that the flash may drive it.
        self.lines   = Signal(2)       # o, levels of the pins D00 and D01

        # # #

        data_in = Signal(4)
        self.comb += self.lines.eq(data_in[:2])
        self.specials += Instance("STARTUPE3",
            p_PROG_USR   = "FALSE",
            o_DI         = data_in,
            # D00 is MOSI and D01 is MISO. D02 and D03 are driven high: they are the flash's write
            # protection and hold, which are active low.
            i_DO         = Cat(self.mosi, C(0b110, 3)),
            i_DTS        = Cat(self.release, C(0b001, 3)),
            i_FCSBO      = self.cs_n,
            i_FCSBTS     = 0,
            i_USRCCLKO   = self.sck,
            i_USRCCLKTS  = 0,
            i_USRDONEO   = 1,
            i_USRDONETS  = 1,
            i_GSR        = 0,
            i_GTS        = 0,
            i_KEYCLEARB  = 1,
            i_PACK       = 0,
        )
