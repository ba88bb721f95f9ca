# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Gateware of a card on which LitePCIe's own front ends, unchanged, are attached to the Lanebox
endpoint.

`python front_ends.py FOLDER` builds the gateware in FOLDER, as targets/sim.py does.
"""

import logging
import sys
from pathlib import Path

from litepcie.core.msi import LitePCIeMSIX
from litepcie.frontend.axi import LitePCIeAXISlave
from litex.gen import LiteXModule
from litex.soc.interconnect.csr import CSRStatus, CSRStorage
from migen import FSM, C, Cat, If, Memory, NextState, NextValue, Signal

from gateware import numbers
from gateware.soc import LaneboxSoC
from targets.sim_platform import Platform
from tools.verilog.build import build_cached, build_key
from tools.verilog.sources import source_digest, source_files

ROOT = Path(__file__).resolve().parents[3]
BEATS = 16  # The buffer of BurstMaster, the tests' AXI master, has this many beats of 32 bytes.
VECTORS = 4  # number of MSI-X vectors of this gateware


class BurstMaster(LiteXModule):
    """An AXI4 master that carries out one burst at a time, between the bus and a buffer of 16
    beats.

    Software selects a dword of the buffer by the register `place`. A write to the register `dword`
    stores that dword, and a read of `content` returns it.
    """

    def __init__(self, axi):
        self.address = CSRStorage(32)
        self.beats = CSRStorage(5)
        # register of BurstMaster: bit 0 starts a write burst, bit 1 a read burst
        self.start = CSRStorage(2)
        self.done = CSRStatus()
        self.place = CSRStorage(7)
        self.dword = CSRStorage(32)
        self.content = CSRStatus(32)

        # # #

        buffer = Memory(numbers.DATA_WIDTH, BEATS)
        burst = buffer.get_port(write_capable=True, async_read=True)
        software = buffer.get_port(write_capable=True, we_granularity=32, async_read=True)
        self.specials += buffer, burst, software
        lane = self.place.storage[:3]
        self.comb += [
            software.adr.eq(self.place.storage[3:]),
            software.dat_w.eq(self.dword.storage * sum(1 << 32 * n for n in range(8))),
            If(self.dword.re, software.we.eq(1 << lane)),
            self.content.status.eq(software.dat_r >> Cat(C(0, 5), lane)),
        ]

        beat = Signal(5)
        last = beat == self.beats.storage - 1
        self.comb += [
            burst.adr.eq(beat),
            burst.dat_w.eq(axi.r.data),
            axi.w.data.eq(burst.dat_r),
            axi.w.strb.eq(2 ** len(axi.w.strb) - 1),
            axi.w.last.eq(last),
        ]
        for channel in (axi.aw, axi.ar):
            self.comb += [
                channel.addr.eq(self.address.storage),
                channel.len.eq(self.beats.storage - 1),
                channel.size.eq(5),
                channel.burst.eq(1),
            ]
        self.fsm = fsm = FSM(reset_state="IDLE")
        fsm.act(
            "IDLE",
            self.done.status.eq(1),
            NextValue(beat, 0),
            If(self.start.re & self.start.storage[0], NextState("AW")),
            If(self.start.re & self.start.storage[1], NextState("AR")),
        )
        fsm.act("AW", axi.aw.valid.eq(1), If(axi.aw.ready, NextState("W")))
        fsm.act(
            "W",
            axi.w.valid.eq(1),
            If(axi.w.ready, NextValue(beat, beat + 1), If(last, NextState("B"))),
        )
        fsm.act("B", axi.b.ready.eq(1), If(axi.b.valid, NextState("IDLE")))
        fsm.act("AR", axi.ar.valid.eq(1), If(axi.ar.ready, NextState("R")))
        fsm.act(
            "R",
            axi.r.ready.eq(1),
            burst.we.eq(axi.r.valid),
            If(axi.r.valid, NextValue(beat, beat + 1), If(axi.r.last, NextState("IDLE"))),
        )


class FrontEndSoC(LaneboxSoC):
    """A SoC with LitePCIeMSIX and LitePCIeAXISlave, and with LitePCIeWishboneMaster in place of
    Lanebox's MMIO bridge."""

    def __init__(self, platform):
        LaneboxSoC.__init__(
            self,
            platform,
            platform.request("pcie_x8"),
            platform.request_all("user_led"),
            board="sim",
            mmio="litepcie",
        )
        self.stock_msix = LitePCIeMSIX(self.pcie_endpoint, width=VECTORS)
        self.comb += self.stock_msix.irqs.eq(self.pcie_msi.irqs)
        self.host = LitePCIeAXISlave(self.pcie_endpoint, data_width=numbers.DATA_WIDTH)
        self.burst = BurstMaster(self.host.axi)
        # The pins `user_slot` show valid, ready and last of the user slot's streams. They are 0,
        # since this card has no user slot.
        self.comb += platform.request("user_slot").eq(0)
        # LitePCIe's front ends do not show whether they have work, so `busy` stays high and device
        # time never stops.
        self.comb += platform.request("busy").eq(1)


def main() -> None:
    logging.basicConfig(level=logging.WARNING)
    folders = [source_files(ROOT / name) for name in ("gateware", "targets", "tools/verilog")]
    key = build_key(source_digest(*folders, [Path(__file__)]), ["front ends"])
    build_cached(sys.argv[1], key, lambda: FrontEndSoC(Platform()))


if __name__ == "__main__":
    main()
