# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""dma/c2h.py: a stream fills descriptors, byte by byte as a model of host memory has it."""

import random
from types import SimpleNamespace

import pytest
from dma_bench import LAST_DISABLE, DmaBench, enabled_bytes
from migen import Signal, passive
from seeds import each_seed
from stream_model import simulate

from lanebox import layouts
from lanebox.dma.c2h import C2h
from lanebox.dma.descriptors import BEAT_BYTES
from lanebox.pcie.ports import MasterPort

DMA_TABLE = layouts.DMA_TABLE_DEPTH
PIECE     = layouts.LARGEST_PAYLOAD


class Bench(DmaBench):
    """`ready` and `density`: how often the endpoint takes a beat, and the stream brings one."""

    def __init__(self, seed, ready=1.0, density=1.0):
        self.port = MasterPort(0, writes=True, reads=False)
        dut       = C2h(SimpleNamespace(phy=SimpleNamespace(id=Signal(16))), self.port)
        super().__init__(dut, seed)
        self.ready, self.density = ready, density
        self.now    = 0
        self.memory = {}   # Byte by byte, what was written.
        self.ends   = []   # Per request: bytes written so far.
        self.beats  = []   # Cycles in which the endpoint took one.
        self.taken  = 0    # Beats of the stream.
        self.inside = False

    @passive
    def endpoint(self):
        """Take requests, look at their shape, and write them to memory."""
        source, data = self.port.source, []
        offered = None
        while True:
            now = ((yield source.valid), (yield source.adr), (yield source.dat))
            if offered:
                assert now[0], "a beat was retracted"
                assert now == offered, "an offered beat changed"
            taken   = now[0] and (yield source.ready)
            offered = now if now[0] and not taken else None
            if taken:
                assert (yield source.we) and (yield source.with_be)
                assert (yield source.first) == (not data)
                data.append((yield source.dat))
                self.beats.append(self.now)
                self.inside = not (yield source.last)
                if not self.inside:
                    yield from self.store(data)
                    data = []
            yield source.ready.eq(self.rng.random() < self.ready)
            self.now += 1
            yield

    def store(self, data):
        source  = self.port.source
        address = (yield source.adr)
        dwords  = (yield source.len)
        assert len(data) == -(-dwords//8), f"{len(data)} beats for {dwords} dwords"
        raw = b"".join(beat.to_bytes(BEAT_BYTES, "little") for beat in data)
        for byte in enabled_bytes(address, dwords, (yield source.first_be), (yield source.last_be)):
            assert byte not in self.memory, f"{byte:#x} was written twice"
            self.memory[byte] = raw[byte - address]
        self.ends.append(len(self.memory))

    @passive
    def stream(self, beats):
        """Bring (data, last) one after the other, once the engine runs; then nothing."""
        sink = self.dut.sink
        while not (yield self.dut.run):
            yield
        for data, last in beats:
            while self.rng.random() >= self.density:
                yield
            yield sink.valid.eq(1)
            yield sink.data.eq(data)
            yield sink.last.eq(last)
            yield
            while not (yield sink.ready):
                yield
            self.taken += 1
            yield sink.valid.eq(0)

    def run(self, main, beats, *others):
        simulate(self.bank, [main, self.endpoint(), self.stream(beats), self.count_interrupts(),
            *others])

    def finish(self, count):
        while (yield from self.status()) < count:
            yield
        for _ in range(10):
            yield


def beats_of(length):
    return -(-length//BEAT_BYTES)


def random_beats(rng, count):
    return [(rng.getrandbits(layouts.DATA_WIDTH), 0) for _ in range(count)]


def filled(descriptors, beats):
    """What memory holds when the descriptors are done: each begins on a beat of its own."""
    memory, at = {}, 0
    for address, length, *_ in descriptors:
        raw = b"".join(data.to_bytes(BEAT_BYTES, "little")
            for data, _ in beats[at:at + beats_of(length)])
        memory.update({address + n: raw[n] for n in range(length)})
        at += beats_of(length)
    return memory


@each_seed(6)
def test_any_bytes_go_to_any_address(seed):
    """Every byte of the stream to its place, no other byte written, whatever pauses.

    A descriptor of no bytes writes nothing and counts.
    """
    rng   = random.Random(seed)
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
    """A dword that two requests share costs no request of its own."""
    bench = Bench(seed)
    beats = random_beats(bench.rng, beats_of(length))

    def main():
        yield from bench.program([(0x1000 + offset, length, False)])
        yield from bench.write("enable", 1)
        yield from bench.finish(1)

    bench.run(main(), beats)
    assert bench.memory == filled([(0x1000 + offset, length)], beats)
    assert len(bench.ends) == -(-length//(PIECE if offset == 0 else PIECE - BEAT_BYTES))


@pytest.mark.parametrize("below", [512, 700])
def test_a_descriptor_may_cross_4_gib(below):
    """The upper half of a request's address follows the lower one."""
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
    """Whatever their size, each cycle brings a beat of a write, once the first has begun."""
    bench = Bench(1)
    count = max(4, 4096//length)
    descriptors = [(0x1_0000*n, length, False) for n in range(count)]

    def main():
        yield from bench.program(descriptors[:DMA_TABLE])
        yield from bench.write("enable", 1)
        yield from bench.finish(min(count, DMA_TABLE))

    used = descriptors[:DMA_TABLE]
    bench.run(main(), random_beats(bench.rng, len(used)*beats_of(length)))
    assert len(bench.beats) == len(used)*beats_of(length)
    assert bench.beats[-1] - bench.beats[0] == len(bench.beats) - 1


@each_seed(3)
def test_a_message_ends_its_descriptor(seed):
    """`last` ends the descriptor, also in its first piece; the next beat begins the next one."""
    rng      = random.Random(seed)
    bench    = Bench(seed, rng.choice([0.5, 1.0]), rng.choice([0.5, 1.0]))
    messages = [rng.choice([1, 2, 3, 15, 16, 17, 18, 32, 40, 64]) for _ in range(12)]
    length   = 64*BEAT_BYTES
    beats    = []
    for size in messages:
        beats += [*random_beats(rng, size - 1), (rng.getrandbits(256), 1)]
    descriptors = [(n << 33, length, True) for n in range(len(messages))]

    def main():
        yield from bench.program(descriptors)
        yield from bench.write("enable", 1)
        yield from bench.finish(len(messages))

    bench.run(main(), beats)
    sizes = [(address, BEAT_BYTES*size) for (address, *_), size in zip(descriptors, messages)]
    assert bench.memory == filled(sizes, beats)
    assert bench.interrupts == len(messages)


@each_seed(3)
@pytest.mark.parametrize("offset", [0, 3])
def test_a_message_writes_no_byte_beyond_its_descriptor(offset, seed):
    """A `last` on the descriptor's last beat: of that beat only the descriptor's bytes are written.

    An earlier `last` ends the descriptor behind a whole beat.
    """
    rng     = random.Random(seed)
    bench   = Bench(seed, rng.choice([0.5, 1.0]), rng.choice([0.5, 1.0]))
    lengths = [1, 33, 100, 479, 481, 511, 512, 513, 1021, 1500]
    rng.shuffle(lengths)
    descriptors = [(n << 33 | offset, length, True) for n, length in enumerate(lengths)]
    beats, sizes = [], []
    for address, length, _ in descriptors:
        count = rng.choice([beats_of(length), rng.randint(1, beats_of(length))])
        beats += [*random_beats(rng, count - 1), (rng.getrandbits(256), 1)]
        sizes.append((address, min(length, BEAT_BYTES*count)))
    print(sizes)

    def main():
        yield from bench.program(descriptors)
        yield from bench.write("enable", 1)
        yield from bench.finish(len(descriptors))

    bench.run(main(), beats)
    assert bench.memory == filled(sizes, beats)
    assert bench.interrupts == len(descriptors)


def test_messages_follow_each_other_without_a_gap():
    """64 B messages in buffers of 4 KiB: each cycle brings a beat of a write."""
    bench    = Bench(2)
    messages = 40
    beats    = [(n, n % 2) for n in range(2*messages)]

    def main():
        yield from bench.program([(0x1000*n, 4096, False) for n in range(messages)])
        yield from bench.write("enable", 1)
        yield from bench.finish(messages)

    bench.run(main(), beats)
    assert bench.beats[-1] - bench.beats[0] == len(beats) - 1


@each_seed(1)
def test_software_can_keep_messages_from_ending_descriptors(seed):
    """With LitePCIe's last_disable the stream's `last` means nothing."""
    bench = Bench(seed)
    beats = [(data, bench.rng.random() < 0.5) for data, _ in random_beats(bench.rng, 3*40)]
    descriptors = [(n << 33, 40*BEAT_BYTES, True, LAST_DISABLE) for n in range(3)]

    def main():
        yield from bench.program(descriptors)
        yield from bench.write("enable", 1)
        yield from bench.finish(3)

    bench.run(main(), beats)
    assert bench.memory == filled(descriptors, beats)


@each_seed(3)
def test_a_descriptor_counts_when_its_data_was_handed_over(seed):
    """Neither the status nor an interrupt is ahead of the last beat."""
    rng   = random.Random(seed)
    bench = Bench(seed, 0.5, 0.7)
    descriptors = [(n << 33, rng.choice([4, 64, 512, 1300]), True) for n in range(12)]
    bounds = [sum(length for _, length, _ in descriptors[:n + 1]) for n in range(len(descriptors))]

    @passive
    def watch():
        while True:
            shown = (yield bench.dut.table.settled) & 0xffff
            if shown:
                assert len(bench.memory) >= bounds[shown - 1], f"{shown} count too early"
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
    """Going round a table, index and count are those of LitePCIe: one less than what is done."""
    bench = Bench(1, density=0.2)
    seen  = []

    def main():
        yield from bench.write("table_reset", 1)
        yield from bench.program([(0x10_0000*n, 512, False) for n in range(3)])
        yield from bench.write("table_loop_prog_n", 1)
        yield from bench.write("enable", 1)
        while len(seen) < 8:
            status = yield from bench.status()
            if not seen or seen[-1] != status:
                seen.append(status)
                bench.memory.clear()

    bench.run(main(), random_beats(bench.rng, 400))
    assert seen == [0x0, 0x1, 0x2, 0x10000, 0x10001, 0x10002, 0x20000, 0x20001]


def test_a_write_waits_for_all_of_its_data():
    """A stream that pauses inside a descriptor holds up no other port of the endpoint."""
    bench  = Bench(3)
    length = 3*BEAT_BYTES

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
    """While the endpoint takes nothing, small descriptors pile up to what the engine has room for.

    All of them are written, and count, when the endpoint goes on.
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
    """Enabled again before the old write has ended, the engine makes the stream wait."""
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
    """The write that was begun is carried through; nothing else is left, and nothing counts."""
    rng   = random.Random(seed)
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
        assert len(bench.beats) == beats, "it goes on at rest"
        assert bench.taken > taken, "what the stream brings is dropped at rest"
        assert bench.interrupts == 0 and (yield from bench.status()) == 0
        bench.memory.clear()
        yield from bench.program(other)
        yield from bench.write("enable", 1)
        yield from bench.finish(len(other))
        assert (yield from bench.status()) == len(other)

    bench.run(main(), [(n, 0) for n in range(3000)])
    assert bench.interrupts == len(other)
    assert sorted(bench.memory) == sorted(
        address + n for address, length, _ in other for n in range(length))
    data = [bench.memory[address] | bench.memory[address + 1] << 8 for address, *_ in other]
    assert [b - a for a, b in zip(data, data[1:])] == [3]*3, "whole and in order"


@each_seed(3)
def test_what_was_taken_out_before_a_reset_of_the_table_does_not_count(seed):
    """LitePCIe's software empties the table first and switches the engine off later."""
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
