# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""The PCIE4 hard block at its own user pins, as the Lanebox endpoint wants it.

Promises the four streams with PG213's descriptors still in front (`cq`, `cc`, `rq`, `rc`, see
layouts.py), the side-bands by name, and the attributes that every LitePCIe front end needs of its
PHY: `id`, `data_width`, `max_payload_size`, `max_request_size`, `bar0_mask`, `msi`. Below this
module are the leaf modules of hard_block.py: the vendor's core on silicon, the model in simulation.
LitePCIe's own PHY is not in the path.

Everything lives in `pcie`, the core's user clock: reset by the core's user reset, and by a
function level reset (see flr.py).
"""

from litepcie.common import get_bar_mask, msi_layout
from litex.gen import *
from litex.soc.interconnect import stream
from litex.soc.interconnect.csr import *
from migen import *

from lanebox import layouts
from lanebox.phy import pcie4_pins as pins
from lanebox.phy.flr import FunctionLevelReset
from lanebox.phy.msi import MsiSender


class Pcie4Phy(LiteXModule):
    endianness    = "little"
    qword_aligned = False

    def __init__(self, platform, pads, msix=False, clock=layouts.SYS_CLK_FREQ):
        # Streams, all in `pcie` -------------------------------------------------------------------
        self.cq = stream.Endpoint(layouts.cq_layout()) # o
        self.cc = stream.Endpoint(layouts.cc_layout()) # i
        self.rq = stream.Endpoint(layouts.rq_layout()) # i
        self.rc = stream.Endpoint(layouts.rc_layout()) # o

        # Side-bands -------------------------------------------------------------------------------
        # i, further non-posted requests that may come.
        self.np_request = Signal(2)
        self.sequence   = Record(layouts.sequence_layout())      # o, requests that have left.
        self.settings   = Record(layouts.link_settings_layout()) # o, as the host programmed it.
        self.cfg_mgmt   = Record(layouts.cfg_mgmt_layout())      # Reads of configuration space.
        # o, enable and mask of function 0, if built.
        self.msix       = Record(layouts.msix_control_layout())
        self.stop       = Signal()                               # o, begin no TLP: a reset is near.
        # i, no TLP half sent, no read outstanding.
        self.idle       = Signal()

        # LitePCIe's idea of a PHY -----------------------------------------------------------------
        self.msi              = stream.Endpoint(msi_layout()) # i
        # o, a message is being sent, or will be at once.
        self.msi_busy         = Signal()
        self.platform         = platform
        self.clock            = clock # Of the user side, in Hz.
        self.data_width       = layouts.DATA_WIDTH
        self.bar0_size        = layouts.BAR0_SIZE
        self.bar0_mask        = get_bar_mask(layouts.BAR0_SIZE)
        self.id               = Signal(16) # Stays 0: the core puts its own ID into every TLP.
        self.max_request_size = Signal(16) # o
        self.max_payload_size = Signal(16) # o

        self._link_status = CSRStatus(fields=[
            CSRField("status",     size=1, description="Link up."),
            CSRField("phy_down",   size=1, description="Physical layer down."),
            CSRField("phy_status", size=2, description="Physical layer: 3 is data link up."),
            CSRField("rate",       size=2, description="0: 2.5, 1: 5, 2: 8 GT/s."),
            CSRField("width",      size=3, description="The link has 2 to this power lanes."),
            CSRField("ltssm",      size=6, description="State of link training; 0x10 is L0."),
        ])
        self._msi_enable        = CSRStatus(description="MSI or MSI-X is enabled.")
        self._bus_master_enable = CSRStatus(description="The card may access host memory.")
        self._max_request_size  = CSRStatus(16, description="Bytes that one read may ask for.")
        self._max_payload_size  = CSRStatus(16, description="Payload bytes of one write.")

        # # #

        # Clock and resets -------------------------------------------------------------------------
        self.cd_block = ClockDomain() # The core's user clock and user reset.
        self.cd_pcie  = ClockDomain() # The same clock, also reset by a function level reset.

        self.flr = ClockDomainsRenamer("block")(FunctionLevelReset(clock))
        self.comb += [
            self.cd_pcie.clk.eq(self.cd_block.clk),
            self.cd_pcie.rst.eq(self.cd_block.rst | self.flr.reset),
            self.flr.idle.eq(self.idle),
            self.stop.eq(self.flr.stop),
        ]

        # Settings ---------------------------------------------------------------------------------
        status = self._link_status.fields
        core   = pins.CoreStatus()
        self.comb += [
            self.settings.max_payload.eq(core.max_payload),
            self.settings.max_read_request.eq(core.max_read_req),
            self.settings.rcb_128.eq(core.rcb_status[0]),
            self.settings.bus_master.eq(core.function_status[pins.BUS_MASTER]),

            status.status.eq(core.link_up),
            status.phy_down.eq(core.phy_link_down),
            status.phy_status.eq(core.phy_link_status),
            status.rate.eq(core.current_speed),
            status.width.eq(core.negotiated_width),
            status.ltssm.eq(core.ltssm_state),
            self._msi_enable.status.eq(core.msi_enable[0] | core.msix_enable[0]),
            self._bus_master_enable.status.eq(self.settings.bus_master),
            self._max_request_size.status.eq(self.max_request_size),
            self._max_payload_size.status.eq(self.max_payload_size),
            decode_size(self.settings.max_read_request, self.max_request_size),
            decode_size(self.settings.max_payload, self.max_payload_size),
        ]

        # Interrupts -------------------------------------------------------------------------------
        self.msi_sender = ClockDomainsRenamer("pcie")(MsiSender())
        self.comb += [
            self.msi.connect(self.msi_sender.sink),
            self.msi_sender.enable.eq(core.msi_enable[0]),
            self.msi_sender.sent.eq(core.msi_sent),
            self.msi_sender.fail.eq(core.msi_fail),
            self.msi_busy.eq(self.msi_sender.busy),
            self.msix.enable.eq(core.msix_enable[0]),
            self.msix.mask.eq(core.msix_mask[0]),
        ]

        # Core -------------------------------------------------------------------------------------
        refclk, refclk_gt = Signal(), Signal()
        self.specials += Instance("IBUFDS_GTE4",
            p_REFCLK_HROW_CK_SEL = 0,
            i_CEB                = 0,
            i_I                  = pads.clk_p,
            i_IB                 = pads.clk_n,
            o_O                  = refclk_gt,
            o_ODIV2              = refclk,
        )
        platform.add_period_constraint(pads.clk_p, 1e9/layouts.REFCLK_FREQ)
        self.specials += Instance("pcie_usp", name="pcie_usp_i", # LitePCIe's name for it.
            i_sys_clk     = refclk,
            i_sys_clk_gt  = refclk_gt,
            i_sys_reset   = pads.rst_n, # Low: PG213 names it after its inactive level.
            o_user_clk    = self.cd_block.clk,
            o_user_reset  = self.cd_block.rst,
            o_pci_exp_txp = pads.tx_p,
            o_pci_exp_txn = pads.tx_n,
            i_pci_exp_rxp = pads.rx_p,
            i_pci_exp_rxn = pads.rx_n,
            **pins.stream_ports(self.cq, self.cc, self.rq, self.rc),
            **pins.credit_ports(self.np_request, self.sequence),
            **pins.status_ports(core),
            **pins.management_ports(self.cfg_mgmt),
            **pins.interrupt_ports(core, self.msi_sender),
            **(pins.msix_ports(core) if msix else {}),
            **pins.control_ports(core, self.flr),
        )

# Sizes --------------------------------------------------------------------------------------------

def decode_size(code, size):
    """A statement that sets `size` to 128 B << `code`, but no more than the endpoint's stores hold.
    """
    return Case(code, {
        **{n: size.eq(min(128 << n, layouts.LARGEST_PAYLOAD)) for n in range(3)},
        "default": size.eq(layouts.LARGEST_PAYLOAD),
    })
