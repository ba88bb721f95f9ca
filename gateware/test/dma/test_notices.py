# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Tests of dma/notices.py: records and status lines, compared with the data written before them."""

import random
import struct

import pytest

from gateware.dma import notices
from gateware.dma.descriptors import BEAT_BYTES
from gateware.test.dma.dma_bench import LAST_DISABLE
from gateware.test.dma.notice_bench import (
    ALL,
    C2H_LINE,
    FLUSHED,
    H2C_LINE,
    LAST,
    RECORDS,
    Bench,
    beats_of,
    packet,
    raw_of,
)
from gateware.test.dma.notice_host import Host, records_of, stream_in
from tools.testing.seeds import each_seed

pytestmark = pytest.mark.model

# Records of c2h buffers ---------------------------------------------------------------------------


@each_seed(6)
@pytest.mark.parametrize("control", [RECORDS, RECORDS | C2H_LINE])
def test_each_buffer_that_ends_is_told(control, seed):
    """Each c2h buffer that ends has a record with its length, flags and number, after its data.

    The record comes before the buffer's interrupt, also when the ring of records wraps several
    times.
    """
    rng = random.Random(seed)
    bench = Bench(
        seed,
        rng.choice([128, 256, 512]),
        rng.choice([4, 5]),
        ready=rng.choice([0.4, 1.0]),
        density=rng.choice([0.5, 1.0]),
    )
    packets = [
        (rng.choice([1, 31, 32, 64, 64, 64, 700, rng.randint(1, 300)]), rng.random() < 0.2)
        for _ in range(70)
    ]
    often = rng.choice([0, 0.1, 1])
    buffers = [
        ((n << 20) + rng.randrange(4), rng.choice([32, 64, 512, 640]), rng.random() < often)
        for n in range(1, 240)
    ]
    beats = [beat for size, error in packets for beat in packet(rng, size, error)]
    wanted = records_of(buffers, packets)
    buffers = buffers[: len(wanted) + 3]

    def main():
        yield from bench.set_up(control)
        yield from bench.program("c2h", buffers)
        yield from bench.enable("c2h", 1)
        while (yield from bench.status("c2h")) < len(wanted):
            yield
        yield from bench.calm()

    bench.run(main(), beats)
    host = Host(bench, {"c2h": buffers})
    assert host.records == wanted
    assert stream_in(host.memory, buffers, host.records) == raw_of(beats)
    assert host.irqs["c2h"] == sum(irq for *_, irq in buffers[: len(wanted)])
    if control & C2H_LINE:
        assert host.lines["c2h"][-1][1] == len(wanted)
    else:
        assert not host.lines["c2h"]


@each_seed(4)
def test_a_flush_is_told(seed):
    """If the flush time ends a c2h buffer, its record has the flag FLUSHED and its length in bytes.

    No byte of the stream is lost.
    """
    rng = random.Random(seed)
    bench = Bench(seed, ready=rng.choice([0.5, 1.0]))
    buffers = [(n << 20, 512, rng.random() < 0.3) for n in range(1, 120)]
    beats = []
    for _ in range(60):
        beats += [
            *packet(rng, rng.randint(1, 400))[: rng.randint(1, 12)],
            rng.choice([0, 0, 10, 20, 21, 22, 23, 60]),
        ]
    pieces = [beat for beat in beats if not isinstance(beat, int)]

    def main():
        yield from bench.set_up(ALL, flush=20)
        yield from bench.program("c2h", buffers)
        yield from bench.enable("c2h", 1)
        while bench.taken < len(pieces):
            yield
        yield from bench.wait(25)
        yield from bench.calm()

    bench.run(main(), beats)
    host = Host(bench, {"c2h": buffers})
    assert stream_in(host.memory, buffers, host.records) == raw_of(pieces)
    assert sum(flags == FLUSHED for _, flags in host.records) > 3
    assert sum(flags & LAST for _, flags in host.records) == sum(last for _, last, *_ in pieces)
    for (count, flags), (_, length, _) in zip(host.records, buffers):
        assert flags in (LAST, FLUSHED) or (flags == 0 and count == length)
        assert count > 0


@pytest.mark.parametrize("mps, most", [(128, 8), (256, 16), (512, 16)])
@pytest.mark.parametrize("entries", [4, 9])
def test_records_gather_while_data_waits(entries, mps, most):
    """While c2h data waits, one write carries up to 16 records, or as many as MPS allows.

    Each such write begins at a multiple of that number in the ring, except for the first one after
    an interrupt. So no write crosses 4 KiB or the end of the ring.
    """
    bench = Bench(1, mps, entries, pace=True)
    count = 250
    buffers = [(n << 20, 64, n == 5) for n in range(1, count + 1)]
    beats = [beat for _ in range(count) for beat in packet(bench.rng, 64)]

    def main():
        yield from bench.set_up(RECORDS)
        yield from bench.program("c2h", buffers)
        yield from bench.enable("c2h", 1)
        while (yield from bench.status("c2h")) < count:
            yield
        yield from bench.calm()

    bench.run(main(), beats)
    host = Host(bench, {"c2h": buffers})
    assert len(host.records) == count
    assert max(host.batches) == most and host.batches.count(most) > 200 // most
    # A descriptor that wants an interrupt ends a write of records: descriptor 5 wants one, so a
    # write ends with record 5.
    ends = [sum(host.batches[: n + 1]) for n in range(len(host.batches))]
    assert 5 in ends and all(end in ends for end in range(most, count, most))


@pytest.mark.parametrize("often", [0, 0.05])
def test_a_ring_of_512_records_wraps(often):
    """In a ring of 512 records, record 513 overwrites the first one.

    That holds if every write of records is full, and if interrupts end some of them early. The
    table holds half as many buffers as the ring holds records. The stream starts when the table is
    full, so that data still waits when the ring wraps.
    """
    bench = Bench(1, entries=9, pace=True)
    count = 600
    buffers = [(n << 12, 32, bench.rng.random() < often) for n in range(1, count + 1)]
    sizes = [bench.rng.randint(1, 32) for _ in range(count)]
    beats = [beat for size in sizes for beat in packet(bench.rng, size)]
    beats.insert(400, 3000)

    def main():
        yield from bench.set_up(RECORDS)
        yield from bench.enable("c2h", 1)
        for n in range(0, count, 20):
            yield from bench.program("c2h", buffers[n : n + 20])
            while (yield from bench.status("c2h")) < n - 200:
                yield
        while (yield from bench.status("c2h")) < count:
            yield
        yield from bench.calm()

    bench.run(main(), beats)
    host = Host(bench, {"c2h": buffers})
    assert host.records == [(size, LAST) for size in sizes]
    assert host.irqs["c2h"] == sum(irq for *_, irq in buffers)
    ends = [sum(host.batches[: n + 1]) for n in range(len(host.batches))]
    batch = next(n for n, end in enumerate(ends) if end >= 512)
    assert ends[batch] == 512 and host.batches[batch] > 1 and host.batches[batch + 1] > 1


@each_seed(2)
def test_a_record_goes_at_once_when_nothing_waits(seed):
    """If no c2h data waits, the write of a record is offered within four cycles of the last beat of
    the record's data.
    """
    bench = Bench(seed)
    buffers = [(n << 20, 4096, False) for n in range(1, 21)]
    beats = []
    for size in range(1, 201, 10):
        beats += [*packet(bench.rng, size), 60]

    def main():
        yield from bench.set_up(RECORDS)
        yield from bench.program("c2h", buffers)
        yield from bench.enable("c2h", 1)
        while (yield from bench.status("c2h")) < 20:
            yield
        yield from bench.calm()

    bench.run(main(), beats)
    writes = [entry for entry in bench.log if entry[0] == "write"]
    assert len(writes) == 40 and Host(bench, {"c2h": buffers}).batches == [1] * 20
    delays = [record[1] - data[2] for data, record in zip(writes[::2], writes[1::2])]
    print(delays)
    assert max(delays) <= 4


# Status lines of h2c and c2h ----------------------------------------------------------------------


@each_seed(6)
def test_both_directions_are_told_at_once(seed):
    """The status lines of both directions count the data moved and the failed reads.

    Each line is written before the interrupt of the buffers that it counts.
    """
    rng = random.Random(seed)
    bench = Bench(seed, ready=rng.choice([0.5, 1.0]), density=rng.choice([0.6, 1.0]))
    packets = [
        (rng.choice([1, 64, 700, rng.randint(1, 300)]), rng.random() < 0.2) for _ in range(40)
    ]
    beats = [beat for size, error in packets for beat in packet(rng, size, error)]
    buffers = {
        "c2h": [(n << 20, rng.choice([64, 512]), rng.random() < 0.2) for n in range(1, 160)],
        "h2c": [
            (
                (n << 20) + rng.randrange(4),
                rng.choice([1, 31, 32, 64, 512, 513, 1500]),
                rng.random() < 0.3,
                rng.choice([0, LAST_DISABLE]),
            )
            for n in range(1, 60)
        ],
    }
    wanted = records_of(buffers["c2h"], packets)
    buffers["c2h"] = buffers["c2h"][: len(wanted)]
    failed = {address for address, *_ in buffers["h2c"] if rng.random() < 0.2}
    # For each h2c descriptor in `failed`, the host fails the first read request only.
    bench.fails = lambda address: any(address == each & ~3 for each in failed)

    def main():
        yield from bench.set_up(ALL)
        for n in range(0, 60, 6):
            yield from bench.program("h2c", buffers["h2c"][n : n + 6])
            yield from bench.program("c2h", buffers["c2h"][3 * n : 3 * n + 18])
            yield from bench.enable("h2c", 1)
            yield from bench.enable("c2h", 1)
        yield from bench.program("c2h", buffers["c2h"][180:])
        while (yield from bench.status("c2h")) < len(wanted):
            yield
        while (yield from bench.status("h2c")) < len(buffers["h2c"]):
            yield
        yield from bench.calm()

    bench.run(main(), beats)
    plain = {way: [entry[:3] for entry in each] for way, each in buffers.items()}
    host = Host(bench, plain, failed)
    assert host.records == wanted
    for way, each in plain.items():
        assert host.lines[way][-1][1] == len(each)
    assert host.irqs["c2h"] == sum(irq for *_, irq in plain["c2h"])
    # The last beat of each h2c packet has the right `bytes`, and it has `error` if a read of the
    # packet failed.
    ends = [beat for beat in bench.got if beat[1]]
    assert [(count or BEAT_BYTES, error) for _, _, count, error in ends] == [
        ((length - 1) % BEAT_BYTES + 1, address in failed)
        for address, length, _, disabled in buffers["h2c"]
        if not disabled
    ]
    assert len(bench.got) == sum(beats_of(length) for _, length, *_ in buffers["h2c"])


def test_what_ends_while_a_line_is_taken_has_a_line_of_its_own():
    """If a second h2c descriptor ends a few cycles after a first one, the last status line counts
    both.

    The second one's interrupt comes after that line.
    """
    bench = Bench(1)
    buffers = {"c2h": [], "h2c": []}
    shown = []

    def main():
        yield from bench.set_up(H2C_LINE)
        yield from bench.enable("h2c", 1)
        for gap in range(24):
            bench.latency = 60
            buffers["h2c"] += [(n << 20, 64, True) for n in (1, 2)]
            yield from bench.program("h2c", buffers["h2c"][-2:])
            while len(bench.requests) < 2:
                yield
            (at, *_), (_, *second) = bench.requests
            bench.requests[1] = (at + gap, *second)
            yield from bench.wait(gap + 80)
            shown.append([entry for entry in bench.log if entry[0] in ("irq", "write")])

    bench.run(main())
    Host(bench, buffers)
    for gap, entries in enumerate(shown):
        (*_, line), irq = entries[-2:]
        assert irq[0] == "irq"
        told = struct.unpack("<QQQQ", bytes(byte for _, byte in sorted(line.items())))
        assert told[1] == 2 * (gap + 1), f"wrong count for {gap} cycles apart: {told}"


def test_lines_are_rare_while_more_is_in_flight():
    """Under load the card writes a status line at most once in LINE_INTERVAL cycles, and one when
    all data has been written.
    """
    bench = Bench(1, pace=True, entries=6)
    buffers = [(n << 20, 64, False) for n in range(1, 257)]
    beats = [beat for _ in range(250) for beat in packet(bench.rng, 64)]

    def main():
        yield from bench.set_up(C2H_LINE)
        yield from bench.program("c2h", buffers[:250])
        yield from bench.enable("c2h", 1)
        while (yield from bench.status("c2h")) < 250:
            yield
        yield from bench.calm()

    bench.run(main(), beats)
    lines = Host(bench, {"c2h": buffers}).lines["c2h"]
    times = [time for *_, time in lines]
    print(times)
    assert lines[-1][1] == 250 and len(lines) <= 5
    # The first status lines come sooner: while the stream begins, nothing is in flight, so they are
    # written at once.
    assert all(b - a >= notices.LINE_INTERVAL for a, b in zip(times[1:-1], times[2:-1]))
