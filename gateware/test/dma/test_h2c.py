# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Tests of dma/h2c.py, the engine that reads host memory: data comes in order, and no descriptor
counts before its data has come.
"""

import random

import pytest
from migen import passive

from gateware import numbers
from gateware.dma import h2c
from gateware.dma.descriptors import BEAT_BYTES
from gateware.test.dma.dma_bench import memory_byte
from gateware.test.dma.h2c_bench import MRRS, STORE, Bench, ByteHost, beats_of, ends, until
from tools.testing.seeds import each_seed
from tools.testing.stream_model import simulate

pytestmark = pytest.mark.model


@each_seed(5)
def test_any_bytes_come_from_any_address(seed):
    """Each h2c descriptor gives the user the bytes at its address, in order.

    It starts in a new beat of the stream, and no byte outside its buffer is read.
    """
    rng = random.Random(seed)
    bench = Bench(seed, latency=rng.choice([5, 90]), density=rng.choice([0.5, 1.0]))
    bench.host = ByteHost(bench.port, rng, bench.host.latency)
    lengths = [1, 2, 3, 4, 5, 31, 32, 33, 64, 480, 481, 508, 511, 512, 513, 1030]
    descriptors = [(n << 33 | rng.randrange(4096), rng.choice(lengths), True) for n in range(12)]
    print(descriptors)

    def main():
        yield from bench.write("enable", 1)
        yield from bench.program(descriptors)
        while (yield from bench.status()) < len(descriptors):
            yield
        yield from until(lambda: len(bench.taken) == beats)

    beats = sum(-(-length // BEAT_BYTES) for _, length, _ in descriptors)
    simulate(
        bench.bank,
        [main(), bench.host.accept(), bench.host.answer(), bench.user(), bench.count_interrupts()],
    )
    wanted = [address + n for address, length, _ in descriptors for n in range(length)]
    assert bench.host.bytes == wanted
    at = 0
    for address, length, _ in descriptors:
        count = -(-length // BEAT_BYTES)
        taken = bench.taken[at : at + count]
        raw = b"".join(data.to_bytes(BEAT_BYTES, "little") for data, _ in taken)
        assert raw[:length] == bytes(memory_byte(address + n) for n in range(length))
        assert [first for _, first in taken] == [1, *[0] * (count - 1)]
        at += count
    assert bench.interrupts == len(descriptors)


@pytest.mark.parametrize("mrrs, requests", [(128, 8), (256, 4), (512, 2), (4096, 2)])
def test_a_request_is_no_longer_than_the_host_allows(mrrs, requests):
    """A read request of h2c has at most MRRS bytes, and never more than 512."""
    bench = Bench(0, latency=10, mrrs=mrrs)

    def main():
        for _ in range(4):
            yield
        yield from bench.program([(0x1000, 1024, True)])
        yield from bench.write("enable", 1)
        yield from bench.reach(1)

    simulate(bench.bank, [main(), bench.host.accept(), bench.host.answer(), bench.user()])
    assert bench.host.lengths == [1024 // 4 // requests] * requests


def test_a_small_request_is_made_in_each_cycle():
    """h2c descriptors of one beat give a read request in each cycle, until the engine's store is
    full.
    """
    bench = Bench(0, latency=20)
    bench.host.ready = 1.0
    asked = []

    @passive
    def watch():
        while True:
            if (yield bench.port.source.valid) and (yield bench.port.source.ready):
                asked.append(bench.host.now)
            yield

    def main():
        yield from bench.program([(64 * n, 32, False) for n in range(60)])
        yield from bench.write("enable", 1)
        yield from bench.reach(60)

    simulate(bench.bank, [main(), bench.host.accept(), bench.host.answer(), bench.user(), watch()])
    assert asked[-1] - asked[0] == len(asked) - 1 == 59


@each_seed(3)
def test_a_descriptor_counts_when_its_data_is_here(seed):
    """All h2c data comes in order.

    A descriptor counts and interrupts only after its last beat has come.
    """
    rng = random.Random(seed)
    bench = Bench(seed, latency=rng.choice([40, 300]), density=rng.choice([0.4, 1.0]))
    descriptors = [
        (0x1_0000_0000 * n, 4 * rng.choice([1, 2, 8, 9, 63, 128, 129, 300]), rng.random() < 0.5)
        for n in range(12)
    ]

    def main():
        yield from bench.program(descriptors)
        yield from bench.write("enable", 1)
        while (yield from bench.status()) < len(descriptors):
            yield
        yield from until(lambda: len(bench.taken) == bench.host.given)

    bench.run(main(), ends(descriptors))
    wanted = [
        (address + start + BEAT_BYTES * beat, start + beat == 0)
        for address, length, _ in descriptors
        for start in range(0, length, MRRS)
        for beat in range(-(-min(MRRS, length - start) // BEAT_BYTES))
    ]
    assert bench.taken == wanted
    assert bench.interrupts == sum(irq for _, _, irq in descriptors)


def test_a_round_trip_is_filled():
    """Over a long round trip, h2c's reads in flight ask for all that its store can hold, and not
    more.
    """
    bench = Bench(0, latency=400)
    descriptors = [(2048 * n, 2048, False) for n in range(6)]

    def main():
        yield from bench.program(descriptors)
        yield from bench.write("enable", 1)
        yield from until(lambda: bench.host.given == 6 * 2048 // BEAT_BYTES)

    bench.run(main(), ends(descriptors))
    assert STORE - 2 * MRRS <= BEAT_BYTES * bench.host.most <= STORE


def test_small_requests_in_flight_are_limited(monkeypatch):
    """MOST_REQUESTS limits h2c's read requests in flight, even if the store has room for more."""
    most = 64
    monkeypatch.setattr(h2c, "MOST_REQUESTS", most)
    count = most + 60
    bench = Bench(0, latency=150, store=BEAT_BYTES * 2 * most)
    descriptors = [(64 * n, 32, False) for n in range(count)]
    bench.host.ready = 1.0

    def main():
        yield from bench.program(descriptors)
        yield from bench.write("enable", 1)
        yield from until(lambda: bench.host.given)
        yield from bench.reach(count)
        yield from until(lambda: len(bench.taken) == count)

    bench.run(main(), ends(descriptors))
    assert bench.host.most == most
    assert bench.taken == [(address, 1) for address, *_ in descriptors]


def test_a_descriptor_may_have_as_many_bytes_as_its_length_says():
    """The longest h2c descriptor, of 2^24 - 1 bytes, is cut into requests that read each
    byte once.
    """
    bench = Bench(0, latency=10)
    length = 2**24 - 1
    seen = []

    @passive
    def watch():
        cutter = bench.dut.cutter
        while True:
            if (yield cutter.source.valid) and (yield cutter.source.ready):
                seen.append(((yield cutter.source.address), (yield cutter.source.left)))
            yield

    def main():
        yield from bench.program([(0, length, False)])
        yield from bench.write("enable", 1)
        yield from until(lambda: len(seen) == 8)

    simulate(bench.bank, [main(), bench.host.accept(), bench.host.answer(), bench.user(), watch()])
    assert seen[:8] == [(MRRS * n, length - MRRS * n) for n in range(8)]


def test_a_user_that_takes_nothing_holds_up_nobody():
    """If the user takes no h2c data, the h2c engine still takes all completions into its store."""
    bench = Bench(0, latency=30, density=0)
    descriptors = [(2048 * n, 2048, False) for n in range(4)]

    def main():
        yield from bench.program(descriptors)
        yield from bench.write("enable", 1)
        for _ in range(600):
            yield

    bench.run(main(), ends(descriptors))
    assert bench.host.asked == bench.host.given >= (STORE - 2 * MRRS) // BEAT_BYTES


def test_it_says_when_the_user_has_taken_all():
    """Bit 2 of h2c's register `enable` is set when the user has taken all data; descriptors count
    earlier.
    """
    bench = Bench(0, latency=30, density=0)
    descriptors = [(0, 1024, False), (4096, 32, False)]

    def untaken():
        return not (yield from bench.bank.read("enable")) & 4

    def main():
        yield from bench.program(descriptors)
        yield from bench.write("enable", 1)
        yield from bench.reach(2)
        assert (yield from bench.at_rest()) and (yield from untaken())
        bench.density = 1
        while (yield from untaken()):
            yield
        assert len(bench.taken) == 1024 // BEAT_BYTES + 1

    bench.run(main(), ends(descriptors))


@each_seed(1)
@pytest.mark.parametrize("length", [0, 1, 4, 33, 36, 508])
def test_room_comes_back_whatever_the_length(length, seed):
    """h2c descriptors that end inside a beat give back all the room that they took in the store.

    A request claims room in whole beats, even if its descriptor ends inside a dword. If it gave
    back less than it claimed, the store would fill up and the engine would stop for ever. The test
    moves twice the store's size to see that.
    """
    print(f"seed {seed}")
    bench = Bench(seed, latency=40, density=random.Random(seed).choice([0.6, 1.0]))
    count = 2 * STORE // (BEAT_BYTES * beats_of(length)) + 3
    descriptors = [(0x1000 * n, length, False) for n in range(count)]

    def main():
        yield from bench.write("enable", 1)
        for start in range(0, count, numbers.DMA_TABLE_DEPTH // 2):
            yield from bench.program(descriptors[start : start + numbers.DMA_TABLE_DEPTH // 2])
            yield from bench.reach(min(count, start + numbers.DMA_TABLE_DEPTH // 2))
        yield from until(lambda: len(bench.taken) == bench.host.given)
        for _ in range(4):
            yield
        assert (yield bench.dut.claimed) == 0

    bench.run(main(), ends(descriptors))
    assert bench.host.given == count * beats_of(length)


@pytest.mark.parametrize("length, dwords", [(0, 1), (1, 1), (6, 2), (512, 128)])
def test_a_request_has_at_least_one_dword(length, dwords):
    """An h2c request's length is rounded up to whole dwords, and is at least one dword.

    A length of 0 in LitePCIe's request would mean 1024 dwords.
    """
    bench = Bench(0, latency=10)

    def main():
        yield from bench.program([(0x1000, length, True)])
        yield from bench.write("enable", 1)
        while (yield from bench.status()) < 1:
            yield

    bench.run(main(), [1])
    assert bench.host.lengths == [dwords]
