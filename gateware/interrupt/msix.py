# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""MSI-X: a vector for each cause instead of the one MSI message, as soon as the host enables it.

MsixTable.scala has the table and the pending bits. It is part of the endpoint, since its messages
are writes that must follow the data they announce. This file puts the table on the bus. In either
case LitePCIeMSI's registers enable the causes.
"""

from litex.gen import *
from litex.soc.integration.soc import SoCRegion
from litex.soc.interconnect import wishbone
from migen import *

from lanebox import layouts


class Msix(LiteXModule):
    """MSI-X vectors for the causes of `msi`, a LitePCIeMSI, whose message also goes to `endpoint`.

    `bus` shows table and pending bits in whole dwords: a write of fewer bytes is ignored.
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

        # With MSI-X enabled the MSI message is taken and dropped. Otherwise it would be sent when
        # MSI-X is disabled again.
        self.comb += If(enabled,
            endpoint.msix.causes.eq(msi.irqs & msi.enable.storage),
            msi.source.ready.eq(1),
        ).Else(
            msi.source.connect(endpoint.interrupt),
        )

# SoC ----------------------------------------------------------------------------------------------

def add_msi(soc):
    """MSI: one message for all causes."""
    soc.comb += soc.pcie_msi.source.connect(soc.pcie_endpoint.interrupt)

def add_msix(soc):
    """MSI-X: a vector for each cause, with the table on the bus. MSI stays possible."""
    soc.pcie_endpoint.add_msix()
    soc.msix = Msix(soc.pcie_msi, soc.pcie_endpoint)
    soc.bus.add_slave("msix", soc.msix.bus,
        SoCRegion(origin=layouts.MSIX_BASE, size=layouts.MSIX_SIZE, cached=False))
    soc.add_constant("PCIE_MSIX_VECTORS", layouts.MSI_WIDTH)
    soc.add_constant("PCIE_MSIX_TABLE",   layouts.MSIX_BASE)
    soc.add_constant("PCIE_MSIX_PENDING", layouts.MSIX_PENDING)
