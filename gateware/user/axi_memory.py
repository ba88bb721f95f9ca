# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""User logic that shows the host a memory of its own on its AXI4 bus, and loops h2c back to c2h.

`MemoryOnAxi` is an example of what user logic can do with its AXI4 bus. `SlowMemoryOnAxi` takes as
long to answer as a DRAM behind its controller. It exists for `make bench` only: a delay is of no
use on a card.
"""

from litex.soc.interconnect.csr import CSRStorage

from gateware.mmio.axi_memory import LEAST_CYCLES, AxiMemory
from gateware.user.loopback import Loopback

SIZE = 64*1024


class MemoryOnAxi(Loopback):
    """Shows 64 KiB of block memory, which answers as fast as it can."""
    latency = LEAST_CYCLES

    def __init__(self, platform):
        Loopback.__init__(self, platform)
        self.memory = AxiMemory(SIZE, self.latency)
        self.axi    = self.memory.bus

class SlowMemoryOnAxi(MemoryOnAxi):
    """Shows 64 KiB of memory with a latency of 50 cycles (200 ns). Software can set it to answer no
    read.

    It raises an interrupt for each write that it has answered.
    """
    latency = 50

    def __init__(self, platform):
        MemoryOnAxi.__init__(self, platform)
        self.hold  = CSRStorage(description="Answer no read.")
        self.comb += [
            self.memory.hold.eq(self.hold.storage),
            self.irq.eq(self.axi.b.valid & self.axi.b.ready),
        ]
