# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Tests of mmio/registers.py: RegisterBridge, from Wishbone to the CSR bus, compared with LiteX's
bridge.

Both bridges must make the same accesses. RegisterBridge answers writes one cycle earlier.
"""

import random

import pytest
from litex.gen import LiteXModule
from litex.soc.interconnect import csr_bus, wishbone
from migen import passive, run_simulation

from gateware.mmio.registers import RegisterBridge
from tools.testing.seeds import SHIFT

WORDS = 64


class Registers(LiteXModule):
    """A memory on the CSR bus, behind our RegisterBridge if `ours` is true, else behind LiteX's
    bridge.
    """

    def __init__(self, ours):
        self.bridge = (
            RegisterBridge()
            if ours
            else wishbone.Wishbone2CSR(
                wishbone.Interface(data_width=32, address_width=32, addressing="word"),
                csr_bus.Interface(data_width=32),
                register=False,
            )
        )
        self.bus = self.bridge.csr
        self.memory = csr_bus.SRAM(WORDS * 4, 0, bus=csr_bus.Interface.like(self.bus))
        self.comb += self.bus.connect(self.memory.bus)


def accesses(ours, script):
    """Run the accesses of `script`: (cycles of pause before, write, word address, data, byte
    selects).

    Return (write, cycles, data read) of each access, and all strobes on the CSR bus. An access
    without a pause follows the one before it at once, with `cyc` and `stb` still high.
    """
    dut, seen, strobes = Registers(ours), [], []

    def host():
        bus = dut.bridge.wishbone
        for pause, write, address, data, sel in script:
            if pause:
                yield bus.cyc.eq(0)
                yield bus.stb.eq(0)
                for _ in range(pause):
                    yield
            yield bus.cyc.eq(1)
            yield bus.stb.eq(1)
            yield bus.we.eq(write)
            yield bus.adr.eq(address)
            yield bus.dat_w.eq(data)
            yield bus.sel.eq(sel)
            cycles = 1
            yield
            while not (yield bus.ack):
                cycles += 1
                assert cycles < 10, "the bus does not answer"
                yield
            seen.append((write, cycles, None if write else (yield bus.dat_r)))

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
def test_every_access_is_as_with_litexs_bridge(seed):
    """RegisterBridge and LiteX's bridge give the same data and the same strobes, with and without
    pauses.
    """
    print(f"seed {seed}")
    rng = random.Random(seed)
    script = [
        (
            rng.choice([0, 0, 1, 5]),
            rng.randrange(2),
            rng.randrange(WORDS),
            rng.getrandbits(32),
            rng.choice([15, 15, 1, 0]),
        )
        for _ in range(300)
    ]
    # The last entry is a pause, which releases the bus. Otherwise the last access would begin
    # again.
    script.append((1, 0, 0, 0, 0))
    ours, strobes = accesses(True, script)
    litexs, reference = accesses(False, script)
    assert [entry[2] for entry in ours] == [entry[2] for entry in litexs]
    assert strobes == reference and len(strobes) > 150
    assert {entry[:2] for entry in ours} == {(1, 1), (0, 2)}
    assert {entry[:2] for entry in litexs} == {(1, 2), (0, 2)}


def test_the_address_does_not_wait_for_an_access():
    """RegisterBridge passes the Wishbone address on in the cycle before `cyc`, without a strobe.

    That makes an access one cycle shorter.
    """
    dut = Registers(ours=True)

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
