# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""User logic that shows the host a memory of its own on its AXI4 bus, and loops h2c back to c2h.

`MemoryOnAxi` is an example of what user logic can do with its AXI4 bus. `SlowMemoryOnAxi` answers
as late as a DRAM behind its controller. It exists for `make bench` only, since a delay is of no use
on a card."""

from litex.soc.interconnect.csr import CSRStorage

from gateware.mmio.axi_memory import LEAST_CYCLES, AxiMemory
from gateware.user.loopback import Loopback

SIZE = 64*1024


class MemoryOnAxi(Loopback):
    """User logic that shows 64 KiB of block memory on its AXI4 bus. The memory answers a read after
    2 cycles (LEAST_CYCLES), if no earlier read is still being answered."""
    latency = LEAST_CYCLES

    def __init__(self, platform):
        Loopback.__init__(self, platform)
        self.memory = AxiMemory(SIZE, self.latency)
        self.axi    = self.memory.bus

class SlowMemoryOnAxi(MemoryOnAxi):
    """User logic that shows 64 KiB of memory with a latency of 50 cycles (200 ns at 250 MHz).
    Software can set the register `hold`, so that the memory answers no read.

    The logic raises an interrupt for each write that the memory has answered."""
    latency = 50

    def __init__(self, platform):
        MemoryOnAxi.__init__(self, platform)
        self.hold  = CSRStorage(description="Answer no read.")
        self.comb += [
            self.memory.hold.eq(self.hold.storage),
            self.irq.eq(self.axi.b.valid & self.axi.b.ready),
        ]
