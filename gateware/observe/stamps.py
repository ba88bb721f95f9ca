# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Keeps the device time of a doorbell and of the interrupt that follows it, as a pair.

The doorbell is a write of the host that gives a DMA direction a descriptor or switches it on. Its
time is that of the cycle in which the register has the new value. The interrupt's time is that of
the cycle in which the message counts as sent, whatever its cause: see `interrupt_sent` in
gateware/endpoint/endpoints.py. The pair does not include the time that the host takes for sending
the doorbell and for handling the interrupt."""

from litex.gen import *
from litex.soc.interconnect.csr import *
from migen import *

from gateware.numbers import DWORD_WIDTH


class Stamps(LiteXModule):
    """Keeps the device times of the last doorbell and of the first interrupt message after it.

    The pair stays until the next doorbell. So software may read the two times in any order once
    `waiting` is 0. The times have 32 bits, so their difference, modulo 2^32, is right for up to 17
    s (2^32 cycles of 4 ns).

    The inputs `rung` and `sent` must come a cycle after their events, and `time` must be device
    time of the cycle before."""
    def __init__(self, with_csr=True):
        self.time      = Signal(DWORD_WIDTH) # i, device time of the cycle before
        self.rung      = Signal()            # i, one cycle: software rang a doorbell of the DMA.
        self.sent      = Signal()            # i, one cycle: an interrupt message was sent.
        self.doorbell  = Signal(DWORD_WIDTH) # o, device time of the last doorbell
        self.interrupt = Signal(DWORD_WIDTH) # o, device time of the first message after it
        self.waiting   = Signal()            # o, no message has followed the doorbell yet.

        # # #

        # A message in the doorbell's own cycle cannot be its effect, so it is not taken.
        self.sync += If(self.rung,
            self.doorbell.eq(self.time),
            self.waiting.eq(1),
        ).Elif(self.waiting & self.sent,
            self.interrupt.eq(self.time),
            self.waiting.eq(0),
        )

        if with_csr:
            self.add_csr()

    def add_csr(self):
        """Adds the registers with the doorbell's and the interrupt's device time, and `waiting`."""
        self._doorbell  = CSRStatus(DWORD_WIDTH, name="doorbell",
            description="Device time, lower half, of the last doorbell of the DMA.")
        self._interrupt = CSRStatus(DWORD_WIDTH, name="interrupt",
            description="Device time, lower half, of the first interrupt message after it.")
        self._waiting   = CSRStatus(name="waiting",
            description="No message has followed the doorbell yet.")
        self.comb += [
            self._doorbell.status.eq(self.doorbell),
            self._interrupt.status.eq(self.interrupt),
            self._waiting.status.eq(self.waiting),
        ]

# The stamps in the SoC ----------------------------------------------------------------------------

def add_stamps(soc):
    """Adds Stamps to the SoC, for the DMA's doorbells and the endpoint's interrupt messages."""
    soc.stamps = stamps = Stamps()
    doorbell   = soc.pcie_dma0.doorbell
    soc.sync  += stamps.rung.eq(doorbell)
    soc.comb  += [
        stamps.sent.eq(soc.pcie_endpoint.interrupt_sent),
        stamps.time.eq(soc.pcie_counters.time_late),
    ]
