# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""The CSR bus with its address a level earlier.

LiteX's bridge shows an address only while there is an access, so the bus's `cyc` stands in front
of the multiplexers of all registers: the deepest path of the card. The strobes say when; what is
read without one nobody looks at.
"""

from litex.gen import *
from litex.soc.integration.soc_core import SoCMini
from litex.soc.interconnect import csr_bus


class EarlyAddress(LiteXModule):
    """What the registers see of `bridge`, LiteX's: its strobes, and the bus's address at any time.

    Between a master whose accesses are one at a time and registers that are read without effect,
    as LiteX's are.
    """
    def __init__(self, bridge):
        access   = bridge.csr
        self.csr = csr_bus.Interface(len(access.dat_w), len(access.adr))

        # # #

        self.comb += [
            self.csr.adr.eq(bridge.wishbone.adr),
            self.csr.dat_w.eq(access.dat_w),
            self.csr.we.eq(access.we),
            self.csr.re.eq(access.re),
            access.dat_r.eq(self.csr.dat_r),
        ]

class EarlyAddressSoC(SoCMini):
    """LiteX's SoC without a CPU, with this between bridge and registers where it has `mmio`."""
    def add_csr_bridge(self, name="csr", **how):
        SoCMini.add_csr_bridge(self, name, **how)
        if hasattr(self, "mmio"):
            self.csr_address = EarlyAddress(self.csr_bridge)
            self.csr.masters[name] = self.csr_address.csr
