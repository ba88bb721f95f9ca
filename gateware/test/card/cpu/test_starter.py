# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Tests of card/cpu/starter.py: which images are started, and when a start is given up."""

import random
import struct

import pytest
from migen import passive

from gateware import numbers
from gateware.card.cpu import layout
from gateware.card.cpu.image import seal
from gateware.card.cpu.starter import SETTLE, Starter
from tools.testing.seeds import each_seed
from tools.testing.stream_model import simulate, wait

PATIENCE = 256
STATE = {value: name for name, value in layout.STATES.items()}
ROOM = numbers.CPU_IMAGE_SIZE


def image(size, rng):
    """Return a valid firmware image of `size` bytes, with its size and CRC-32."""
    code = struct.pack("<III", 0x6F, layout.IMAGE_MAGIC, 0) + rng.randbytes(size - 16)
    return seal(code)


class Bench:
    """The CPU's starter with a memory that now and then makes its reads wait."""

    def __init__(self, raw, seed):
        self.memory = bytearray(raw.ljust(ROOM, b"\xa5"))
        self.rng = random.Random(seed)
        self.dut = Starter(PATIENCE)
        self.clocked = self.busy = 0

    @passive
    def serve(self):
        dut = self.dut
        while True:
            taken = (yield dut.read) and self.rng.random() < 0.7
            yield dut.taken.eq(taken)
            address = yield dut.address
            yield
            if taken:
                yield dut.data.eq(struct.unpack_from("<I", self.memory, 4 * address)[0])
                yield dut.taken.eq(0)
                yield
            self.clocked += yield dut.clocked
            self.busy += yield dut.busy

    def state(self):
        return STATE[(yield self.dut.state)]

    def decide(self):
        """Wait until the starter has checked the image. Return the name of the starter's state."""
        yield
        while (state := (yield from self.state())) in ("held", "checking"):
            yield
        return state

    def run(self, check):
        simulate(self.dut, [check, self.serve()])


def decision(raw, seed=0):
    bench, found = Bench(raw, seed), []

    def check():
        found.append((yield from bench.decide()))

    bench.run(check())
    return found[0]


@pytest.mark.parametrize("size", [20, 24, 400])
@each_seed(2)
def test_a_good_image_runs(seed, size):
    """The starter starts an image with the right header and CRC, whatever lies behind it in the
    memory.
    """
    assert decision(image(size, random.Random(seed)), seed) == "running"


@each_seed(12)
def test_one_wrong_bit_anywhere_is_found(seed):
    """The starter does not start an image with one flipped bit, wherever the bit is."""
    rng = random.Random(seed)
    raw = bytearray(image(64, rng))
    bit = rng.randrange(8 * len(raw))
    raw[bit // 8] ^= 1 << bit % 8
    assert decision(raw, seed) == "bad_image"


@each_seed(4)
def test_an_image_cut_short_is_found(seed):
    """The starter does not start an image whose last words are missing."""
    rng = random.Random(seed)
    raw = image(80, rng)
    assert decision(raw[: 4 * rng.randrange(1, 20)], seed) == "bad_image"


@pytest.mark.parametrize("size", [0, 4, 16, 21, 8196, 1 << 31, 0x10014])
def test_a_wrong_size_is_found_at_once(size):
    """If an image's size is too small, too large, or no whole words, the starter ends its check at
    the word with the size.
    """
    raw = bytearray(image(64, random.Random(1)))
    struct.pack_into("<I", raw, 8, size)
    assert decision(raw) == "bad_image"


def test_an_empty_memory_is_no_image():
    """The starter starts no CPU on a memory of zeros."""
    assert decision(bytes(ROOM)) == "bad_image"


def test_the_largest_image_fits():
    """The starter starts an image that fills its memory: nothing is lost up to the last byte."""
    with pytest.raises(ValueError, match="8196 bytes; there is room for 8192"):
        seal(bytes(8192))
    assert len(seal(bytes(8188))) == ROOM


def test_three_starts_without_a_heartbeat_are_the_last():
    """After each start that gives no heartbeat the image is checked and started anew, three times.

    Then the CPU is kept in reset with its clock off, until the host sets and clears `hold`.
    """
    bench = Bench(image(20, random.Random(1)), 1)

    def check():
        for failures in range(layout.STARTS):
            assert (yield from bench.decide()) == "running"
            assert (yield bench.dut.failures) == failures
            while (yield from bench.state()) == "running":
                yield
        assert (yield from bench.state()) == "given_up"
        yield from wait(SETTLE + 2)
        assert not (yield bench.dut.clocked) and (yield bench.dut.reset)
        assert not (yield bench.dut.busy)
        yield from wait(5 * PATIENCE)
        assert (yield from bench.state()) == "given_up"
        yield bench.dut.hold.eq(1)
        yield from wait(3)
        assert (yield from bench.state()) == "held" and (yield bench.dut.failures) == 0
        yield bench.dut.hold.eq(0)
        yield
        assert (yield from bench.decide()) == "running"

    bench.run(check())


def test_a_heartbeat_forgives_and_sleep_is_not_counted():
    """A start with a heartbeat may last for ever, as may a sleep. A heartbeat clears `failures`."""
    bench = Bench(image(20, random.Random(1)), 1)

    def check():
        assert (yield from bench.decide()) == "running"
        while (yield from bench.state()) == "running":
            yield
        assert (yield from bench.decide()) == "running"
        assert (yield bench.dut.failures) == 1
        for _ in range(4):
            yield bench.dut.heartbeat.eq(1)
            yield
            yield bench.dut.heartbeat.eq(0)
            yield from wait(PATIENCE - 10)
        assert (yield bench.dut.failures) == 0
        yield bench.dut.asleep.eq(1)
        yield from wait(4 * PATIENCE)
        assert (yield from bench.state()) == "running"
        assert not (yield bench.dut.clocked) and not (yield bench.dut.busy)

    bench.run(check())


def test_a_held_cpu_needs_no_clock():
    """If `hold` is set, the CPU's clock runs only until its synchronous reset has been seen."""
    bench = Bench(image(20, random.Random(1)), 1)
    bench.dut.hold.reset.value = 1

    def check():
        yield from wait(SETTLE + 2)
        assert not (yield bench.dut.clocked) and not (yield bench.dut.busy)
        bench.clocked = 0
        yield from wait(100)
        assert bench.clocked == 0

    bench.run(check())


@each_seed(4)
def test_a_hold_of_one_cycle_begins_the_check_anew(seed):
    """A hold that is set and cleared in the middle of a check ends it: the image that was put in
    meanwhile is checked from its first word on.

    The hold comes at any moment of the check. Without the new check its CRC would be that of a
    half-old image, and a good one would not start.
    """
    rng = random.Random(seed)
    bench = Bench(image(400, rng), seed)

    def check():
        yield from wait(rng.randrange(2, 100 * 18))
        assert (yield from bench.state()) == "checking"
        yield bench.dut.hold.eq(1)
        yield
        bench.memory[:400] = image(400, rng)
        yield bench.dut.hold.eq(0)
        yield
        assert (yield from bench.state()) == "held"
        assert (yield from bench.decide()) == "running"

    bench.run(check())


@each_seed(2)
def test_a_held_starter_leaves_the_check_at_once(seed):
    """While the check is under way `hold` opens the image within two cycles, so no write of the
    host is lost in it."""
    rng = random.Random(seed)
    bench = Bench(image(400, rng), seed)

    def check():
        yield from wait(rng.randrange(2, 100 * 18))
        yield bench.dut.hold.eq(1)
        yield from wait(2)
        assert (yield from bench.state()) == "held" and (yield bench.dut.failures) == 0

    bench.run(check())
