# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""The PCIE4 hard block as a PHY: each of the two endpoints has a PHY of its own.

    lanebox     Pcie4Phy, with the hard block's own streams
    litepcie    LitePCIe's USPPCIEPHY, unmodified from the installed package, with its core side in
                the user clock domain; it adds LitePCIe's pcie_support wrapper and its CQ CC RQ RC
                adapters to the platform's sources, read from where the package is installed and
                never copied: the wrapper carries a vendor's notice

Simulation and silicon differ only below the PHY: in the modules named in `LEAVES`. On silicon they
are the vendor's, in simulation a model's. Everything above is the same in both."""

from litepcie.phy.usppciephy import USPPCIEPHY
from litex.gen import *
from migen import *

from gateware.numbers import BAR0_SIZE, DATA_WIDTH, LINK_SPEED, SYS_CLK_FREQ
from gateware.phy.pcie4 import Pcie4Phy

# Modules that the PHY instantiates but no source of the gateware defines: core and primitives.
LEAVES = ("pcie_usp", "IBUFDS_GTE4", "FDPE")

# The configuration that the hard block must have for each endpoint, as constants of the SoC. No pin
# sets these options: the vendor's core, or the model, must be generated with them.
HARD_BLOCK = {
    "lanebox":  {"PCIE_RC_STRADDLE": 1, "PCIE_FLR": 1},
    "litepcie": {"PCIE_RC_STRADDLE": 0, "PCIE_FLR": 0},
}

# The PHY of each endpoint -------------------------------------------------------------------------

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
    """Returns a new PHY for the endpoint of the kind `endpoint` ("lanebox" or "litepcie") on `pads`
    (reference clock, reset, lanes). `clock` is the user clock in Hz."""
    return {"lanebox": Pcie4Phy, "litepcie": _litepcie}[endpoint](platform, pads, msix, clock)

# User clock and reset of the SoC ------------------------------------------------------------------

class UserClock(LiteXModule):
    """Takes clock and reset of the whole SoC (`sys`) from the hard block's user clock and reset.

    LiteX's soft reset (ctrl_reset) is not connected, on purpose. It would cut a TLP in half on its
    way into the hard block, and it cannot reset the hard block's side of the streams."""
    def __init__(self, phy):
        self.cd_sys = ClockDomain()

        # # #

        self.comb += [
            self.cd_sys.clk.eq(phy.cd_pcie.clk),
            self.cd_sys.rst.eq(phy.cd_pcie.rst),
        ]
