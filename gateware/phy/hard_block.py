# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""The PCIE4 hard block as a LitePCIe PHY.

Promises LitePCIe's own USPPCIEPHY, unmodified from the installed package, with its core side in
the hard block's user clock domain. The boundary between simulation and silicon runs below it:

    above, the same in both     USPPCIEPHY, LitePCIe's pcie_support wrapper and its CQ CC RQ RC
                                adapters, added to the platform's sources by the PHY itself
    below, supplied by either   the leaf modules in `LEAVES`: a vendor's on silicon, a model's here

The Verilog above the boundary is read from where the package is installed and never copied: the
wrapper carries a vendor's notice.
"""

from litepcie.phy.usppciephy import USPPCIEPHY
from litex.gen import *
from migen import *

from lanebox.layouts import BAR0_SIZE, DATA_WIDTH, LINK_SPEED

# Modules that no source of this project defines.
LEAVES = ("pcie_usp", "IBUFDS_GTE4", "FDPE")

# Hard block ---------------------------------------------------------------------------------------

def make_hard_block(platform, pads):
    """LitePCIe's PHY on `pads` (refclk, reset, lanes), with everything in the user clock domain."""
    return USPPCIEPHY(platform, pads,
        speed      = LINK_SPEED,
        data_width = DATA_WIDTH,
        cd         = "pcie",
        bar0_size  = BAR0_SIZE,
    )

# User clock ---------------------------------------------------------------------------------------

class UserClock(LiteXModule):
    """Clock and reset the whole SoC by the hard block: `sys` is its user clock and user reset.

    LiteX's soft reset (ctrl_reset) is deliberately not connected. It would cut a TLP in half on
    the way into the hard block, whose side of the streams it cannot reset.
    """
    def __init__(self, phy):
        self.cd_sys = ClockDomain()

        # # #

        self.comb += [
            self.cd_sys.clk.eq(phy.cd_pcie.clk),
            self.cd_sys.rst.eq(phy.cd_pcie.rst),
        ]
