# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""The Lanebox SoC: the stages in path order, connected. There is no logic in this file.

    host -- hard block -- endpoint -+- MMIO: BARs -> CSRs, memories, the user slot
                                    +- DMA -- pattern -- user slot
"""

from litepcie.core import LitePCIeMSI
from litepcie.frontend.wishbone import LitePCIeWishboneMaster
from litex.soc.integration.soc import SoCRegion

from lanebox import layouts
from lanebox.activity import Activity
from lanebox.capability import capability_words
from lanebox.device_time import DeviceTime
from lanebox.dma.channel import add_extras, dma_constants, make_channel
from lanebox.dma.pattern import Pattern
from lanebox.identity import gateware_digest, identifier
from lanebox.led import Leds
from lanebox.mmio.bridge import MmioBridge, card_memories
from lanebox.mmio.memory import BLANK_IMAGE
from lanebox.mmio.registers import RegisterBridgeSoC
from lanebox.mmio.windows import COMPAT, default_windows
from lanebox.pcie.counters import PcieCounters
from lanebox.pcie.endpoint import make_endpoint
from lanebox.pcie.msix import add_msi, add_msix
from lanebox.pcie.tlp_events import tlp_events
from lanebox.phy.hard_block import HARD_BLOCK, UserClock, make_phy
from lanebox.stamps import add_stamps
from lanebox.user.loopback import Loopback
from lanebox.user.slot import check_built, make_occupant, occupant_sources, watch_slot


class LaneboxSoC(RegisterBridgeSoC):
    """The gateware of one card.

    `pads`: the PCIe pins. `leds`: the LEDs of the board. `user`: the class in the user slot.
    `memories`: the 32-bit words of the two BAR memories. `mmio`: "bridge", or "litepcie" for
    LitePCIe's bus master, which the stock endpoint always has. `msix`: MSI-X besides MSI. `clock`:
    the user clock in Hz. `compat`: see windows.py. `completion_pool`: see lanebox.py.
    """
    csr_map = layouts.CSR_LOCATIONS

    def __init__(self, platform, pads, leds, target,
        endpoint = "lanebox",
        mmio     = "bridge",
        user     = Loopback,
        memories = (BLANK_IMAGE, BLANK_IMAGE),
        msix     = False, clock = layouts.SYS_CLK_FREQ,
        compat   = None, completion_pool = False,
    ):
        self.mem_map = {**RegisterBridgeSoC.mem_map, "csr": COMPAT[compat].csr}
        RegisterBridgeSoC.__init__(self, platform, clock,
            bus_timeout   = layouts.BUS_TIMEOUT,
            ident         = identifier(target, occupant_sources(user)),
            ident_version = False,
        )

        # PCIe -------------------------------------------------------------------------------------
        self.pcie_phy      = make_phy(endpoint, platform, pads, msix, clock)
        self.crg           = UserClock(self.pcie_phy)
        self.pcie_endpoint = make_endpoint(endpoint, self.pcie_phy, completion_pool)
        for name, value in HARD_BLOCK[endpoint].items():
            self.add_constant(name, value)

        # MMIO; the user slot may have a part in it ------------------------------------------------
        bridged       = mmio == "bridge" and endpoint == "lanebox"
        self.user     = make_occupant(user, platform, with_axi=bridged)
        self.identity = (target, endpoint, gateware_digest(occupant_sources(user)))
        if bridged:
            self.add_bridge(memories, msix, compat)
        else:
            self.add_bus_master(memories)

        # DMA --------------------------------------------------------------------------------------
        self.pcie_dma0 = make_channel(endpoint, self.pcie_endpoint)
        for name, value in dma_constants(self.pcie_dma0).items():
            self.add_constant(name, value)

        # The user slot's streams, behind the pattern ----------------------------------------------
        self.pattern = Pattern()
        self.comb += [
            self.pcie_dma0.source.connect(self.pattern.h2c_sink),
            self.pattern.h2c_source.connect(self.user.sink),
            self.user.source.connect(self.pattern.c2h_sink),
            self.pattern.c2h_source.connect(self.pcie_dma0.sink),
            self.pattern.c2h_run.eq(self.pcie_dma0.writer.enable),
        ]

        # Interrupts -------------------------------------------------------------------------------
        self.pcie_msi = LitePCIeMSI(width=layouts.MSI_WIDTH)
        (add_msix if msix else add_msi)(self)
        self.add_interrupts({
            "PCIE_DMA0_READER": self.pcie_dma0.h2c_irq,
            "PCIE_DMA0_WRITER": self.pcie_dma0.c2h_irq,
            "USER":             self.user.irq,
        })

        # Device time, counters, stamps ------------------------------------------------------------
        self.device_time   = DeviceTime()
        self.pcie_counters = PcieCounters(tlp_events(self.pcie_phy), self.device_time.time)
        add_stamps(self)
        add_extras(self)
        watch_slot(self)

        # Status -----------------------------------------------------------------------------------
        self.activity = Activity(self.pcie_dma0.busy, self.pcie_phy.msi_busy,
            self.pcie_endpoint.busy, self.host_busy, self.user.busy)
        self.busy = self.activity.busy
        self.leds = Leds(leds, self.device_time.time, self.pcie_phy._link_status.fields.status)

    def add_bridge(self, memories, msix, compat):
        """The host's BARs go to the Lanebox bridge. The bus is one of its targets."""
        lanes = card_memories(memories)
        for name, memory in lanes.items():
            self.add_module(name=name, module=memory)
        self.mmio = MmioBridge(self.pcie_endpoint, lanes, self.user.axi,
            windows = default_windows(self.user.axi, msix, compat))
        self.host_busy = self.mmio.busy # Posted writes may wait here for thousands of cycles.
        self.bus.add_master(name="mmio", master=self.mmio.wishbone)
        # Software finds the memories at these addresses of BAR0. They are not on the bus.
        for name, (base, size) in COMPAT[compat].regions().items():
            self.bus.add_region(name, SoCRegion(origin=base, size=size))
        self.add_constant("PCIE_BAR2_SIZE", layouts.BAR2_SIZE)

    def add_bus_master(self, memories):
        """The host's BAR0 goes to LitePCIe's bus master. Everything behind it is on the bus."""
        self.pcie_mmap = LitePCIeWishboneMaster(self.pcie_endpoint, base_address=layouts.CSR_BASE)
        self.host_busy = self.pcie_mmap.wishbone.cyc
        self.bus.add_master(name="pcie_mmap", master=self.pcie_mmap.wishbone)
        for n, (base, words) in enumerate(zip(layouts.MEMORY_BASES, memories)):
            self.add_ram(f"memory{n}", origin=base, size=layouts.MEMORY_SIZE, contents=words)
        self.add_rom("capability", layouts.CAPABILITY_BASE, layouts.CAPABILITY_SIZE)

    def do_finalize(self):
        check_built(self.user, self.csr.regions)
        words = capability_words(self, *self.identity) # Registers have addresses only now.
        if hasattr(self, "mmio"):
            self.capability.set_image(words)
        else:
            self.init_rom("capability", words, auto_size=False)

    def add_interrupts(self, causes):
        """Gives each cause its bit of the MSI vector, and software a constant that names it."""
        for number, (name, irq) in enumerate(causes.items()):
            self.comb += self.pcie_msi.irqs[number].eq(irq)
            self.add_constant(f"{name}_INTERRUPT", number)
