# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""The bridge from the Wishbone bus to LiteX's registers, which is faster than LiteX's in two ways.

LiteX's bridge shows an address to the registers only during an access. So the bus's `cyc` is in
front of the multiplexers of all registers, and that was the deepest path of the card. This bridge
always shows the bus's address. The strobes `we` and `re` say when the address is valid; without a
strobe the data is not used.

LiteX's bridge answers a write in the next cycle, like a read. This bridge answers a write in the
same cycle, so the three registers of a doorbell are written in three cycles."""

from litex.gen import *
from litex.soc.integration.soc import SoCRegion
from litex.soc.integration.soc_core import SoCMini
from litex.soc.interconnect import csr_bus, wishbone
from migen import *


class RegisterBridge(LiteXModule):
    """Passes accesses of `wishbone` (word addresses) to the registers on `csr`.

    A write is answered in the same cycle, a read with its data in the next. The master has one
    access at a time. Registers act on the strobes only, so an address without a strobe has no
    effect."""
    def __init__(self, address_width=32, csr_address_width=14):
        self.wishbone = bus = wishbone.Interface(data_width=32, address_width=address_width,
            addressing="word")
        self.csr      = csr = csr_bus.Interface(data_width=32, address_width=csr_address_width)

        # # #

        access, shown = Signal(), Signal() # `shown`: the data of a register read is on the bus.
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
    """LiteX's SoC without a CPU. With an MMIO bridge it has RegisterBridge, not LiteX's bridge."""
    mmio = None # The MmioBridge, or None if the SoC has no MMIO bridge.

    def add_csr_bridge(self, name="csr", origin=None, register=False):
        """Adds the bridge to the registers. LiteX calls this method when it finalizes the SoC."""
        # A build with LitePCIe's endpoint is for comparison, so it keeps LiteX's own bridge.
        if self.mmio is None:
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
