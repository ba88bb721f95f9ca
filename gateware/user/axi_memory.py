# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Occupants of the user slot that show the host a memory of their own, beside the loopback.

`MemoryOnAxi` is an example of what user logic does with its AXI4 bus; `SlowMemoryOnAxi` takes as
long as a DRAM behind its controller, for `make bench`: a delay line is of no use on a card.
"""

from litex.soc.interconnect.csr import CSRStorage

from lanebox.mmio.axi_memory import LEAST_CYCLES, AxiMemory
from lanebox.user.loopback import Loopback

SIZE = 64*1024


class MemoryOnAxi(Loopback):
    """64 KiB of block memory, answered at once."""
    latency = LEAST_CYCLES

    def __init__(self, platform):
        Loopback.__init__(self, platform)
        self.memory = AxiMemory(SIZE, self.latency)
        self.axi    = self.memory.bus

class SlowMemoryOnAxi(MemoryOnAxi):
    """The same memory with a latency of 50 cycles (200 ns). Software can make it answer no read.

    Each write that it has answered raises an interrupt.
    """
    latency = 50

    def __init__(self, platform):
        MemoryOnAxi.__init__(self, platform)
        self.hold  = CSRStorage(description="Answer no read.")
        self.comb += [
            self.memory.hold.eq(self.hold.storage),
            self.irq.eq(self.axi.b.valid & self.axi.b.ready),
        ]
