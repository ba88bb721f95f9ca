# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Device time of a doorbell and of the interrupt that follows it, as a pair.

The doorbell is a write of the host that gives a DMA direction a descriptor or switches it on. Its
time is that of the cycle in which the register has the new value. The interrupt's time is that of
the cycle in which the hard block has sent the message, whatever its cause: see `interrupt_sent` in
pcie/endpoint.py. The host's own time is not included.
"""

from litex.gen import *
from litex.soc.interconnect.csr import *
from migen import *

from lanebox.layouts import DWORD_WIDTH


class Stamps(LiteXModule):
    """Keeps the times of the last doorbell and of the first message after it.

    The pair stays until the next doorbell, so software may read it in any order once `waiting` is
    0. With 32 bits the difference is right, modulo 2^32, for up to 17 s.

    Both events must come a cycle late, and so must `time`.
    """
    def __init__(self, with_csr=True):
        self.time      = Signal(DWORD_WIDTH) # i
        self.rung      = Signal()            # i
        self.sent      = Signal()            # i
        self.doorbell  = Signal(DWORD_WIDTH) # o
        self.interrupt = Signal(DWORD_WIDTH) # o
        self.waiting   = Signal()            # o, no message has followed the doorbell yet.

        # # #

        # A message in the doorbell's own cycle belongs to something earlier.
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

# SoC ----------------------------------------------------------------------------------------------

def add_stamps(soc):
    """Adds stamps of the DMA's doorbells and of the endpoint's messages."""
    soc.stamps = stamps = Stamps()
    doorbell   = soc.pcie_dma0.doorbell
    soc.sync  += stamps.rung.eq(doorbell)
    soc.comb  += [
        stamps.sent.eq(soc.pcie_endpoint.interrupt_sent),
        stamps.time.eq(soc.pcie_counters.time_late),
    ]
