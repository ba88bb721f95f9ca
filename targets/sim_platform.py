# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""LiteX's platform of the simulated card: the KU5P part, and the pins that the simulation drives.

The part is the real card's part, because LiteX and LitePCIe choose primitives and TLP formats by
it. The pins have no locations, since a simulated design is never placed."""

from litex.build.generic_platform import Pins, Subsignal
from litex.build.xilinx import XilinxUSPPlatform

DEVICE = "xcku5p-ffvb676-2-i"
LANES  = 8
LEDS   = 4

_io = [
    ("pcie_x8", 0,
        Subsignal("rst_n", Pins(1)),
        Subsignal("clk_p", Pins(1)),
        Subsignal("clk_n", Pins(1)),
        Subsignal("rx_p",  Pins(LANES)),
        Subsignal("rx_n",  Pins(LANES)),
        Subsignal("tx_p",  Pins(LANES)),
        Subsignal("tx_n",  Pins(LANES)),
    ),
    *[("user_led", n, Pins(1)) for n in range(LEDS)],

    # `busy` is a pin of the simulation only. It is high while the card has work, so that device
    # time must run.
    ("busy", 0, Pins(1)),
    # `user_slot` has six pins of the simulation only: valid, ready and last of the user slot's sink
    # (h2c), then those of its source (c2h).
    ("user_slot", 0, Pins(6)),
]

class Platform(XilinxUSPPlatform):
    """LiteX's platform of the simulated card. It has the pins of the PCIe link, clock, reset and
    LEDs."""
    def __init__(self):
        XilinxUSPPlatform.__init__(self, DEVICE, _io, toolchain="vivado")
