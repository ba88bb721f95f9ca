# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""The bridge from the bus to the registers: its address comes earlier, and its answer to a write.

LiteX's bridge shows an address only while there is an access, so the bus's `cyc` stands in front
of the multiplexers of all registers: the deepest path of the card. This bridge always shows the
bus's address. The strobes say when it counts, and nobody looks at what is read without one.

LiteX's bridge answers a write in the cycle after, as it answers a read. This bridge answers a write
in its own cycle, so the three registers of a doorbell are written in three cycles.
"""

from litex.gen import *
from litex.soc.integration.soc import SoCRegion
from litex.soc.integration.soc_core import SoCMini
from litex.soc.interconnect import csr_bus, wishbone
from migen import *


class RegisterBridge(LiteXModule):
    """Accesses of `wishbone`, in words, to the registers on `csr`.

    A write is answered in its own cycle, a read in the cycle after, with its data. The master has
    one access at a time; the registers are read without effect, as LiteX's are.
    """
    def __init__(self, address_width=32, csr_address_width=14):
        self.wishbone = bus = wishbone.Interface(data_width=32, address_width=address_width,
            addressing="word")
        self.csr      = csr = csr_bus.Interface(data_width=32, address_width=csr_address_width)

        # # #

        access, shown = Signal(), Signal() # `shown`: the data of a read is there.
        self.comb += [
            access.eq(bus.cyc & bus.stb),
            csr.adr.eq(bus.adr),
            csr.dat_w.eq(bus.dat_w),
            csr.we.eq(access & bus.we & (bus.sel != 0)),
            csr.re.eq(access & ~bus.we & ~shown & (bus.sel != 0)),
            bus.ack.eq(access & (bus.we | shown)),
            bus.dat_r.eq(csr.dat_r),
        ]
        self.sync += shown.eq(access & ~bus.we & ~shown)

class RegisterBridgeSoC(SoCMini):
    """LiteX's SoC without a CPU, with this bridge instead of LiteX's where it has `mmio`."""
    def add_csr_bridge(self, name="csr", origin=None, register=False):
        if not hasattr(self, "mmio"): # The stock endpoint is measured as it comes.
            SoCMini.add_csr_bridge(self, name, origin, register)
            return
        bridge = RegisterBridge(self.bus.address_width, self.csr.address_width)
        region = SoCRegion(origin=origin, size=2**(self.csr.address_width + 2), cached=False,
            decode=self.cpu.csr_decode)
        self.add_module(name=f"{name}_bridge", module=bridge)
        self.bus.add_slave(name=name, slave=bridge.wishbone, region=region)
        self.csr.add_master(name=name, master=bridge.csr)
        self.add_config("CSR_DATA_WIDTH", self.csr.data_width)
        self.add_config("CSR_ALIGNMENT",  self.csr.alignment)
