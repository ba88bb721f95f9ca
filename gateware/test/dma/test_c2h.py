# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Tests of dma/c2h.py: the c2h engine writes the user's stream to the buffers of its descriptors.

The engine's writes are compared byte by byte with a model of host memory. test_c2h_packets.py has
the streams with packets in them.
"""

import random

import pytest
from migen import passive

from gateware.dma.descriptors import BEAT_BYTES
from gateware.test.dma.c2h_bench import (
    DMA_TABLE,
    PIECE,
    Bench,
    beats_of,
    filled,
    random_beats,
)
from tools.testing.seeds import each_seed

pytestmark = pytest.mark.model


@each_seed(6)
def test_any_bytes_go_to_any_address(seed):
    """With random stalls, c2h writes every byte of the stream to its address, and no other byte.

    A descriptor of length 0 writes nothing, and still counts as done.
    """
    rng = random.Random(seed)
    bench = Bench(seed, rng.choice([0.3, 0.8, 1.0]), rng.choice([0.3, 1.0]))
    lengths = [0, 1, 2, 3, 4, 5, 31, 32, 33, 64, 508, 511, 512, 513, 1024, 1030, 1500]
    descriptors = [
        (n << 33 | rng.randrange(0, 4096), rng.choice(lengths), rng.random() < 0.5)
        for n in range(14)
    ]
    print(descriptors)
    beats = random_beats(rng, sum(beats_of(length) for _, length, _ in descriptors) + 5)

    def main():
        yield from bench.write("enable", 1)
        yield from bench.program(descriptors)
        yield from bench.finish(len(descriptors))

    bench.run(main(), beats)
    assert bench.memory == filled(descriptors, beats)
    assert bench.interrupts == sum(irq for _, _, irq in descriptors)
    assert bench.taken == len(beats) - 5


@each_seed(2)
@pytest.mark.parametrize("offset", [0, 1, 2, 3])
@pytest.mark.parametrize("length", [512, 2048])
def test_a_request_has_512_bytes_at_most(length, offset, seed):
    """A write request of c2h has at most 512 bytes.

    At an unaligned address two requests share a dword. Both write their part of it, and that must
    not need a third request.
    """
    bench = Bench(seed)
    beats = random_beats(bench.rng, beats_of(length))

    def main():
        yield from bench.program([(0x1000 + offset, length, False)])
        yield from bench.write("enable", 1)
        yield from bench.finish(1)

    bench.run(main(), beats)
    assert bench.memory == filled([(0x1000 + offset, length)], beats)
    assert len(bench.ends) == -(-length // (PIECE if offset == 0 else PIECE - BEAT_BYTES))


@pytest.mark.parametrize("below", [512, 700])
def test_a_descriptor_may_cross_4_gib(below):
    """If a c2h buffer crosses a 4 GiB boundary, the engine increments the upper half of the address
    there.
    """
    bench = Bench(1)
    descriptor = ((8 << 32) - below, 1500, True)
    beats = random_beats(bench.rng, beats_of(1500))

    def main():
        yield from bench.program([descriptor])
        yield from bench.write("enable", 1)
        yield from bench.finish(1)

    bench.run(main(), beats)
    assert bench.memory == filled([descriptor], beats)


@pytest.mark.parametrize("length", [4, 32, 33, 64, 96, 256, 512, 544, 4096])
def test_there_is_no_gap_between_descriptors(length):
    """c2h's descriptors of any size follow each other without a gap: there is a beat in
    each cycle.
    """
    bench = Bench(1)
    count = max(4, 4096 // length)
    descriptors = [(0x1_0000 * n, length, False) for n in range(count)]

    def main():
        yield from bench.program(descriptors[:DMA_TABLE])
        yield from bench.write("enable", 1)
        yield from bench.finish(min(count, DMA_TABLE))

    used = descriptors[:DMA_TABLE]
    bench.run(main(), random_beats(bench.rng, len(used) * beats_of(length)))
    assert len(bench.beats) == len(used) * beats_of(length)
    assert bench.beats[-1] - bench.beats[0] == len(bench.beats) - 1


@each_seed(3)
def test_a_descriptor_counts_when_its_data_was_handed_over(seed):
    """A c2h descriptor counts, and raises its interrupt, only after the endpoint has taken the
    descriptor's last beat.
    """
    rng = random.Random(seed)
    bench = Bench(seed, 0.5, 0.7)
    descriptors = [(n << 33, rng.choice([4, 64, 512, 1300]), True) for n in range(12)]
    bounds = [sum(length for _, length, _ in descriptors[: n + 1]) for n in range(len(descriptors))]

    @passive
    def watch():
        while True:
            shown = (yield bench.dut.table.settled) & 0xFFFF
            if shown:
                assert len(bench.memory) >= bounds[shown - 1], f"{shown} counts too early"
            if bench.interrupts:
                assert len(bench.memory) >= bounds[bench.interrupts - 1]
            yield

    def main():
        yield from bench.program(descriptors)
        yield from bench.write("enable", 1)
        yield from bench.finish(len(descriptors))

    beats = random_beats(rng, sum(beats_of(length) for _, length, _ in descriptors))
    bench.run(main(), beats, watch())
    assert bench.interrupts == len(descriptors)


def test_the_loop_status_is_litepcies():
    """In a looped c2h table, index and count of the status are one less than the descriptors done,
    as in LitePCIe.
    """
    bench = Bench(1, density=0.2)
    main, seen = bench.follow_loop(0x10_0000, 512, 8, bench.memory.clear)
    bench.run(main, random_beats(bench.rng, 400))
    assert seen == [0x0, 0x1, 0x2, 0x10000, 0x10001, 0x10002, 0x20000, 0x20001]


def test_a_write_waits_for_all_of_its_data():
    """c2h offers a write request only when all of its data is there.

    So a pause in the stream does not block the other ports of the endpoint.
    """
    bench = Bench(3)
    length = 3 * BEAT_BYTES

    def main():
        yield from bench.program([(0, length, True)])
        yield from bench.write("enable", 1)
        for _ in range(100):
            yield
        assert bench.taken == 2 and not bench.beats
        assert not (yield bench.port.source.valid)

    bench.run(main(), random_beats(bench.rng, 2))


@pytest.mark.parametrize("length", [0, 1, 32, 40])
def test_an_endpoint_that_takes_nothing_costs_no_descriptor(length):
    """While the endpoint takes nothing, small c2h descriptors wait inside the engine and none is
    lost.

    When the endpoint goes on, all of them are written and counted.
    """
    bench = Bench(1, ready=0.0)
    descriptors = [(0, 8, True), *((n << 33, length, True) for n in range(1, 40))]
    beats = random_beats(bench.rng, sum(beats_of(length) for _, length, _ in descriptors))

    def main():
        yield from bench.program(descriptors)
        yield from bench.write("enable", 1)
        for _ in range(150):
            yield
        assert not bench.beats and (yield from bench.status()) == 0
        bench.ready = 1.0
        for _ in range(300):
            yield
        assert (yield from bench.status()) == len(descriptors)

    bench.run(main(), beats)
    assert bench.memory == filled(descriptors, beats)
    assert bench.interrupts == len(descriptors)


def test_a_new_run_loses_nothing_of_the_stream():
    """A new c2h run that is enabled during a write of the old run loses nothing of the stream.

    The engine takes no beat until the old write has ended.
    """
    bench = Bench(1, ready=0.0)
    before = []

    def main():
        yield from bench.program([(0, 512, True)])
        yield from bench.write("enable", 1)
        while not (yield bench.port.source.valid):
            yield
        yield from bench.write("enable", 0)
        yield from bench.write("table_reset", 1)
        yield from bench.program([(1 << 33, 64, True)])
        yield from bench.write("enable", 1)
        yield
        before.append(bench.taken)
        for _ in range(60):
            yield
        assert not (yield bench.dut.run) and bench.taken == before[0]
        bench.ready = 1.0
        yield from bench.finish(1)

    bench.run(main(), [(n, 0) for n in range(3000)])
    assert bench.memory[1 << 33] | bench.memory[(1 << 33) + 1] << 8 == before[0]
    assert bench.interrupts == 1


@each_seed(12)
def test_a_stopped_run_leaves_nothing_to_the_next(seed):
    """If the c2h engine is stopped, it finishes the write that it has begun.

    It writes and counts nothing else.
    """
    rng = random.Random(seed)
    bench = Bench(seed, rng.choice([0.1, 0.5, 1.0]), rng.choice([0.3, 1.0]))
    first = [(n << 33, rng.choice([64, 512, 1500]), True) for n in range(8)]
    other = [(0x5000_0000_0000 + (n << 33), 96, True) for n in range(4)]

    def main():
        yield from bench.program(first)
        yield from bench.write("enable", 1)
        for _ in range(rng.randrange(5, 160)):
            yield
        yield from bench.write("enable", 0)
        bench.interrupts = 0
        yield from bench.write("table_reset", 1)
        assert (yield from bench.status()) == 0
        while not (yield from bench.at_rest()):
            yield
        assert not bench.inside
        beats, taken = len(bench.beats), bench.taken
        for _ in range(60):
            yield
        assert len(bench.beats) == beats, "the engine writes although it is at rest"
        assert bench.taken > taken, "the stream was held up at rest, not dropped"
        assert bench.interrupts == 0 and (yield from bench.status()) == 0
        bench.memory.clear()
        yield from bench.program(other)
        yield from bench.write("enable", 1)
        yield from bench.finish(len(other))
        assert (yield from bench.status()) == len(other)

    bench.run(main(), [(n, 0) for n in range(3000)])
    assert bench.interrupts == len(other)
    assert sorted(bench.memory) == sorted(
        address + n for address, length, _ in other for n in range(length)
    )
    data = [bench.memory[address] | bench.memory[address + 1] << 8 for address, *_ in other]
    assert [b - a for a, b in zip(data, data[1:])] == [3] * 3, "data is missing or out of order"


@each_seed(3)
def test_what_was_taken_out_before_a_reset_of_the_table_does_not_count(seed):
    """c2h descriptors that the engine took before the table's reset do not count after it.

    LitePCIe's software resets the table before each run.
    """
    bench = Bench(seed, ready=0.2)

    def main():
        yield from bench.program([(n << 33, 512, True) for n in range(6)])
        yield from bench.write("enable", 1)
        while not bench.beats:
            yield
        yield from bench.write("table_reset", 1)
        bench.interrupts = 0
        for _ in range(500):
            yield
        assert (yield from bench.status()) == 0 and bench.interrupts == 0
        yield from bench.program([(0x7000_0000_0000, 64, True)])
        yield from bench.finish(1)
        assert bench.interrupts == 1

    bench.run(main(), [(n, 0) for n in range(3000)])
