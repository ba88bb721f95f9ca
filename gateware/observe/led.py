# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Drives the board's LEDs: one shows a heartbeat, one shows that the PCIe link is up."""

from litex.gen import *
from migen import *

from gateware.numbers import HEARTBEAT_BIT


class Leds(LiteXModule):
    """Drives two LEDs; 1 lights an LED. A board with inverted LEDs must invert the pads.

    LED 0 blinks with device time and so shows that the user clock runs. LED 1 is on while the PCIe
    link is up. Further LEDs stay dark."""
    def __init__(self, pads, time, link_up):
        # # #

        self.comb += pads.eq(Cat(time[HEARTBEAT_BIT], link_up))
