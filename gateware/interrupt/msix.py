# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""MSI-X: once the host has enabled it, each interrupt cause has a vector of its own. Without MSI-X
one MSI message stands for all causes.

MsixTable.scala has the table and the pending bits. It is part of the endpoint, since its messages
are writes that must follow the data they announce. This file puts the table on the Wishbone bus.
With MSI and with MSI-X, LitePCIeMSI's registers enable the causes."""

from litex.gen import *
from litex.soc.integration.soc import SoCRegion
from litex.soc.interconnect import wishbone
from migen import *

from gateware import numbers


class Msix(LiteXModule):
    """Gives the causes of `msi`, a LitePCIeMSI, to the endpoint's MSI-X table. While MSI-X is
    disabled it gives `msi`'s message to the endpoint instead.

    The Wishbone bus `bus` shows the table and the pending bits in whole dwords. A write of fewer
    bytes is ignored."""
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

        # While MSI-X is enabled, LitePCIeMSI's message is taken and dropped. If the message waited
        # instead, it would be sent when MSI-X is disabled again.
        self.comb += If(enabled,
            endpoint.msix.causes.eq(msi.irqs & msi.enable.storage),
            msi.source.ready.eq(1),
        ).Else(
            msi.source.connect(endpoint.interrupt),
        )

# MSI and MSI-X in the SoC -------------------------------------------------------------------------

def add_msi(soc):
    """Adds MSI to the SoC without MSI-X: vector 0 stands for all interrupt causes."""
    soc.comb += soc.pcie_msi.source.connect(soc.pcie_endpoint.interrupt)

def add_msix(soc):
    """Adds MSI-X to the SoC, with a vector for each cause and the table on the bus. MSI stays
    possible."""
    soc.pcie_endpoint.add_msix()
    soc.msix = Msix(soc.pcie_msi, soc.pcie_endpoint)
    soc.bus.add_slave("msix", soc.msix.bus,
        SoCRegion(origin=numbers.MSIX_BASE, size=numbers.MSIX_SIZE, cached=False))
    soc.add_constant("PCIE_MSIX_VECTORS", numbers.MSI_WIDTH)
    soc.add_constant("PCIE_MSIX_TABLE",   numbers.MSIX_BASE)
    soc.add_constant("PCIE_MSIX_PENDING", numbers.MSIX_PENDING)
