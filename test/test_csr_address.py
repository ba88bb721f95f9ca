# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""The registers' early address changes no access: LiteX's own bridge beside it shows the same."""

import random

import pytest
from litex.gen import LiteXModule
from litex.soc.interconnect import csr_bus, wishbone
from migen import passive, run_simulation
from seeds import SHIFT

from lanebox.mmio.csr_address import EarlyAddress

WORDS = 64


class Registers(LiteXModule):
    """A memory on the CSR bus behind LiteX's bridge, with EarlyAddress between them or without."""
    def __init__(self, early):
        self.bridge = wishbone.Wishbone2CSR(
            wishbone.Interface(data_width=32, address_width=32, addressing="word"),
            csr_bus.Interface(data_width=32), register=False)
        bus = self.bridge.csr
        if early:
            self.early = EarlyAddress(self.bridge)
            bus = self.early.csr
        self.bus    = bus
        self.memory = csr_bus.SRAM(WORDS*4, 0, bus=csr_bus.Interface.like(bus))
        self.comb += bus.connect(self.memory.bus)


def accesses(early, script):
    """What the reads of `script` give, how many cycles each access takes, and when strobes come."""
    dut, seen, strobes = Registers(early), [], []

    def host():
        bus = dut.bridge.wishbone
        for pause, write, address, data, sel in script:
            for _ in range(pause):
                yield
            yield bus.cyc.eq(1)
            yield bus.stb.eq(1)
            yield bus.we.eq(write)
            yield bus.adr.eq(address)
            yield bus.dat_w.eq(data)
            yield bus.sel.eq(sel)
            cycles = 0
            yield
            while not (yield bus.ack):
                cycles += 1
                assert cycles < 10, "no answer"
                yield
            seen.append((cycles, None if write else (yield bus.dat_r)))
            yield bus.cyc.eq(0)
            yield bus.stb.eq(0)
            yield

    @passive
    def watch():
        while True:
            re, we = (yield dut.bus.re), (yield dut.bus.we)
            if re or we:
                strobes.append((re, we, (yield dut.bus.adr), (yield dut.bus.dat_w) if we else 0))
            yield

    run_simulation(dut, [host(), watch()])
    return seen, strobes


@pytest.mark.parametrize("seed", range(SHIFT, SHIFT + 2))
def test_every_access_is_as_without_it(seed):
    """Same data, same cycles, the same strobes at the same addresses."""
    print(f"seed {seed}")
    rng = random.Random(seed)
    script = [(rng.choice([0, 0, 1, 5]), rng.randrange(2), rng.randrange(WORDS),
        rng.getrandbits(32), rng.choice([15, 15, 1, 0])) for _ in range(300)]
    seen, strobes = accesses(True, script)
    assert (seen, strobes) == accesses(False, script)
    assert len(strobes) > 150


def test_the_address_does_not_wait_for_an_access():
    """Without `cyc` the registers see the bus's address, and no strobe: that is what it is for."""
    dut = Registers(early=True)

    def look():
        bus = dut.bridge.wishbone
        for address in (1, 33, 7):
            yield bus.adr.eq(address)
            yield bus.we.eq(1)
            yield bus.sel.eq(15)
            yield
            yield
            assert (yield dut.bus.adr) == address
            assert not (yield dut.bus.we) and not (yield dut.bus.re)
    run_simulation(dut, look())
