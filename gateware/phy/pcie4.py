# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""The PHY of the Lanebox endpoint: the PCIE4 hard block at its own user pins.

The PHY gives the hard block's four streams with PG213's descriptors still in front (`cq`, `cc`,
`rq`, `rc`, see vocabulary/layouts.py), the side-bands by name, and the attributes that every
LitePCIe front end needs of its PHY: `id`, `data_width`, `max_payload_size`, `max_request_size`,
`bar0_mask`, `msi`. Below the PHY are the leaf modules of hard_block.py: the vendor's core on
silicon, the model in simulation. LitePCIe's own PHY is not in the path.

The streams and registers are in the clock domain `pcie`, whose clock is the core's user clock. The
domain is reset by the core's user reset, and by a function level reset (see flr.py)."""

from litepcie.common import get_bar_mask, msi_layout
from litex.gen import *
from litex.soc.interconnect import stream
from litex.soc.interconnect.csr import *
from migen import *

from gateware import numbers
from gateware.phy import pcie4_pins as pins
from gateware.phy.flr import FunctionLevelReset
from gateware.phy.msi import MsiSender
from gateware.phy.pins import instance_ports
from gateware.vocabulary import layouts


class Pcie4Phy(LiteXModule):
    """Instantiates the hard block. Gives its streams and side-bands, and the attributes of a
    LitePCIe PHY.

    `pads` are the PCIe pins of `platform`. `msix` says that the core has MSI-X beside MSI. `clock`
    is the user clock in Hz."""
    endianness    = "little"
    qword_aligned = False

    def __init__(self, platform, pads, msix=False, clock=numbers.SYS_CLK_FREQ):
        # TLP streams, all in the clock domain `pcie` ----------------------------------------------
        self.cq = stream.Endpoint(layouts.cq_layout()) # o
        self.cc = stream.Endpoint(layouts.cc_layout()) # i
        self.rq = stream.Endpoint(layouts.rq_layout()) # i
        self.rc = stream.Endpoint(layouts.rc_layout()) # o

        # Side-bands -------------------------------------------------------------------------------
        # i, bit 0 grants the hard block a credit for one more non-posted request of the host.
        self.np_request = Signal(2)
        # o, sequence numbers of the card's requests that have left the hard block
        self.sequence   = Record(layouts.sequence_layout())
        self.settings   = Record(layouts.link_settings_layout()) # o, limits that the host has set
        self.cfg_mgmt   = Record(layouts.cfg_mgmt_layout())      # reads of the configuration space
        # o, enable and mask bit of MSI-X for function 0. They stay 0 if MSI-X is not built.
        self.msix       = Record(layouts.msix_control_layout())
        self.stop       = Signal() # o, the card may begin no TLP: a function level reset comes.
        # i, no TLP of the card is half sent, and no read of host memory is outstanding.
        self.idle       = Signal()

        # Attributes that LitePCIe's front ends expect of a PHY ------------------------------------
        self.msi              = stream.Endpoint(msi_layout()) # i
        # o, an MSI message is being sent, or begins to be sent in this cycle.
        self.msi_busy         = Signal()
        self.platform         = platform
        self.clock            = clock # Frequency of the user clock in Hz.
        self.data_width       = numbers.DATA_WIDTH
        self.bar0_size        = numbers.BAR0_SIZE
        self.bar0_mask        = get_bar_mask(numbers.BAR0_SIZE)
        # The requester ID in requests. It stays 0, since the hard block fills in the card's own.
        self.id               = Signal(numbers.ID_WIDTH)
        self.max_request_size = Signal(16) # o, the most bytes that one read may ask for
        self.max_payload_size = Signal(16) # o, the most payload bytes of one write TLP

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
        self.cd_block = ClockDomain() # The hard block's user clock, with its user reset.
        self.cd_pcie  = ClockDomain() # The user clock, also reset by a function level reset.

        self.flr = ClockDomainsRenamer("block")(FunctionLevelReset(clock))
        self.comb += [
            self.cd_pcie.clk.eq(self.cd_block.clk),
            self.cd_pcie.rst.eq(self.cd_block.rst | self.flr.reset),
            self.flr.idle.eq(self.idle),
            self.stop.eq(self.flr.stop),
        ]

        # Settings and interrupts ------------------------------------------------------------------
        core = pins.CoreStatus()
        self.connect_settings(core)
        self.msi_sender = ClockDomainsRenamer("pcie")(MsiSender())
        self.connect_interrupts(core)

        # The hard block ---------------------------------------------------------------------------
        refclk, refclk_gt = Signal(), Signal()
        self.specials += Instance("IBUFDS_GTE4",
            p_REFCLK_HROW_CK_SEL = 0,
            i_CEB                = 0,
            i_I                  = pads.clk_p,
            i_IB                 = pads.clk_n,
            o_O                  = refclk_gt,
            o_ODIV2              = refclk,
        )
        platform.add_period_constraint(pads.clk_p, 1e9/numbers.REFCLK_FREQ)
        # The names pcie_usp and pcie_usp_i are those that LitePCIe gives to the vendor's core.
        self.specials += Instance("pcie_usp", name="pcie_usp_i",
            **instance_ports(
                sys_clk     = refclk,
                sys_clk_gt  = refclk_gt,
                # `rst_n` is PCIe's active-low reset. The hard block's pin sys_reset is active low,
                # too, in spite of its name in PG213.
                sys_reset   = pads.rst_n,
                user_clk    = self.cd_block.clk,
                user_reset  = self.cd_block.rst,
                pci_exp_txp = pads.tx_p,
                pci_exp_txn = pads.tx_n,
                pci_exp_rxp = pads.rx_p,
                pci_exp_rxn = pads.rx_n,
                **pins.stream_pins(self.cq, self.cc, self.rq, self.rc),
                **pins.credit_pins(self.np_request, self.sequence),
                **pins.status_pins(core),
                **pins.management_pins(self.cfg_mgmt),
                **pins.interrupt_pins(core, self.msi_sender),
                **(pins.msix_pins(core) if msix else {}),
                **pins.control_pins(core, self.flr),
            )
        )

    def connect_settings(self, core):
        """Drives `settings`, the two sizes and the PHY's registers from `core`, a CoreStatus."""
        status = self._link_status.fields
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

    def connect_interrupts(self, core):
        """Connects `msi`, `msix` and the sender of MSI to `core`, a CoreStatus."""
        self.comb += [
            self.msi.connect(self.msi_sender.sink),
            self.msi_sender.enable.eq(core.msi_enable[0]),
            self.msi_sender.sent.eq(core.msi_sent),
            self.msi_sender.fail.eq(core.msi_fail),
            self.msi_busy.eq(self.msi_sender.busy),
            self.msix.enable.eq(core.msix_enable[0]),
            self.msix.mask.eq(core.msix_mask[0]),
        ]

# MPS and MRRS in bytes ----------------------------------------------------------------------------

def decode_size(code, size):
    """Returns a statement that sets `size` to the bytes that the PCIe field `code` stands for
    (128 << code), or to LARGEST_PAYLOAD if the endpoint's stores hold no more."""
    return Case(code, {
        **{n: size.eq(min(128 << n, numbers.LARGEST_PAYLOAD)) for n in range(3)},
        "default": size.eq(numbers.LARGEST_PAYLOAD),
    })
