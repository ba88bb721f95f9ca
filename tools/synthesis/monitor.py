# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Makes a design of the user slot's monitor alone, with its registers.

The streams and the time are ports of the design.
"""

from litex.build.generic_platform import Pins
from litex.gen import *
from litex.soc.interconnect import csr_bus, stream
from migen import *

from gateware import numbers
from gateware.user.monitor import SlotMonitor
from gateware.vocabulary import layouts
from tools.synthesis.stock import make_platform, ports

TOP = "slot_monitor"


class Monitor(LiteXModule):
    """The user slot's monitor and its bank of registers, as a design for synthesis."""

    def __init__(self, platform):
        self.cd_sys = ClockDomain("sys")
        sides = [stream.Endpoint(layouts.stream_layout()) for _ in range(2)]
        time = Signal(numbers.COUNTER_WIDTH)
        self.monitor = SlotMonitor(*sides, time)
        bus = csr_bus.Interface(data_width=numbers.DWORD_WIDTH)
        self.bank = csr_bus.CSRBank(self.monitor.get_csrs(), bus=bus)

        # # #

        drive = [
            time,
            bus.adr,
            bus.we,
            bus.re,
            bus.dat_w,
            *(signal for side in sides for signal in (side.valid, side.ready, side.last)),
        ]
        self.comb += [
            Cat(self.cd_sys.clk, self.cd_sys.rst).eq(platform.request("clock")),
            Cat(drive).eq(ports(platform, "drive", drive)),
            ports(platform, "watch", [bus.dat_r]).eq(bus.dat_r),
        ]


def write_monitor(folder):
    """Write the Verilog file of the monitor alone into `folder`.

    Returns the path in a list, since Design takes a list of files.
    """
    platform = make_platform()
    platform.add_extension([("clock", 0, Pins(2))])
    verilog = platform.get_verilog(Monitor(platform), name=TOP)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{TOP}.v").write_text(verilog.main_source)
    return [folder / f"{TOP}.v"]
