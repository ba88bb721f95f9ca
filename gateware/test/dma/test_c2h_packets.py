# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Tests of packets and messages in dma/c2h.py: they end a c2h descriptor before its buffer is full,
and so does a time without data.
"""

import random

import pytest
from migen import passive

from gateware.dma.descriptors import BEAT_BYTES
from gateware.test.dma.c2h_bench import (
    Bench,
    beats_of,
    filled,
    packet,
    packets_in,
    random_beats,
)
from gateware.test.dma.dma_bench import LAST_DISABLE
from tools.testing.seeds import each_seed

pytestmark = pytest.mark.model


@each_seed(3)
def test_a_message_ends_its_descriptor(seed):
    """`last` of the c2h stream ends the descriptor, in whichever write request it comes.

    The next beat begins the next descriptor.
    """
    rng = random.Random(seed)
    bench = Bench(seed, rng.choice([0.5, 1.0]), rng.choice([0.5, 1.0]))
    messages = [rng.choice([1, 2, 3, 15, 16, 17, 18, 32, 40, 64]) for _ in range(12)]
    length = 64 * BEAT_BYTES
    beats = []
    for size in messages:
        beats += [*random_beats(rng, size - 1), (rng.getrandbits(256), 1)]
    descriptors = [(n << 33, length, True) for n in range(len(messages))]

    def main():
        yield from bench.program(descriptors)
        yield from bench.write("enable", 1)
        yield from bench.finish(len(messages))

    bench.run(main(), beats)
    sizes = [(address, BEAT_BYTES * size) for (address, *_), size in zip(descriptors, messages)]
    assert bench.memory == filled(sizes, beats)
    assert bench.interrupts == len(messages)


@each_seed(3)
@pytest.mark.parametrize("offset", [0, 3])
def test_a_message_writes_no_byte_beyond_its_descriptor(offset, seed):
    """If the stream's `last` is on the beat that fills a c2h buffer, only the bytes that fit are
    written.

    If `last` comes earlier, the descriptor ends after that whole beat.
    """
    rng = random.Random(seed)
    bench = Bench(seed, rng.choice([0.5, 1.0]), rng.choice([0.5, 1.0]))
    lengths = [1, 33, 100, 479, 481, 511, 512, 513, 1021, 1500]
    rng.shuffle(lengths)
    descriptors = [(n << 33 | offset, length, True) for n, length in enumerate(lengths)]
    beats, sizes = [], []
    for address, length, _ in descriptors:
        count = rng.choice([beats_of(length), rng.randint(1, beats_of(length))])
        beats += [*random_beats(rng, count - 1), (rng.getrandbits(256), 1)]
        sizes.append((address, min(length, BEAT_BYTES * count)))
    print(sizes)

    def main():
        yield from bench.program(descriptors)
        yield from bench.write("enable", 1)
        yield from bench.finish(len(descriptors))

    bench.run(main(), beats)
    assert bench.memory == filled(sizes, beats)
    assert bench.interrupts == len(descriptors)


@pytest.mark.parametrize("offset", [0, 1, 2, 3])
@pytest.mark.parametrize("first", range(1, 2 * 64 + 3, 26))
@each_seed(1)
def test_a_packet_ends_at_its_last_byte(first, offset, seed):
    """A c2h packet of any size writes no byte after its end, at every offset of the buffer in a
    dword.

    The sizes are up to two buffers of 64 bytes. If a packet is longer than a buffer, it continues
    in the next one.
    """
    rng = random.Random(1000 * seed + first)
    bench = Bench(1000 * seed + first, rng.choice([0.7, 1.0]), rng.choice([0.7, 1.0]))
    packets = [(packet(rng, size), size) for size in range(first, first + 26)]
    buffers = [(n << 33 | 0x1000 + offset, 64, True) for n in range(100)]
    memory, ends = packets_in(buffers, packets)

    def main():
        yield from bench.program(buffers[: len(ends) + 1])
        yield from bench.write("enable", 1)
        yield from bench.finish(len(ends))
        assert (yield from bench.status()) == len(ends)

    bench.run(main(), [beat for beats, _ in packets for beat in beats])
    assert bench.memory == memory
    assert bench.interrupts == len(ends)


@each_seed(8)
def test_packets_of_any_size_go_to_any_address(seed):
    """c2h packets that need several write requests, or cross 4 GiB, are written to the right
    addresses.

    A buffer's length is a multiple of 32, so that a packet continues at a whole beat. The stream's
    `bytes` is ignored if the buffer ends before the packet does.
    """
    rng = random.Random(seed)
    bench = Bench(seed, rng.choice([0.3, 1.0]), rng.choice([0.4, 1.0]))
    sizes = [
        rng.choice([1, 31, 32, 33, 511, 512, 513, 700, rng.randint(1, 1600)]) for _ in range(12)
    ]
    packets = [(packet(rng, size), size) for size in sizes]
    buffers = [
        (
            (n << 34) + rng.choice([0x2000, -700]) + rng.randrange(4),
            rng.choice([32, 64, 480, 512, 544, 1024, 1536]),
            True,
        )
        for n in range(1, 200)
    ]
    print(sizes, buffers)
    memory, ends = packets_in(buffers, packets)

    def main():
        yield from bench.write("enable", 1)
        yield from bench.program(buffers[: len(ends) + 1])
        yield from bench.finish(len(ends))
        assert (yield from bench.status()) == len(ends)

    bench.run(main(), [beat for beats, _ in packets for beat in beats])
    assert bench.memory == memory


# The flush time -----------------------------------------------------------------------------------


@each_seed(6)
@pytest.mark.parametrize("offset", [0, 1])
def test_silence_ends_a_buffer(offset, seed):
    """A c2h buffer with data ends when no beat has come for the flush time. It never ends earlier.

    An empty buffer is not flushed. A beat that is offered in the cycle of the flush goes into the
    buffer.
    """
    rng = random.Random(seed)
    bench = Bench(seed)
    time = rng.randint(5, 12)
    length = rng.choice([96, 544, 1024])
    beats, ends, memory, inside = [], 0, {}, 0
    buffers = [(n << 33 | offset, length, True) for n in range(151)]
    for data, _ in random_beats(rng, 150):
        memory |= {
            buffers[ends][0] + inside + n: byte
            for n, byte in enumerate(data.to_bytes(BEAT_BYTES, "little"))
        }
        inside += BEAT_BYTES
        pause = rng.choice([0, 0, 0, time - 1, time, time, time + 1, time + 1, 3 * time])
        beats += [(data,), pause]
        if inside == length or pause > time:
            ends, inside = ends + 1, 0
    print(time, length, ends)

    def main():
        yield bench.dut.flush_time.eq(time)
        yield from bench.program(buffers)
        yield from bench.write("enable", 1)
        while bench.taken < 150:
            yield
        for _ in range(4 * time):
            yield
        assert (yield from bench.status()) == ends + (inside != 0)
        assert not (yield bench.dut.busy)

    bench.run(main(), [beat if isinstance(beat, int) else (*beat, 0) for beat in beats])
    assert bench.memory == memory


@pytest.mark.parametrize("time", [0, 1, 2, 3, 4])
@pytest.mark.parametrize("beats", [1, 15, 16, 17, 32])
def test_a_flush_where_a_request_ends(beats, time):
    """The flush time ends a c2h buffer that holds whole write requests, or one beat less or more.

    If the data fills whole requests, all of it has been written already; the buffer must still end.
    With a flush time of 0 the buffer never ends.
    """
    bench = Bench(beats)
    data = random_beats(bench.rng, beats)

    def main():
        yield bench.dut.flush_time.eq(time)
        yield from bench.program([(0x1000, 4096, True)])
        yield from bench.write("enable", 1)
        for _ in range(120):
            yield
        assert (yield from bench.status()) == (time != 0)
        assert not (yield bench.dut.busy)

    bench.run(main(), data)
    whole = beats if time else beats // 16 * 16
    assert bench.memory == filled([(0x1000, BEAT_BYTES * whole)], data)
    assert bench.interrupts == (time != 0)


def test_no_flush_ends_what_no_packet_ends():
    """The flush time ends no c2h buffer with `last_disable`, which LitePCIe's software
    always sets.
    """
    bench = Bench(1)

    def main():
        yield bench.dut.flush_time.eq(8)
        yield from bench.program([(0x1000, 4096, True, LAST_DISABLE)])
        yield from bench.write("enable", 1)
        for _ in range(100):
            yield
        assert (yield from bench.status()) == 0 and not (yield bench.dut.busy)

    bench.run(main(), random_beats(bench.rng, 3))
    assert bench.interrupts == 0 and bench.taken == 3


def test_time_passes_until_a_flush():
    """The c2h engine is busy from the last beat until the flushed buffer has been written.

    Simulated time runs only while something is busy, so the flush time would never end otherwise.
    """
    bench = Bench(1)
    seen = []

    @passive
    def watch():
        while True:
            seen.append((yield bench.dut.busy) if bench.taken == 3 else 1)
            if bench.interrupts:
                return
            yield

    def main():
        yield bench.dut.flush_time.eq(40)
        yield from bench.program([(0x1000, 4096, True)])
        yield from bench.write("enable", 1)
        while bench.taken < 3:
            yield
        while (yield bench.dut.busy):
            yield
        assert bench.interrupts == 1 and len(bench.memory) == 3 * BEAT_BYTES

    bench.run(main(), random_beats(bench.rng, 3), watch())
    assert len(seen) > 40 and all(seen[:-1])


def test_messages_follow_each_other_without_a_gap():
    """64-byte messages, each ended by `last` in a 4 KiB buffer, give a c2h write beat in each
    cycle.
    """
    bench = Bench(2)
    messages = 40
    beats = [(n, n % 2) for n in range(2 * messages)]

    def main():
        yield from bench.program([(0x1000 * n, 4096, False) for n in range(messages)])
        yield from bench.write("enable", 1)
        yield from bench.finish(messages)

    bench.run(main(), beats)
    assert bench.beats[-1] - bench.beats[0] == len(beats) - 1


@each_seed(1)
def test_software_can_keep_messages_from_ending_descriptors(seed):
    """If a c2h descriptor has LitePCIe's flag `last_disable`, the stream's `last` does not
    end it.
    """
    bench = Bench(seed)
    beats = [(data, bench.rng.random() < 0.5) for data, _ in random_beats(bench.rng, 3 * 40)]
    descriptors = [(n << 33, 40 * BEAT_BYTES, True, LAST_DISABLE) for n in range(3)]

    def main():
        yield from bench.program(descriptors)
        yield from bench.write("enable", 1)
        yield from bench.finish(3)

    bench.run(main(), beats)
    assert bench.memory == filled(descriptors, beats)
