# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Makes a design of the management CPU alone: core, memory, portal, starter, with its registers.

The host's bus, the portal's bus and the signals around the CPU are ports of the design. The memory
has an empty image.
"""

import shutil

from litex.build.generic_platform import Pins
from litex.gen import *
from litex.soc.interconnect import csr_bus
from migen import *

from gateware import numbers
from gateware.card.cpu.core import core_verilog
from gateware.card.cpu.management import Management
from tools.synthesis.stock import make_platform, ports

TOP = "management_cpu"


class Cpu(LiteXModule):
    """The management CPU and its bank of registers, as a design for synthesis."""

    def __init__(self, platform):
        self.cd_sys = ClockDomain("sys")
        self.management = cpu = Management(None, lambda: [0])
        csr = csr_bus.Interface(data_width=numbers.DWORD_WIDTH)
        self.bank = csr_bus.CSRBank(cpu.get_csrs(), bus=csr)

        # # #

        windows, bus = (cpu.memory.image, cpu.memory.mailbox), cpu.portal.bus
        drive = [
            cpu.hot,
            cpu.waves,
            csr.adr,
            csr.we,
            csr.re,
            csr.dat_w,
            bus.ack,
            bus.err,
            bus.dat_r,
        ]
        watch = [cpu.busy, cpu.irq, csr.dat_r, bus.cyc, bus.we, bus.adr, bus.dat_w]
        for window in windows:
            drive += [window.cyc, window.stb, window.we, window.sel, window.adr, window.dat_w]
            watch += [window.ack, window.dat_r]
        self.comb += [
            Cat(self.cd_sys.clk, self.cd_sys.rst).eq(platform.request("clock")),
            Cat(drive).eq(ports(platform, "drive", drive)),
            ports(platform, "watch", watch).eq(Cat(watch)),
        ]


def write_cpu(folder):
    """Write the Verilog files of the management CPU alone into `folder`. Returns their paths."""
    platform = make_platform()
    platform.add_extension([("clock", 0, Pins(2))])
    verilog = platform.get_verilog(Cpu(platform), name=TOP)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{TOP}.v").write_text(verilog.main_source)
    for name, content in verilog.data_files.items():
        (folder / name).write_text(content)
    shutil.copy(core_verilog(), folder)
    return [folder / f"{TOP}.v", folder / core_verilog().name, *sorted(folder.glob("*.init"))]
