# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Makes a design of the two DMA engines alone: tables, registers, stores, notices, moderation.

The design has no endpoint and no user slot. Every signal to these is a port of the design. Such a
port counts as beginning or end of paths, and costs nothing.
"""

from types import SimpleNamespace

from litex.build.generic_platform import Pins
from litex.gen import *
from litex.soc.interconnect import csr_bus
from migen import *

from gateware import numbers
from gateware.dma.c2h import C2h
from gateware.dma.h2c import H2c
from gateware.dma.moderation import Moderation, ModerationRegisters
from gateware.dma.notices import Account, NoticeRegisters
from gateware.endpoint.ports import MasterPort
from tools.synthesis.stock import make_platform, ports, sides

TOP = "dma_engines"


class DmaEngines(LiteXModule):
    """The DMA engines c2h and h2c of one channel, each with a bank of registers, as a design for
    synthesis.
    """

    def __init__(self, platform):
        self.cd_sys = ClockDomain("sys")
        phy = SimpleNamespace(
            id=Signal(16), max_request_size=Signal(16), max_payload_size=Signal(16)
        )
        endpoint = SimpleNamespace(phy=phy)
        writes = MasterPort(0, writes=True, reads=False)
        reads = MasterPort(1, writes=False, reads=True)
        account = Account()
        self.c2h = C2h(endpoint, writes, account)
        self.h2c = H2c(endpoint, reads, account)
        self.notices = NoticeRegisters(self.c2h)
        self.h2c_moderation = Moderation()
        self.c2h_moderation = Moderation()
        self.moderation = ModerationRegisters(self.h2c_moderation, self.c2h_moderation)
        banks = [
            csr_bus.CSRBank(module.get_csrs(), bus=self._bus())
            for module in (self.c2h, self.h2c, self.notices, self.moderation)
        ]
        self.submodules += banks
        self.comb += [
            self.h2c_moderation.wanted.eq(self.h2c.irq),
            self.c2h_moderation.wanted.eq(self.c2h.irq),
        ]

        # # #

        streams = [sides(port.source, False) for port in (writes, reads)]
        streams += [
            sides(reads.sink, True),
            sides(self.c2h.sink, True),
            sides(self.h2c.source, False),
        ]
        drive = [
            phy.id,
            phy.max_request_size,
            phy.max_payload_size,
            self.c2h.notices.time,
            writes.sent,
            *(signal for side in streams for signal in side[0]),
        ]
        watch = [
            self.c2h_moderation.irq,
            self.h2c_moderation.irq,
            self.c2h_moderation.waits,
            self.h2c_moderation.waits,
            self.c2h.busy,
            self.h2c.busy,
            *(signal for side in streams for signal in side[1]),
        ]
        for bank in banks:
            drive += [bank.bus.adr, bank.bus.we, bank.bus.re, bank.bus.dat_w]
            watch += [bank.bus.dat_r]
        self.comb += [
            Cat(self.cd_sys.clk, self.cd_sys.rst).eq(platform.request("clock")),
            Cat(drive).eq(ports(platform, "drive", drive)),
            ports(platform, "watch", watch).eq(Cat(watch)),
        ]

    @staticmethod
    def _bus():
        return csr_bus.Interface(data_width=numbers.DWORD_WIDTH)


def write_engines(folder):
    """Write the Verilog file of the DMA engines alone into `folder`.

    Returns the path in a list, since Design takes a list of files.
    """
    platform = make_platform()
    platform.add_extension([("clock", 0, Pins(2))])
    verilog = platform.get_verilog(DmaEngines(platform), name=TOP)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{TOP}.v").write_text(verilog.main_source)
    return [folder / f"{TOP}.v"]
