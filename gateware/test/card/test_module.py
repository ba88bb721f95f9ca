# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Tests of card/module.py: reading and writing a module's memory, whatever the module does, and the
pins of the cage.
"""

import random

import pytest

from gateware.card.i2c import STRETCH_SECONDS
from gateware.card.module import BUFFER_BYTES, ERRORS, Module
from gateware.test.card.i2c_slave import Slave
from tools.testing.csr_model import CsrBench
from tools.testing.seeds import each_seed
from tools.testing.stream_model import simulate, wait

# A clock in Hz so low that a phase of a symbol has a few cycles. The stretching that counts as
# broken is then 4000 cycles.
CLOCK = 4e6
SELECT_SECONDS = 5e-6
KEEP = 1 << 24
NAME = {value: name for name, value in ERRORS.items()}


class Cage:
    """The registers of a cage (Module) with an I2C slave as the module in it."""

    def __init__(self, slave, present=True):
        self.slave = slave
        self.dut = Module(CLOCK, SELECT_SECONDS)
        self.bench = CsrBench(self.dut)
        self.dut.pins.scl.reset = self.dut.pins.sda.reset = 1
        self.dut.pins.modprs_n.reset = int(not present)
        self.dut.pins.int_n.reset = 1
        self.quiet_cycles = 0

    def simulate(self, *generators):
        simulate(self.bench, [*generators, self.slave.run(self.dut.pins)])

    def end(self):
        """Wait for the end of a module's transfer. Return its error's name, and the bytes moved."""
        while (status := (yield from self.bench.read("status"))) & 1:
            yield from wait(20)
        return NAME[status >> 4 & 7], status >> 8 & 0xFF

    def read(self, offset, length, page=0, keep=0):
        yield from self.bench.write("read", offset | length << 8 | page << 16 | keep)
        return (yield from self.end())

    def buffer(self, length):
        yield from self.bench.write("buffer_place", 0)
        found = []
        for _ in range(length):
            yield
            found.append((yield from self.bench.read("buffer_read")))
        return found

    def write(self, offset, data, keep=0):
        yield from self.bench.write("buffer_place", 0)
        for byte in data:
            yield from self.bench.write("buffer_write", byte)
        yield from self.bench.write("write", offset | len(data) << 8 | keep)
        return (yield from self.end())


@pytest.mark.parametrize("stretch", [0, 7, 60])
@each_seed(1)
def test_bytes_arrive_in_both_directions(seed, stretch):
    """What is written to a module is in its memory, and what is read is what the memory holds, with
    and without a stretched clock.
    """
    rng = random.Random(seed)
    cage = Cage(Slave(stretch=stretch))

    def check():
        for _ in range(2):
            offset, length = rng.randrange(100), rng.randrange(1, 5)
            data = [rng.randrange(256) for _ in range(length)]
            assert (yield from cage.write(offset, data)) == ("none", length)
            assert list(cage.slave.memory[offset : offset + length]) == data
            assert (yield from cage.read(offset, length)) == ("none", length)
            assert (yield from cage.buffer(length)) == data
        assert cage.slave.starts == 2 * 3 and cage.slave.stops == 2 * 2

    cage.simulate(check())


def test_every_byte_may_be_stretched_anew():
    """A module that stretches the clock after each byte is read, even if all stretches together
    take longer than one may. The limit is that of a single stretch.
    """
    most = round(STRETCH_SECONDS * CLOCK)
    cage = Cage(Slave(stretch=most // 3))

    def check():
        assert (yield from cage.read(3, 6)) == ("none", 6)
        assert (yield from cage.buffer(6)) == [3, 4, 5, 6, 7, 8]

    cage.simulate(check())


def test_a_page_is_selected_before_its_bytes_are_read():
    """A module's read above offset 127 first writes the page to byte 127. One below does not."""
    cage = Cage(Slave())

    def check():
        assert (yield from cage.read(130, 2, page=3)) == ("none", 2)
        assert cage.slave.written == [[127, 3], [130]]
        assert (yield from cage.buffer(2)) == [130, 131]
        assert (yield from cage.read(5, 1, page=3)) == ("none", 1)
        assert cage.slave.written[2:] == [[5]]

    cage.simulate(check())


@pytest.mark.parametrize(
    "slave, error",
    [
        (Slave(address=0x51), "silent"),
        (Slave(refuse=1), "refused"),
        (Slave(stuck=1000), "sda_held"),
        (Slave(hold_clock=True), "scl_held"),
        (Slave(stretch=9000), "scl_held"),
    ],
    ids=["silent", "refused", "sda", "scl", "stretched"],
)
def test_a_module_with_a_fault_ends_the_transfer(slave, error):
    """A transfer with a QSFP module that cannot succeed ends by itself with its reason, and the
    module is let go.
    """
    cage = Cage(slave)

    def check():
        assert (yield from cage.read(0, 1)) == (error, 0)
        assert (yield cage.dut.pins.modsel_n) == 1
        assert (yield cage.dut.pins.scl_low) == 0 and (yield cage.dut.pins.sda_low) == 0

    cage.simulate(check())


@pytest.mark.parametrize("clocks", [1, 4, 9])
def test_a_held_line_is_freed_by_clocks(clocks):
    """A module that holds SDA low for up to nine clocks is freed, and is read then."""
    cage = Cage(Slave(stuck=clocks))

    def check():
        assert (yield from cage.read(7, 1)) == ("none", 1)
        assert (yield from cage.buffer(1)) == [7]
        assert (yield from cage.bench.read("status")) >> 16 == 1

    cage.simulate(check())


@pytest.mark.parametrize("length", [0, BUFFER_BYTES + 1, 255])
def test_a_wrong_length_is_refused(length):
    """A transfer with a module of no byte, or of more than the buffer has, ends before the I2C bus
    is used.
    """
    cage = Cage(Slave())

    def check():
        assert (yield from cage.read(0, length)) == ("length", 0)
        assert cage.slave.starts == 0

    cage.simulate(check())


def test_an_empty_cage_is_not_spoken_to():
    """Without a module in the cage a transfer ends at once, and the I2C bus stays idle."""
    cage = Cage(Slave(), present=False)

    def check():
        yield from wait(5)
        assert (yield from cage.read(0, 1)) == ("absent", 0)
        assert cage.slave.starts == 0

    cage.simulate(check())


def test_a_module_is_selected_only_while_it_is_used():
    """ModSel is low during a transfer and high after it, unless software asked to keep it."""
    cage = Cage(Slave())
    pins = cage.dut.pins

    def check():
        assert (yield pins.modsel_n) == 1
        yield from cage.bench.write("read", 1 << 8)
        yield from wait(30)
        assert (yield pins.modsel_n) == 0
        yield from cage.end()
        assert (yield pins.modsel_n) == 1
        yield from cage.read(0, 1, keep=KEEP)
        assert (yield pins.modsel_n) == 0
        yield from cage.read(0, 1)
        assert (yield pins.modsel_n) == 1

    cage.simulate(check())


def test_the_pins_after_reset_and_when_the_card_is_hot():
    """LPMode is high after the reset of the card, until software lets it go. `quiet` sets LPMode
    and the module's reset, whatever software says.
    """
    cage = Cage(Slave())
    pins = cage.dut.pins

    def pair():
        yield
        return (yield pins.reset_n), (yield pins.lpmode)

    def check():
        assert (yield from pair()) == (1, 1)
        yield from cage.bench.write("control", 0)
        assert (yield from pair()) == (1, 0)
        yield from cage.bench.write("control", 1)
        assert (yield from pair()) == (0, 0)
        yield from cage.bench.write("control", 0)
        yield cage.dut.quiet.eq(1)
        assert (yield from pair()) == (0, 1)

    cage.simulate(check())
