# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""The PCIE4 hard block as a PHY, as each endpoint wants it.

    lanebox     Pcie4Phy, the hard block's own streams
    litepcie    LitePCIe's USPPCIEPHY, unmodified from the installed package, with its core side in
                the user clock domain; it adds LitePCIe's pcie_support wrapper and its CQ CC RQ RC
                adapters to the platform's sources, read from where the package is installed and
                never copied: the wrapper carries a vendor's notice

The boundary between simulation and silicon runs below either PHY: everything above it is the same
in both. Below it are the modules in `LEAVES`: the vendor's on silicon, a model's in simulation.
"""

from litepcie.phy.usppciephy import USPPCIEPHY
from litex.gen import *
from migen import *

from lanebox.layouts import BAR0_SIZE, DATA_WIDTH, LINK_SPEED, SYS_CLK_FREQ
from lanebox.phy.pcie4 import Pcie4Phy

# Modules that no source file of this project defines.
LEAVES = ("pcie_usp", "IBUFDS_GTE4", "FDPE")

# How the hard block must be configured for each endpoint, as constants of the SoC. These settings
# are not pins, so the model or the vendor's core must be made with them.
HARD_BLOCK = {
    "lanebox":  {"PCIE_RC_STRADDLE": 1, "PCIE_FLR": 1},
    "litepcie": {"PCIE_RC_STRADDLE": 0, "PCIE_FLR": 0},
}

# PHY ----------------------------------------------------------------------------------------------

def _litepcie(platform, pads, msix, clock):
    if msix:
        raise ValueError("MSI-X: the stock endpoint has none; choose the endpoint lanebox")
    phy = USPPCIEPHY(platform, pads,
        speed      = LINK_SPEED,
        data_width = DATA_WIDTH,
        cd         = "pcie",
        bar0_size  = BAR0_SIZE,
    )
    phy.msi_busy = phy.msi.valid
    phy.clock    = clock
    return phy

def make_phy(endpoint, platform, pads, msix=False, clock=SYS_CLK_FREQ):
    """The PHY for `endpoint` on `pads` (refclk, reset, lanes), all of it in the user clock domain.

    `clock` is the user clock in Hz, which depends on the link's greatest speed and width.
    """
    return {"lanebox": Pcie4Phy, "litepcie": _litepcie}[endpoint](platform, pads, msix, clock)

# User clock ---------------------------------------------------------------------------------------

class UserClock(LiteXModule):
    """Clock and reset of the whole SoC from the hard block: `sys` is its user clock and user reset.

    LiteX's soft reset (ctrl_reset) is deliberately not connected. It would cut a TLP in half on the
    way into the hard block, whose side of the streams it cannot reset.
    """
    def __init__(self, phy):
        self.cd_sys = ClockDomain()

        # # #

        self.comb += [
            self.cd_sys.clk.eq(phy.cd_pcie.clk),
            self.cd_sys.rst.eq(phy.cd_pcie.rst),
        ]
