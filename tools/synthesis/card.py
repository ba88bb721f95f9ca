# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Makes a design of the card services alone, with their registers.

The cages' pins and the registers' bus are ports of the design. The vendor's primitives, which have
the flash's pins, the configuration logic and the system monitor, stay as they are.
"""

from litex.build.generic_platform import Pins
from litex.gen import *
from litex.soc.interconnect import csr_bus
from migen import *

from gateware import numbers
from gateware.card.services import add_card
from gateware.card.upkeep import CAGES
from tools.synthesis.stock import make_platform, ports

TOP = "card_services"
# The pins of a cage that the card reads. It drives the others.
INPUTS = ("scl", "sda", "modprs_n", "int_n")


class CardServices(LiteXModule):
    """All card services and their banks of registers, as a design for synthesis."""

    sys_clk_freq = numbers.SYS_CLK_FREQ

    def __init__(self, platform):
        self.cd_sys = ClockDomain("sys")
        self.busy = Signal()
        add_card(self, CAGES)
        bus = csr_bus.Interface(data_width=numbers.DWORD_WIDTH)
        self.banks = csr_bus.CSRBankArray(
            self,
            lambda name, memory: None if memory else numbers.CSR_LOCATIONS[name],
            data_width=numbers.DWORD_WIDTH,
        )
        self.interconnect = csr_bus.InterconnectShared([bus], self.banks.get_buses())

        # # #

        cages = [signal for pins in self.cages.values() for signal in self.inputs(pins)]
        drive = [bus.adr, bus.we, bus.re, bus.dat_w, *cages]
        watch = [bus.dat_r, self.busy]
        watch += [s for pins in self.cages.values() for s in self.outputs(pins)]
        self.comb += [
            Cat(self.cd_sys.clk, self.cd_sys.rst).eq(platform.request("clock")),
            Cat(drive).eq(ports(platform, "drive", drive)),
            ports(platform, "watch", watch).eq(Cat(watch)),
        ]

    @staticmethod
    def inputs(pins):
        """Return the signals of a cage's pins that the card reads."""
        return [getattr(pins, name) for name in INPUTS]

    @staticmethod
    def outputs(pins):
        """Return the signals of a cage's pins that the card drives."""
        return [getattr(pins, name) for name, *_ in pins.layout if name not in INPUTS]

    def add_module(self, name, module):
        """Add a module, as LiteX's SoC does."""
        setattr(self, name, module)


def write_card(folder):
    """Write the Verilog file of the card services alone into `folder`.

    Returns the path in a list, since Design takes a list of files.
    """
    platform = make_platform()
    platform.add_extension([("clock", 0, Pins(2))])
    verilog = platform.get_verilog(CardServices(platform), name=TOP)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{TOP}.v").write_text(verilog.main_source)
    return [folder / f"{TOP}.v"]
