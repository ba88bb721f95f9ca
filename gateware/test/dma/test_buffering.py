# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Tests of dma/buffering.py: the buffers of both directions, and what their registers do."""

import random

import pytest

from gateware.dma.buffering import Buffering
from gateware.numbers import DATA_WIDTH
from gateware.test.dma.whole_stream import Whole, beats_of, partners
from tools.testing.csr_model import CsrBench
from tools.testing.seeds import each_seed
from tools.testing.stream_model import simulate, wait

pytestmark = pytest.mark.model

BEAT_BYTES = DATA_WIDTH // 8
BEATS = 8
SIZE = BEATS * BEAT_BYTES
EXTREME = 1 << 31  # Bit of a FIFO's control register: the status is an extreme level.

# For each direction: the streams and the registers, which have LitePCIe's names.
H2C = ("sink", "next_source", "reader_fifo")
C2H = ("next_sink", "source", "writer_fifo")
each_way = pytest.mark.parametrize("way", [H2C, C2H], ids=["h2c", "c2h"])


class Bench(CsrBench):
    """The buffers with the streams of one direction, into which beats are pushed and pulled."""

    def __init__(self, way):
        super().__init__(Buffering(SIZE))
        sink, source, self.registers = way
        self.sink = Whole(getattr(self.dut, sink), driven=True)
        self.source = Whole(getattr(self.dut, source), driven=False)
        self.buffer = self.dut.h2c if way is H2C else self.dut.c2h

    def push(self, cycles):
        """Offer a beat to the buffer for this many cycles. Return how many beats were taken."""
        taken = 0
        yield self.sink.valid.eq(1)
        yield
        for cycle in range(cycles):
            taken += yield self.sink.ready
            if cycle == cycles - 1:
                yield self.sink.valid.eq(0)
            yield
        yield from wait(3)
        return taken

    def pull(self, cycles):
        """Take beats from the buffer for this many cycles. Return how many there were."""
        taken = 0
        yield self.source.ready.eq(1)
        yield
        for cycle in range(cycles):
            taken += yield self.source.valid
            if cycle == cycles - 1:
                yield self.source.ready.eq(0)
            yield
        yield from wait(3)
        return taken

    def level(self):
        return self.read(f"{self.registers}_status")

    def control(self, value):
        return self.write(f"{self.registers}_control", value)

    def clear(self):
        return self.write(f"{self.registers}_status", 0)


@each_seed(3)
def test_beats_pass_unchanged_in_order(seed):
    """The buffers of both directions give all fields of each beat, in order, with random stalls on
    all sides.
    """
    rng = random.Random(seed)
    bench = CsrBench(Buffering(SIZE))
    ends = {
        name: Whole(getattr(bench.dut, name), name.endswith("sink"))
        for name in ("sink", "next_source", "next_sink", "source")
    }
    bench.submodules += ends.values()
    h2c, c2h = (beats_of(ends["sink"], rng, 100) for _ in range(2))
    h2c_taken, c2h_taken = [], []
    simulate(
        bench,
        [
            *partners(ends["sink"], ends["next_source"], h2c, h2c_taken, rng),
            *partners(ends["next_sink"], ends["source"], c2h, c2h_taken, rng),
        ],
    )
    assert h2c_taken == h2c
    assert c2h_taken == c2h


@each_way
def test_a_beat_passes_in_every_cycle(way):
    """Without stalls a buffer passes 100 beats in at most 110 cycles."""
    bench, rng = Bench(way), random.Random(0)  # Without stalls the generator decides nothing.
    taken, cycles = [], []

    def count():
        while len(taken) < 100:
            cycles.append(1)
            yield

    beats = list(range(100))
    ends = partners(bench.sink, bench.source, beats, taken, rng, stalls=False)
    simulate(bench, [*ends, count()])
    assert taken == beats and len(cycles) <= 110


@each_way
@pytest.mark.parametrize("beats", [0, 1, 3, BEATS])
def test_a_buffer_takes_no_more_bytes_than_software_allows(way, beats):
    """A buffer takes as many beats as the bytes in its control register are, and then none.

    It takes the next one when one has left. Bytes that are no whole beat do not count.
    """
    bench = Bench(way)

    def run():
        yield from bench.control(beats * BEAT_BYTES + BEAT_BYTES // 2)
        assert (yield from bench.push(3 * BEATS)) == beats
        assert (yield from bench.level()) == beats * BEAT_BYTES
        if beats:
            assert (yield from bench.pull(1)) == 1
            assert (yield from bench.push(3 * BEATS)) == 1

    simulate(bench, [run()])


@each_way
def test_after_a_reset_the_whole_buffer_is_used(way):
    """Without a write to its control register a buffer takes all its bytes, and counts them."""
    bench = Bench(way)

    def run():
        assert (yield from bench.read(f"{bench.registers}_control")) == SIZE
        assert (yield from bench.push(3 * BEATS)) == BEATS
        assert (yield from bench.level()) == SIZE
        assert (yield from bench.pull(3 * BEATS)) == BEATS
        assert (yield from bench.level()) == 0

    simulate(bench, [run()])


@each_way
def test_a_buffer_says_while_it_holds_data(way):
    """A buffer's signal `held` is high exactly while a beat is in the buffer, also if the buffer is
    limited to one beat.
    """
    bench = Bench(way)

    def run():
        assert not (yield bench.buffer.held)
        yield from bench.control(BEAT_BYTES)
        yield from bench.push(3)
        assert (yield bench.buffer.held)
        yield from bench.pull(1)
        assert not (yield bench.buffer.held)

    simulate(bench, [run()])


def test_the_lowest_level_of_h2c_is_kept_until_software_clears_it():
    """With level_mode 1, h2c's status is the lowest fill level since the last write to it."""
    bench = Bench(H2C)

    def run():
        yield from bench.push(5)
        yield from bench.control(EXTREME | SIZE)
        yield from bench.pull(3)
        yield from bench.push(4)
        assert (yield from bench.level()) == 2 * BEAT_BYTES
        yield from bench.clear()
        yield from wait(2)
        assert (yield from bench.level()) == 6 * BEAT_BYTES
        yield from bench.control(SIZE)
        assert (yield from bench.level()) == 6 * BEAT_BYTES

    simulate(bench, [run()])


def test_the_highest_level_of_c2h_is_kept_until_software_clears_it():
    """With level_mode 1, c2h's status is the highest fill level since the last write to it."""
    bench = Bench(C2H)

    def run():
        yield from bench.control(EXTREME | SIZE)
        yield from bench.push(5)
        yield from bench.pull(3)
        assert (yield from bench.level()) == 5 * BEAT_BYTES
        yield from bench.clear()
        yield from wait(2)
        assert (yield from bench.level()) == 2 * BEAT_BYTES
        yield from bench.control(SIZE)
        yield from bench.pull(1)
        assert (yield from bench.level()) == BEAT_BYTES

    simulate(bench, [run()])


def test_what_was_seen_in_one_mode_is_forgotten_in_the_other():
    """A level from before the mode was selected does not count as the highest one."""
    bench = Bench(C2H)

    def run():
        yield from bench.push(BEATS)
        yield from bench.pull(BEATS - 1)
        yield from bench.control(EXTREME | SIZE)
        yield from wait(2)
        assert (yield from bench.level()) == BEAT_BYTES

    simulate(bench, [run()])


def test_the_directions_have_registers_of_their_own():
    """The FIFO limit of one DMA direction and data in it change nothing in the other direction."""
    bench = Bench(H2C)

    def run():
        yield from bench.write("writer_fifo_control", 0)
        assert (yield from bench.push(4)) == 4
        assert (yield from bench.read("writer_fifo_status")) == 0
        assert not (yield bench.dut.c2h.held)

    simulate(bench, [run()])
