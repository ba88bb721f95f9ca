# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Tests of dma/c2h.py: the c2h engine writes the user's stream to the buffers of its descriptors.

What the engine writes is compared byte by byte with a model of host memory.
"""

import random
from types import SimpleNamespace

import pytest
from migen import Signal, passive

from gateware import numbers
from gateware.dma.c2h import C2h
from gateware.dma.descriptors import BEAT_BYTES
from gateware.dma.notices import Account
from gateware.endpoint.ports import MasterPort
from gateware.test.dma.dma_bench import LAST_DISABLE, DmaBench, enabled_bytes
from tools.testing.seeds import each_seed
from tools.testing.stream_model import simulate

pytestmark = pytest.mark.model

DMA_TABLE = numbers.DMA_TABLE_DEPTH
PIECE = numbers.LARGEST_PAYLOAD


class Bench(DmaBench):
    """Test bench that puts the c2h engine between a stream and an endpoint.

    `ready` is the share of cycles in which the endpoint takes a beat. `density` is the share of
    cycles in which the stream offers one.
    """

    def __init__(self, seed, ready=1.0, density=1.0):
        self.port = MasterPort(0, writes=True, reads=False)
        phy = SimpleNamespace(id=Signal(16), max_payload_size=Signal(16, reset=PIECE))
        dut = C2h(SimpleNamespace(phy=phy), self.port, Account())
        super().__init__(dut, seed)
        self.ready, self.density = ready, density
        self.now = 0
        self.memory = {}  # Host memory: the bytes that the c2h engine has written, by address.
        # For each write request of the c2h engine: the number of bytes written up to its end.
        self.ends = []
        self.beats = []  # The cycles in which the endpoint took a beat from the c2h engine.
        self.taken = 0  # The number of beats that the c2h engine took from the stream.
        self.inside = False

    @passive
    def endpoint(self):
        """Act as the endpoint at the c2h engine's port: take write requests, check their protocol,
        and store their data.
        """
        source, data = self.port.source, []
        offered = None
        while True:
            now = ((yield source.valid), (yield source.adr), (yield from self.counts(len(data))))
            if offered:
                assert now[0], "a beat was retracted"
                assert now == offered, "an offered beat changed"
            taken = now[0] and (yield source.ready)
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

    def counts(self, beat):
        """Return those bytes of the offered beat, as a number, that belong to the write request.

        Bytes after the request's end may change while the beat is offered.
        """
        source = self.port.source
        behind = 4 * (yield source.len) - BEAT_BYTES * beat
        if (yield source.last_be):
            behind -= 4 - (yield source.last_be).bit_length()
        return (yield source.dat) & (1 << 8 * min(behind, BEAT_BYTES)) - 1

    def store(self, data):
        source = self.port.source
        address = yield source.adr
        dwords = yield source.len
        assert len(data) == -(-dwords // 8), f"{len(data)} beats for {dwords} dwords"
        raw = b"".join(beat.to_bytes(BEAT_BYTES, "little") for beat in data)
        for byte in enabled_bytes(address, dwords, (yield source.first_be), (yield source.last_be)):
            assert byte not in self.memory, f"{byte:#x} was written twice"
            self.memory[byte] = raw[byte - address]
        self.ends.append(len(self.memory))

    @passive
    def stream(self, beats):
        """Offer beats (data, last, bytes, error) one after the other, once the engine runs.

        A number in the list stands for that many cycles without a beat. Missing fields of a beat
        are 0.
        """
        sink = self.dut.sink
        while not (yield self.dut.run):
            yield
        for beat in beats:
            if isinstance(beat, int):
                for _ in range(beat):
                    yield
                continue
            data, last, count, error = (*beat, 0, 0)[:4]
            while self.rng.random() >= self.density:
                yield
            yield sink.valid.eq(1)
            yield sink.data.eq(data)
            yield sink.last.eq(last)
            yield sink.bytes.eq(count)
            yield sink.error.eq(error)
            yield
            while not (yield sink.ready):
                yield
            self.taken += 1
            yield sink.valid.eq(0)

    def run(self, main, beats, *others):
        simulate(
            self.bank, [main, self.endpoint(), self.stream(beats), self.count_interrupts(), *others]
        )

    def finish(self, count):
        while (yield from self.status()) < count:
            yield
        for _ in range(10):
            yield


def beats_of(length):
    return -(-length // BEAT_BYTES)


def random_beats(rng, count):
    return [(rng.getrandbits(numbers.DATA_WIDTH), 0) for _ in range(count)]


def filled(descriptors, beats):
    """Return the expected host memory, as {address: byte}, when all descriptors are done.

    Each descriptor begins with a new beat of the stream.
    """
    memory, at = {}, 0
    for address, length, *_ in descriptors:
        raw = b"".join(
            data.to_bytes(BEAT_BYTES, "little") for data, _ in beats[at : at + beats_of(length)]
        )
        memory.update({address + n: raw[n] for n in range(length)})
        at += beats_of(length)
    return memory


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


def packet(rng, size, error=0):
    """Return the c2h stream's beats (data, last, bytes, error) of a packet of `size` bytes.

    The bytes after the packet's end are random.
    """
    beats = random_beats(rng, beats_of(size))
    count = size % BEAT_BYTES or rng.choice([0, BEAT_BYTES])
    return [*beats[:-1], (beats[-1][0], 1, count, error)]


def packets_in(descriptors, packets):
    """Return the expected host memory, as {address: byte}, and (bytes, last) of each descriptor
    that ends.

    Each packet begins with a new descriptor.
    """
    memory, ends, free = {}, [], iter(descriptors)
    for beats, size in packets:
        raw = b"".join(beat[0].to_bytes(BEAT_BYTES, "little") for beat in beats)
        left = memoryview(raw[:size])
        while len(left):
            address, length, *_ = next(free)
            put = min(len(left), length)
            memory.update({address + n: left[n] for n in range(put)})
            left = left[-(-put // BEAT_BYTES) * BEAT_BYTES :]
            ends.append((put, not len(left)))
    return memory, ends


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


# Flush --------------------------------------------------------------------------------------------


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
    seen = []

    def main():
        yield from bench.write("table_reset", 1)
        yield from bench.program([(0x10_0000 * n, 512, False) for n in range(3)])
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
