# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Tests of dma/h2c.py, the engine that reads host memory: data comes in order, and no descriptor
counts before its data has come.
"""

import random
from collections import deque
from types import SimpleNamespace

import pytest
from migen import Signal, passive

from gateware import numbers
from gateware.dma import h2c
from gateware.dma.descriptors import BEAT_BYTES
from gateware.dma.h2c import H2c
from gateware.endpoint.ports import MasterPort
from gateware.test.dma.dma_bench import DmaBench, enabled_bytes, memory_byte
from tools.testing.seeds import each_seed
from tools.testing.stream_model import simulate

pytestmark = pytest.mark.model

MRRS = 512
# Bytes in the h2c engine's store in most tests. They are few, so that a test soon fills the store.
STORE = 4096

# The test fails if the status does not change within this many reads of it. They take more than 500
# cycles.
PATIENCE = 200


def beats_of(length):
    """Return the number of beats of all read requests of a descriptor.

    A descriptor of length 0 makes one request of one beat.
    """
    length = max(length, 1)
    return sum(-(-min(MRRS, length - start) // BEAT_BYTES) for start in range(0, length, MRRS))


class Host:
    """Model of the host, which completes the engine's reads in order, each one `latency` cycles
    later.

    The data of each beat is the address that it was read from. `asked` and `given` count beats that
    were requested and completed. `most` is the largest difference of the two.
    """

    def __init__(self, port, rng, latency, ready=0.8):
        self.port, self.rng, self.latency, self.ready = port, rng, latency, ready
        self.now, self.asked, self.given, self.most = 0, 0, 0, 0
        self.requests = deque()
        self.lengths = []  # The length of each read request of the h2c engine, in dwords.

    @passive
    def accept(self):
        source = self.port.source
        while True:
            if (yield source.valid) and (yield source.ready):
                dwords, address = (yield source.len), (yield source.adr)
                assert not (yield source.we) and 0 < dwords <= MRRS // 4
                self.requests.append((self.now + self.latency, address, dwords))
                self.lengths.append(dwords)
                self.asked += -(-4 * dwords // BEAT_BYTES)
                self.most = max(self.most, self.asked - self.given)
            yield source.ready.eq(self.rng.random() < self.ready)
            self.now += 1
            yield

    @passive
    def answer(self):
        sink = self.port.sink
        while True:
            if not self.requests or self.requests[0][0] > self.now:
                yield
                continue
            _, address, dwords = self.requests.popleft()
            count = -(-4 * dwords // BEAT_BYTES)
            for beat in range(count):
                yield sink.valid.eq(1)
                yield sink.first.eq(beat == 0)
                yield sink.last.eq(beat == count - 1)
                yield sink.dat.eq(address + BEAT_BYTES * beat)
                yield
                while not (yield sink.ready):
                    yield
                self.given += 1
            yield sink.valid.eq(0)


class Bench(DmaBench):
    def __init__(self, seed, latency, density=1.0, store=STORE, mrrs=MRRS):
        self.port = MasterPort(0, writes=False, reads=True)
        phy = SimpleNamespace(max_request_size=Signal(16, reset=mrrs), id=Signal(16))
        super().__init__(H2c(SimpleNamespace(phy=phy), self.port, store_size=store), seed)
        self.host = Host(self.port, self.rng, latency)
        # Share of the cycles in which the user takes h2c beats; 0: the user takes none.
        self.density = density
        self.taken = []  # (data, first) of each beat that the user took from the h2c stream.

    def reach(self, count):
        """Wait until `count` h2c descriptors are done. Fail if the engine ends no descriptor for
        PATIENCE reads of its status.
        """
        done, waited = 0, 0
        while done < count:
            status = yield from self.status()
            waited = waited + 1 if status == done else 0
            done = status
            assert waited < PATIENCE, f"stopped after {done} of {count} descriptors"

    @passive
    def user(self):
        source = self.dut.source
        while True:
            if (yield source.valid) and (yield source.ready):
                self.taken.append(((yield source.data), (yield source.first)))
            yield source.ready.eq(self.rng.random() < self.density)
            yield

    @passive
    def watch(self, bounds):
        """Check in every cycle that descriptor n counts only after the host has completed bounds[n]
        beats.
        """
        done = 0
        while True:
            shown = (yield self.dut.table.settled) & 0xFFFF
            if (yield self.dut.irq):
                self.interrupts += 1
                assert shown, "an interrupt came before any descriptor was done"
            if shown != done:
                assert shown == done + 1, "two descriptors end in a cycle"
                assert self.host.given >= bounds[shown - 1], (
                    f"{shown} descriptors count after {self.host.given} beats; they have "
                    f"{bounds[shown - 1]}"
                )
                done = shown
            yield

    def run(self, main, bounds=()):
        simulate(
            self.bank,
            [main, self.host.accept(), self.host.answer(), self.user(), self.watch(bounds)],
        )


def until(condition):
    while not condition():
        yield


def ends(descriptors):
    """Return a list: after how many completed beats, counted from the start, each descriptor is
    done.
    """
    total, result = 0, []
    for _, length, _ in descriptors:
        total += beats_of(length)
        result.append(total)
    return result


class ByteHost(Host):
    """Host that completes reads with the bytes of memory_byte(), and notes the addresses that were
    read.
    """

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.bytes = []

    @passive
    def accept(self):
        source = self.port.source
        while True:
            if (yield source.valid) and (yield source.ready):
                address, dwords = (yield source.adr), (yield source.len)
                assert (yield source.with_be)
                self.requests.append((self.now + self.latency, address, dwords))
                self.bytes += enabled_bytes(
                    address, dwords, (yield source.first_be), (yield source.last_be)
                )
            yield source.ready.eq(self.rng.random() < self.ready)
            self.now += 1
            yield

    @passive
    def answer(self):
        sink = self.port.sink
        while True:
            if not self.requests or self.requests[0][0] > self.now:
                yield
                continue
            _, address, dwords = self.requests.popleft()
            beats = [
                range(start, min(start + BEAT_BYTES, address + 4 * dwords))
                for start in range(address, address + 4 * dwords, BEAT_BYTES)
            ]
            for n, beat in enumerate(beats):
                yield sink.valid.eq(1)
                yield sink.first.eq(n == 0)
                yield sink.last.eq(n == len(beats) - 1)
                yield sink.dat.eq(int.from_bytes(bytes(map(memory_byte, beat)), "little"))
                yield
                assert (yield sink.ready), "the store does not take a beat"
                self.given += 1
                while self.rng.random() < 0.2:
                    yield sink.valid.eq(0)
                    yield
            yield sink.valid.eq(0)


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
    """If the user takes nothing, the h2c engine still takes all completions into its store."""
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


@each_seed(3)
def test_a_stopped_run_leaves_nothing_to_the_next(seed):
    """A stopped h2c engine is at rest when its reads have completed.

    The next run gives the user no data of them.
    """
    bench = Bench(seed, latency=200, density=0.3)
    first = [(2048 * n, 2048, True) for n in range(4)]
    other = [(0x8_0000 + 1024 * n, 1024, True) for n in range(4)]

    def main():
        yield from bench.program(first)
        yield from bench.write("enable", 1)
        for _ in range(bench.rng.randrange(20, 500)):
            yield
        yield from bench.write("enable", 0)
        yield from bench.write("table_reset", 1)
        bench.taken.clear()
        assert (yield from bench.status()) == 0
        # The test restarts the h2c engine at once, or waits until the engine is at rest.
        restarted = bench.rng.random() < 0.5
        yield
        yield
        while not restarted and not (yield from bench.at_rest()):
            yield
        assert restarted or bench.host.asked == bench.host.given
        yield from bench.program(other)
        yield from bench.write("enable", 1)
        while (yield from bench.status()) < len(other):
            yield
        yield from until(lambda: len(bench.taken) == len(other) * 1024 // BEAT_BYTES)

    simulate(bench.bank, [main(), bench.host.accept(), bench.host.answer(), bench.user()])
    assert [data for data, _ in bench.taken] == [
        address + start for address, length, _ in other for start in range(0, length, BEAT_BYTES)
    ]


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


@each_seed(3)
def test_nothing_counts_after_its_run(seed):
    """Completions that come after h2c was stopped change no status and raise no interrupt."""
    print(f"seed {seed}")
    bench = Bench(seed, latency=300)
    descriptors = [(512 * n, 512, True) for n in range(6)]
    shown, late = [], 0

    @passive
    def watch_end():
        nonlocal late
        while True:
            if shown:
                late += yield bench.dut.irq
                shown.append((yield bench.dut.table.settled))
            yield

    def main():
        yield from bench.program(descriptors)
        yield from bench.write("enable", 1)
        yield from until(lambda: bench.host.asked >= 4 * 512 // BEAT_BYTES)
        assert bench.host.given == 0
        yield from bench.write("enable", 0)
        yield from bench.write("table_reset", 1)
        shown.append(0)
        while not (yield from bench.at_rest()):
            yield
        assert bench.host.given == bench.host.asked >= 4 * 512 // BEAT_BYTES
        assert (yield from bench.status()) == 0

    simulate(
        bench.bank, [main(), bench.host.accept(), bench.host.answer(), bench.user(), watch_end()]
    )
    assert len(shown) > 100 and set(shown) == {0} and late == 0


def test_nothing_counts_that_a_new_run_drops():
    """If a stopped h2c engine is enabled again at once, the data of the old reads is dropped.

    That data comes while `enable` is already set again, but the new run begins only when the old
    reads have completed. The table is not reset in between.
    """
    bench = Bench(0, latency=100)
    descriptors = [(512 * n, 512, True) for n in range(4)]
    total = 4 * 512 // BEAT_BYTES

    def main():
        yield from bench.program(descriptors)
        yield from bench.write("enable", 1)
        yield from until(lambda: bench.host.asked == total)
        assert bench.host.given == 0
        yield from bench.write("enable", 0)
        yield from bench.write("enable", 1)
        assert bench.host.given == 0 and (yield bench.dut.enable)
        while not (yield bench.dut.run):
            yield
        assert bench.host.given == total
        assert (yield from bench.status()) == 0

    simulate(
        bench.bank,
        [main(), bench.host.accept(), bench.host.answer(), bench.user(), bench.count_interrupts()],
    )
    assert bench.interrupts == 0 and not bench.taken


def test_what_ends_in_the_cycle_of_a_reset_does_not_count():
    """An h2c descriptor that ends in the same cycle as the table's reset does not count."""
    bench = Bench(0, latency=90)
    table = bench.dut.table
    bench.host.ready = 1.0
    met = []

    @passive
    def watch():
        while True:
            if (yield table.flush):
                met.append((yield table.done))
                assert not (yield table.irq) and not (yield table.counted)
            yield

    def main():
        yield from bench.program([(64 * n, 32, True) for n in range(60)])
        yield from bench.write("enable", 1)
        yield from until(lambda: bench.host.given > 10)
        yield from bench.write("table_reset", 1)
        assert (yield from bench.status()) == 0
        bench.interrupts = 0
        yield from until(lambda: bench.host.given == bench.host.asked)
        for _ in range(10):
            yield
        assert (yield from bench.status()) == 0 and bench.interrupts == 0

    simulate(
        bench.bank,
        [
            main(),
            bench.host.accept(),
            bench.host.answer(),
            bench.user(),
            bench.count_interrupts(),
            watch(),
        ],
    )
    assert met == [1]


def test_zero_in_the_reset_register_resets_nothing():
    """A write of 0 to h2c's reset register leaves the table, its status and the reads as
    they are.
    """
    bench = Bench(0, latency=60)
    descriptors = [(64 * n, 32, True) for n in range(4)]

    def main():
        yield from bench.program(descriptors[:2])
        yield from bench.write("enable", 1)
        yield from bench.reach(2)
        yield from bench.program(descriptors[2:])
        yield from until(lambda: len(bench.host.lengths) == len(descriptors))
        assert (yield from bench.status()) == 2
        yield from bench.write("table_reset", 0)
        assert (yield from bench.status()) == 2
        yield from bench.reach(len(descriptors))
        for _ in range(4):
            yield

    bench.run(main(), ends(descriptors))
    assert bench.interrupts == len(descriptors)


# Width of each half of register `loop_status`, in bits: the upper half counts rounds of the table,
# the lower half is the index in the table.
COUNT_BITS = 16


def test_the_loop_status_wraps(monkeypatch):
    """After 2^16 rounds of the table the count of rounds wraps to 0, and the index is still right.

    Index and count have 16 bits each, so software can tell 2^32 steps apart.
    """
    bench = Bench(1, latency=20)
    table = bench.dut.table
    seen = []
    assert len(table.settled) == 2 * COUNT_BITS

    def main():
        yield from bench.write("table_reset", 1)
        yield from bench.program([(0x1000 * n, 1024, False) for n in range(3)])
        yield from bench.write("table_loop_prog_n", 1)
        # The test sets the count of rounds of the table to two before its wrap.
        yield table.count.eq(2**COUNT_BITS - 2)
        yield from bench.write("enable", 1)
        while len(seen) < 8:
            status = yield from bench.status()
            if not seen or seen[-1] != status:
                seen.append(status)

    simulate(bench.bank, [main(), bench.host.accept(), bench.host.answer(), bench.user()])
    last = 2**COUNT_BITS - 1
    rounds = [last - 1] * 3 + [last] * 3 + [0] * 2
    assert seen == [at << COUNT_BITS | n % 3 for n, at in enumerate(rounds)]


def test_the_loop_status_is_litepcies():
    """In a looped h2c table, index and count of the status are one less than the descriptors done,
    as in LitePCIe.
    """
    bench = Bench(1, latency=60)
    seen = []

    def main():
        yield from bench.write("table_reset", 1)
        yield from bench.program([(0x1000 * n, 1024, False) for n in range(3)])
        yield from bench.write("table_loop_prog_n", 1)
        yield from bench.write("enable", 1)
        while len(seen) < 8:
            status = yield from bench.status()
            if not seen or seen[-1] != status:
                seen.append(status)

    simulate(bench.bank, [main(), bench.host.accept(), bench.host.answer(), bench.user()])
    assert seen == [0x0, 0x1, 0x2, 0x10000, 0x10001, 0x10002, 0x20000, 0x20001]


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
