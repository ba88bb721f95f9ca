# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Device time: the card's own clock, in ticks of one cycle since reset (4 ns at 250 MHz).

All measurements of Lanebox on the card are in device time. Its 64 bits last 2,300 years."""

from litex.gen import *
from litex.soc.interconnect.csr import *
from migen import *

from gateware.numbers import COUNTER_WIDTH, DWORD_WIDTH


class DeviceTime(LiteXModule):
    """Counts cycles since reset. Software reads all 64 bits of one instant through a 32-bit bus.

    Software must read `low` first: that read latches the upper half of the same instant into
    `high`."""
    def __init__(self, with_csr=True):
        self.time  = Signal(COUNTER_WIDTH) # o, device time in cycles
        self.latch = Signal() # i, one cycle: the upper half of device time is copied to `high`.
        # o, upper half of device time at the last `latch`
        self.high  = Signal(COUNTER_WIDTH - DWORD_WIDTH)

        # # #

        self.sync += [
            self.time.eq(self.time + 1),
            If(self.latch, self.high.eq(self.time[DWORD_WIDTH:])),
        ]

        if with_csr:
            self.add_csr()

    def add_csr(self):
        """Adds the registers through which software reads device time."""
        self._low  = CSRStatus(DWORD_WIDTH, name="low",
            description="Device time, lower half, in cycles. Reading it latches ``high``.")
        self._high = CSRStatus(COUNTER_WIDTH - DWORD_WIDTH, name="high",
            description="Device time, upper half, of the instant ``low`` was read.")
        self.comb += [
            self._low.status.eq(self.time[:DWORD_WIDTH]),
            self._high.status.eq(self.high),
            self.latch.eq(self._low.we),
        ]
