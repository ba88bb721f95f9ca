# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""MSI-X: a vector for each cause, in place of the one message as soon as the host enables it.

Table and pending bits are MsixTable.scala's; the endpoint has it, since its messages are writes
that go behind the data they announce. Here they get their place on the bus. Causes are enabled in
the registers of LitePCIeMSI either way.
"""

from litex.gen import *
from litex.soc.integration.soc import SoCRegion
from litex.soc.interconnect import wishbone
from migen import *

from lanebox import layouts


class Msix(LiteXModule):
    """Vectors for the causes of `msi`, a LitePCIeMSI, whose message goes to `endpoint` as well.

    `bus` shows table and pending bits, in whole dwords: a write of less is ignored.
    """
    def __init__(self, msi, endpoint):
        self.bus = wishbone.Interface(data_width=32, address_width=32, addressing="word")

        # # #

        registers, enabled = endpoint.msix.registers, endpoint.phy.msix.enable
        access = Signal()
        self.comb += [
            access.eq(self.bus.cyc & self.bus.stb & ~self.bus.ack),
            registers.address.eq(self.bus.adr),
            registers.write.eq(access & self.bus.we & (self.bus.sel == 0xf)),
            registers.write_data.eq(self.bus.dat_w),
            self.bus.dat_r.eq(registers.read_data),
        ]
        self.sync += self.bus.ack.eq(access)

        # What would be the one message is not: it must not come when MSI-X is disabled again.
        self.comb += If(enabled,
            endpoint.msix.causes.eq(msi.irqs & msi.enable.storage),
            msi.source.ready.eq(1),
        ).Else(
            msi.source.connect(endpoint.interrupt),
        )

# SoC ----------------------------------------------------------------------------------------------

def add_msi(soc):
    """One message for all causes, and no other."""
    soc.comb += soc.pcie_msi.source.connect(soc.pcie_endpoint.interrupt)

def add_msix(soc):
    """A vector for each cause beside that message, with its table on the bus."""
    soc.pcie_endpoint.add_msix()
    soc.msix = Msix(soc.pcie_msi, soc.pcie_endpoint)
    soc.bus.add_slave("msix", soc.msix.bus,
        SoCRegion(origin=layouts.MSIX_BASE, size=layouts.MSIX_SIZE, cached=False))
    soc.add_constant("PCIE_MSIX_VECTORS", layouts.MSI_WIDTH)
    soc.add_constant("PCIE_MSIX_TABLE",   layouts.MSIX_BASE)
    soc.add_constant("PCIE_MSIX_PENDING", layouts.MSIX_PENDING)
