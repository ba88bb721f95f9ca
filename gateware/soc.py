# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Connects the stages of the gateware in the order of the path. This file has no logic.

    host -- hard block -- endpoint -+- MMIO: BARs -> CSRs, memories, the user slot
                                    +- DMA -- pattern -- user slot
"""

from litepcie.core import LitePCIeMSI
from litepcie.frontend.wishbone import LitePCIeWishboneMaster
from litex.soc.integration.soc import SoCRegion

from gateware import numbers
from gateware.capture.player.registers import add_player
from gateware.capture.registers import add_capture, needs_capture
from gateware.card.services import add_card
from gateware.dma.channel import add_extras, dma_constants, make_channel
from gateware.dma.pattern import Pattern
from gateware.endpoint.endpoints import make_endpoint
from gateware.interrupt.msix import add_msi, add_msix
from gateware.mmio.bridge import MmioBridge, card_memories
from gateware.mmio.memory import BLANK_IMAGE
from gateware.mmio.registers import RegisterBridgeSoC
from gateware.observe.activity import Activity
from gateware.observe.capability_blocks import capability_words
from gateware.observe.counters import PcieCounters
from gateware.observe.device_time import DeviceTime
from gateware.observe.identity import gateware_digest, identifier
from gateware.observe.led import Leds
from gateware.observe.stamps import add_stamps
from gateware.observe.tlp_events import tlp_events
from gateware.phy.hard_block import HARD_BLOCK, UserClock, make_phy
from gateware.user.loopback import Loopback
from gateware.user.slot import add_slot, check_built, make_occupant, occupant_sources
from gateware.virtio.device import add_virtio
from gateware.vocabulary.windows import COMPAT, default_windows


class LaneboxSoC(RegisterBridgeSoC):
    """The gateware of one card.

    `pads` are the PCIe pins, `leds` the LEDs, `board` is the board's name. `endpoint` is "lanebox"
    or "litepcie"; `mmio` is "bridge", or "litepcie" for LitePCIe's bus master. `user` is the class
    of the user slot's logic. `memories` are the first words of both block memories. `msix` adds
    MSI-X, `capture` a capture block of this many queues, `virtio` a console and a net device (a
    VirtioBuild), `card` the card services with these cages ("a", "b"), `firmware` the management
    CPU. `clock` is the user clock in Hz. `compat` is a key of COMPAT in windows.py."""
    csr_map = numbers.CSR_LOCATIONS
    msix    = capture_net = virtio = None # Parts that not every card has.
    causes  = 0    # Number of interrupt causes that have been given their bit.

    def __init__(self, platform, pads, leds, board, endpoint = "lanebox", mmio = "bridge",
        user = Loopback, memories = (BLANK_IMAGE, BLANK_IMAGE), msix = False, compat = None,
        clock = numbers.SYS_CLK_FREQ, completion_pool = False, capture = 0, card = None,
        virtio = None, firmware = None):
        self.mem_map = {**RegisterBridgeSoC.mem_map, "csr": COMPAT[compat].csr}
        RegisterBridgeSoC.__init__(self, platform, clock,
            bus_timeout = numbers.BUS_TIMEOUT, ident_version = False,
            ident       = identifier(board, occupant_sources(user)))

        # PHY, user clock and endpoint -------------------------------------------------------------
        self.pcie_phy      = make_phy(endpoint, platform, pads, msix, clock)
        self.crg           = UserClock(self.pcie_phy)
        self.pcie_endpoint = make_endpoint(endpoint, self.pcie_phy, completion_pool)

        # MMIO, with the user slot's AXI4 bus if it has one ----------------------------------------
        bridged       = mmio == "bridge" and endpoint == "lanebox"
        self.user     = make_occupant(user, platform, bridged, endpoint == "lanebox")
        capture       = needs_capture(capture, self.user, endpoint)
        self.identity = (board, endpoint, gateware_digest(occupant_sources(user)))
        if bridged:
            self.add_bridge(memories, msix, compat, virtio, firmware)
        else:
            self.add_bus_master(memories)

        # DMA --------------------------------------------------------------------------------------
        self.pcie_dma0 = make_channel(endpoint, self.pcie_endpoint)
        for name, value in {**HARD_BLOCK[endpoint], **dma_constants(self.pcie_dma0)}.items():
            self.add_constant(name, value)

        # The user slot's streams, behind the pattern ----------------------------------------------
        self.pattern = Pattern()
        self.comb += [
            self.pcie_dma0.source.connect(self.pattern.h2c_sink),
            self.pattern.h2c_source.connect(add_player(self) if capture else self.user.sink),
            self.user.source.connect(self.pattern.c2h_sink),
            self.pattern.c2h_source.connect(self.pcie_dma0.sink),
            self.pattern.c2h_run.eq(self.pcie_dma0.writer.enable),
        ]

        # Interrupts -------------------------------------------------------------------------------
        self.pcie_msi = LitePCIeMSI(width=numbers.MSI_WIDTH)
        (add_msix if msix else add_msi)(self)
        self.add_interrupts({"PCIE_DMA0_READER": self.pcie_dma0.h2c_irq,
            "PCIE_DMA0_WRITER": self.pcie_dma0.c2h_irq, "USER": self.user.irq})

        # Device time, counters, stamps ------------------------------------------------------------
        self.device_time   = DeviceTime()
        self.pcie_counters = PcieCounters(tlp_events(self.pcie_phy), self.device_time.time)
        add_stamps(self)
        add_extras(self)
        add_slot(self)

        # Busy, capture, virtio, card services and LEDs --------------------------------------------
        self.activity = Activity(self.pcie_dma0.busy, self.pcie_phy.msi_busy,
            self.pcie_endpoint.busy, self.host_busy, self.user.busy)
        self.busy     = self.activity.busy
        add_capture(self, capture, with_net=virtio is not None)
        add_virtio(self, virtio)
        add_card(self, card, firmware, self.pcie_phy._link_status.fields.status)
        self.leds = Leds(leds, self.device_time.time, self.pcie_phy._link_status.fields.status)

    def add_bridge(self, memories, msix, compat, virtio, firmware):
        """Connects the host's BARs to the MMIO bridge, which also reaches the Wishbone bus."""
        lanes = card_memories(memories)
        for name, memory in lanes.items():
            self.add_module(name=name, module=memory)
        self.mmio = MmioBridge(self.pcie_endpoint, lanes, self.user.axi,
            windows = default_windows(self.user.axi, msix, compat, virtio, firmware is not None))
        self.host_busy = self.mmio.busy # An access of the host is in the bridge.
        self.bus.add_master(name="mmio", master=self.mmio.wishbone)
        for name, (base, size) in COMPAT[compat].regions().items(): # for software's maps
            self.bus.add_region(name, SoCRegion(origin=base, size=size))
        self.add_constant("PCIE_BAR2_SIZE", numbers.BAR2_SIZE)

    def add_bus_master(self, memories):
        """Connects BAR0 to LitePCIe's bus master, so that all of it is on the Wishbone bus."""
        self.pcie_mmap = LitePCIeWishboneMaster(self.pcie_endpoint, base_address=numbers.CSR_BASE)
        self.host_busy = self.pcie_mmap.wishbone.cyc
        self.bus.add_master(name="pcie_mmap", master=self.pcie_mmap.wishbone)
        for n, (base, words) in enumerate(zip(numbers.MEMORY_BASES, memories)):
            self.add_ram(f"memory{n}", origin=base, size=numbers.MEMORY_SIZE, contents=words)
        self.add_rom("capability", numbers.CAPABILITY_BASE, numbers.CAPABILITY_SIZE)

    def do_finalize(self): # noqa: D102 -- a hook of LiteX
        check_built(self.user, self.csr.regions)
        words = capability_words(self, *self.identity) # By now all registers have their addresses.
        if self.mmio is not None:
            self.capability.set_image(words)
        else:
            self.init_rom("capability", words, auto_size=False)

    def add_interrupts(self, causes):
        """Gives the signal of each cause its bit in LitePCIeMSI, and a constant with its number."""
        for number, (name, irq) in enumerate(causes.items(), self.causes):
            self.comb += self.pcie_msi.irqs[number].eq(irq)
            self.add_constant(f"{name}_INTERRUPT", number)
        self.causes += len(causes)
