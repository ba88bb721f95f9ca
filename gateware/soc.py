# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""The Lanebox SoC: the stages in path order, connected. There is no logic in this file.

    host -- hard block -- endpoint -+- MMIO: BAR0 -> CSRs and two memories
                                    +- DMA -- pattern -- user slot
"""

from litepcie.core import LitePCIeMSI
from litepcie.frontend.dma import LitePCIeDMA
from litepcie.frontend.wishbone import LitePCIeWishboneMaster
from litex.soc.integration.soc_core import SoCMini

from lanebox import layouts
from lanebox.activity import Activity
from lanebox.device_time import DeviceTime
from lanebox.dma.pattern import Pattern
from lanebox.identity import identifier
from lanebox.led import Leds
from lanebox.mmio.memory import BLANK_IMAGE
from lanebox.pcie.counters import PcieCounters
from lanebox.pcie.endpoint import make_endpoint
from lanebox.pcie.tlp_events import header_events
from lanebox.phy.hard_block import UserClock, make_hard_block
from lanebox.user.loopback import Loopback
from lanebox.user.slot import make_occupant, occupant_sources


class LaneboxSoC(SoCMini):
    """The gateware of one card.

    `pads` are the PCIe pins and `leds` the LEDs of the board, `user` the class in the user slot,
    `memories` the contents of the two BAR memories as lists of 32-bit words.
    """
    mem_map = {**SoCMini.mem_map, "csr": layouts.CSR_BASE}
    csr_map = layouts.CSR_LOCATIONS

    def __init__(self, platform, pads, leds, target,
        endpoint = "litepcie",
        user     = Loopback,
        memories = (BLANK_IMAGE, BLANK_IMAGE),
    ):
        SoCMini.__init__(self, platform, layouts.SYS_CLK_FREQ,
            bus_timeout   = layouts.BUS_TIMEOUT,
            ident         = identifier(target, occupant_sources(user)),
            ident_version = False,
        )

        # PCIe -------------------------------------------------------------------------------------
        self.pcie_phy      = make_hard_block(platform, pads)
        self.crg           = UserClock(self.pcie_phy)
        self.pcie_endpoint = make_endpoint(endpoint, self.pcie_phy)

        # MMIO -------------------------------------------------------------------------------------
        self.pcie_mmap = LitePCIeWishboneMaster(self.pcie_endpoint, base_address=layouts.CSR_BASE)
        self.bus.add_master(name="pcie_mmap", master=self.pcie_mmap.wishbone)
        for n, (base, words) in enumerate(zip(layouts.MEMORY_BASES, memories)):
            self.add_ram(f"memory{n}", origin=base, size=layouts.MEMORY_SIZE, contents=words)

        # DMA --------------------------------------------------------------------------------------
        self.pcie_dma0 = LitePCIeDMA(self.pcie_phy, self.pcie_endpoint,
            with_loopback   = True,
            with_buffering  = True,
            buffering_depth = layouts.DMA_BUFFER_SIZE,
            address_width   = layouts.ADDRESS_WIDTH,
        )
        self.add_constant("DMA_CHANNELS",   layouts.DMA_CHANNELS)
        self.add_constant("DMA_ADDR_WIDTH", layouts.ADDRESS_WIDTH)

        # User slot, behind the pattern ------------------------------------------------------------
        self.pattern = Pattern()
        self.user    = make_occupant(user, platform)
        self.comb += [
            self.pcie_dma0.source.connect(self.pattern.h2c_sink),
            self.pattern.h2c_source.connect(self.user.sink),
            self.user.source.connect(self.pattern.c2h_sink),
            self.pattern.c2h_source.connect(self.pcie_dma0.sink),
            self.pattern.c2h_run.eq(self.pcie_dma0.writer.enable),
        ]

        # Interrupts -------------------------------------------------------------------------------
        self.pcie_msi = LitePCIeMSI(width=layouts.MSI_WIDTH)
        self.comb += self.pcie_msi.source.connect(self.pcie_phy.msi)
        self.add_interrupts({
            "PCIE_DMA0_READER": self.pcie_dma0.reader.irq,
            "PCIE_DMA0_WRITER": self.pcie_dma0.writer.irq,
            "USER":             self.user.irq,
        })

        # Device time and counters -----------------------------------------------------------------
        self.device_time   = DeviceTime()
        self.pcie_counters = PcieCounters(header_events(self.pcie_phy), self.device_time.time)

        # Status -----------------------------------------------------------------------------------
        self.activity = Activity(
            self.pcie_dma0.writer.enable,
            self.pcie_dma0.reader.enable,
            self.pcie_msi.source.valid,
            self.user.busy,
        )
        self.busy = self.activity.busy
        self.leds = Leds(leds, self.device_time.time, self.pcie_phy._link_status.fields.status)

    def add_interrupts(self, causes):
        """Give each cause its bit in the MSI vector, and software the constant that names it."""
        for number, (name, irq) in enumerate(causes.items()):
            self.comb += self.pcie_msi.irqs[number].eq(irq)
            self.add_constant(f"{name}_INTERRUPT", number)
