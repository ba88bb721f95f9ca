# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""The capture block's clock: the time that frames have, in ns, which software may set.

Until it is set it has device time, so recordings of two equal simulations are equal."""

from litex.gen import *
from litex.soc.interconnect.csr import *
from migen import *

from gateware.numbers import COUNTER_WIDTH, DWORD_WIDTH

# Bits of the time below 1 ns. The rate is in units of the lowest of them.
FRACTION_BITS = 32
RATE_BITS     = 32

class CaptureClock(LiteXModule):
    """Counts time in ns with 32 bits of fraction. A cycle adds `cycle_ns` and the rate.

    In a cycle with `add` the clock also takes over `offset` once. An offset has its effect in
    `time` three cycles later, and a new rate four.

    The sum is made in two halves, and the upper half is a cycle later. The lower half waits for
    it, so `time` is the exact sum of one moment. Without a negative offset it never goes back.
    """
    def __init__(self, cycle_ns, with_csr=True):
        self.time   = Signal(COUNTER_WIDTH)     # o, in ns
        self.offset = Signal(COUNTER_WIDTH)     # i, in ns, modulo 2^64
        self.add    = Signal()                  # i, one cycle: `offset` is added.
        self.rate   = Signal((RATE_BITS, True)) # i, in 2^-32 ns a cycle
        self.latch  = Signal() # i, one cycle: the upper half of the time is copied to `high`.
        self.high   = Signal(COUNTER_WIDTH - DWORD_WIDTH) # o, upper half at the last `latch`

        # # #

        # The signals have their values of a clock that has run before reset: `lower` is one cycle
        # ahead of `time`, and it already contains the first cycle.
        nominal = cycle_ns << FRACTION_BITS
        step    = Signal(FRACTION_BITS + bits_for(cycle_ns + 1), reset=nominal)
        # What is added next, in two halves. The uppermost bit of `more` is a carry.
        more    = Signal(FRACTION_BITS + DWORD_WIDTH + 1, reset=nominal)
        above   = Signal(DWORD_WIDTH)
        # The lower half with its fraction, and what the upper half still lacks.
        lower   = Signal(FRACTION_BITS + DWORD_WIDTH, reset=nominal)
        carry   = Signal()
        lacks   = Signal(DWORD_WIDTH)
        added   = Signal(COUNTER_WIDTH)
        self.comb += If(self.add, added.eq(self.offset))
        self.sync += [
            step.eq(nominal + self.rate),
            more.eq(step + Cat(Replicate(0, FRACTION_BITS), added[:DWORD_WIDTH])),
            above.eq(added[DWORD_WIDTH:]),

            Cat(lower, carry).eq(lower + more[:-1]),
            lacks.eq(above + more[-1]),

            self.time[:DWORD_WIDTH].eq(lower[FRACTION_BITS:]),
            self.time[DWORD_WIDTH:].eq(self.time[DWORD_WIDTH:] + lacks + carry),
            If(self.latch, self.high.eq(self.time[DWORD_WIDTH:])),
        ]

        if with_csr:
            self.add_csr()

    def add_csr(self):
        """Adds the registers through which software sets and reads the clock."""
        self._offset = CSRStorage(COUNTER_WIDTH, name="offset",
            description="Writing a number of ns adds it to the capture block's clock, once, at the "
                "write of the lower half. The number is taken modulo 2^64, so it may be negative.")
        self._rate   = CSRStorage(RATE_BITS, name="rate",
            description="Signed number, in 2^-32 ns, that the clock gains in each cycle beyond the "
                "cycle's length.")
        self._low    = CSRStatus(DWORD_WIDTH, name="low",
            description="Time of the clock in ns, lower half. Reading it latches ``high``.")
        self._high   = CSRStatus(COUNTER_WIDTH - DWORD_WIDTH, name="high",
            description="Time of the clock, upper half, of the instant ``low`` was read.")
        self.comb += [
            self.offset.eq(self._offset.storage),
            self.add.eq(self._offset.re),
            self.rate.eq(self._rate.storage),
            self._low.status.eq(self.time[:DWORD_WIDTH]),
            self._high.status.eq(self.high),
            self.latch.eq(self._low.we),
        ]
