# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Makes a design of LitePCIe's endpoint alone, to compare Lanebox's endpoint with.

The design has the hard block's wrapper, the adapters, the endpoint and the Wishbone master behind
BAR0, with one port for writes and one for reads. Logic that leads to nothing would be optimised
away, so every signal of the two ports is a port of the design. Such signals are beginnings and ends
of paths, and cost nothing.
"""

from litepcie.frontend.wishbone import LitePCIeWishboneMaster
from litex.build.generic_platform import Pins, Subsignal
from litex.build.xilinx import XilinxUSPPlatform
from litex.gen import *
from migen import *

from gateware.endpoint.endpoints import make_endpoint
from gateware.phy.hard_block import UserClock, make_phy

TOP = "stock_endpoint"
DEVICE = "xcku5p-ffvb676-2-i"  # LitePCIe chooses the formats of TLPs by the FPGA part
LANES = 8


def ports(platform, name, signals):
    """Return a new port of the design at the top, as wide as all these signals together."""
    platform.add_extension([(name, 0, Pins(sum(map(len, signals))))])
    return platform.request(name)


def sides(endpoint, driven):
    """Return two lists of a stream endpoint's signals: those that its user drives, and the others.

    With `driven` the user drives the data, otherwise it drives `ready`.
    """
    ahead = [signal for signal in endpoint.flatten() if signal is not endpoint.ready]
    return (ahead, [endpoint.ready]) if driven else ([endpoint.ready], ahead)


class StockEndpoint(LiteXModule):
    """LitePCIe's own endpoint and PHY without anything around them, to be compared with ours."""

    def __init__(self, platform, pads):
        self.phy = phy = make_phy("litepcie", platform, pads)
        self.crg = UserClock(phy)
        self.endpoint = endpoint = make_endpoint("litepcie", phy)
        self.bar = LitePCIeWishboneMaster(endpoint)

        # # #

        crossbar = endpoint.crossbar
        bus = self.bar.wishbone
        masters = [
            crossbar.get_master_port(write_only=True),
            crossbar.get_master_port(read_only=True),
        ]
        both = [(sides(port.source, True), sides(port.sink, False)) for port in masters]
        drive = [signal for pair in both for side in pair for signal in side[0]]
        watch = [signal for pair in both for side in pair for signal in side[1]]
        drive += [bus.dat_r, bus.ack, bus.err, *sides(phy.msi, True)[0]]
        watch += [bus.adr, bus.dat_w, bus.sel, bus.cyc, bus.stb, bus.we, phy.msi.ready]
        self.comb += [
            Cat(drive).eq(ports(platform, "drive", drive)),
            ports(platform, "watch", watch).eq(Cat(watch)),
        ]


def make_platform():
    """Return the part with the pins of the link.

    The pins have no locations, since this design is never placed.
    """
    link = [
        Subsignal(name, Pins(width))
        for name, width in (
            ("rst_n", 1),
            ("clk_p", 1),
            ("clk_n", 1),
            ("rx_p", LANES),
            ("rx_n", LANES),
            ("tx_p", LANES),
            ("tx_n", LANES),
        )
    ]
    return XilinxUSPPlatform(DEVICE, [("pcie_x8", 0, *link)], toolchain="vivado")


def write_stock(folder):
    """Write the Verilog of LitePCIe's endpoint alone into `folder`.

    Returns the paths of all Verilog files that the design needs.
    """
    platform = make_platform()
    verilog = platform.get_verilog(StockEndpoint(platform, platform.request("pcie_x8")), name=TOP)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{TOP}.v").write_text(verilog.main_source)
    return [folder / f"{TOP}.v", *(source[0] for source in platform.sources)]
