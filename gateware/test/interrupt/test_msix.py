# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Tests of interrupt/msix.py: the MSI-X table on the bus, and the choice between MSI and MSI-X."""

import random
from types import SimpleNamespace

from litepcie.common import msi_layout
from litepcie.core import LitePCIeMSI
from litex.gen import LiteXModule
from litex.soc.interconnect import stream
from migen import Memory, Record, passive

from gateware import numbers
from gateware.interrupt.msix import Msix
from gateware.vocabulary import layouts
from tools.testing.csr_model import CsrBench
from tools.testing.seeds import each_seed
from tools.testing.stream_model import simulate


class Bench(LiteXModule):
    """Test bench of the module Msix, with a memory in place of the MSI-X table."""

    def __init__(self):
        record = Record(layouts.msix_layout())
        phy = SimpleNamespace(msix=Record(layouts.msix_control_layout()))
        self.endpoint = SimpleNamespace(
            msix=record, phy=phy, interrupt=stream.Endpoint(msi_layout())
        )
        self.msi = LitePCIeMSI(width=numbers.MSI_WIDTH)
        self.bank = CsrBench(self.msi)
        self.dut = Msix(self.msi, self.endpoint)
        registers = record.registers
        memory = Memory(32, 2 ** len(registers.address), init=range(64))
        port = memory.get_port(write_capable=True)
        self.specials += memory, port
        self.comb += [
            port.adr.eq(registers.address),
            port.we.eq(registers.write),
            port.dat_w.eq(registers.write_data),
            registers.read_data.eq(port.dat_r),
        ]


@each_seed(2)
def test_the_bus_reads_and_writes_whole_dwords(seed):
    """A write of a whole dword to the MSI-X table is read back. A write of some of its bytes is
    ignored.
    """
    bench = Bench()
    rng = random.Random(seed)

    def main():
        words = list(range(64))
        for _ in range(100):
            at, value = rng.randrange(64), rng.getrandbits(32)
            sel = rng.choice([0xF, 0xF, 0x1, 0xC])
            if rng.random() < 0.5:
                yield from bench.dut.bus.write(at, value, sel=sel)
                words[at] = value if sel == 0xF else words[at]
            else:
                assert (yield from bench.dut.bus.read(at)) == words[at]

    simulate(bench, [main()])


def test_a_cause_goes_one_way():
    """An interrupt cause is sent as MSI while MSI-X is off, and by its MSI-X vector while MSI-X is
    on.
    """
    bench = Bench()
    pulses = []
    taken = []

    @passive
    def watch():
        yield bench.endpoint.interrupt.ready.eq(1)
        while True:
            if causes := (yield bench.endpoint.msix.causes):
                pulses.append(causes)
            if (yield bench.endpoint.interrupt.valid):
                taken.append(1)
            yield

    def main():
        yield from bench.bank.write("enable", 0b0110)
        for msix in (0, 1, 0):
            yield bench.endpoint.phy.msix.enable.eq(msix)
            for cause in (1, 2, 3):
                yield bench.msi.irqs.eq(1 << cause)
                yield
                yield bench.msi.irqs.eq(0)
                for _ in range(4):
                    yield

    simulate(bench, [main(), watch()])
    assert pulses == [0b0010, 0b0100]
    assert len(taken) == 4
