# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""dma/notices.py: records and status lines, compared with the data written before them."""

import random
import struct
from collections import deque
from types import SimpleNamespace

import pytest
from csr_model import CsrBench
from dma_bench import IRQ_DISABLE, LAST_DISABLE, enabled_bytes
from litex.gen import LiteXModule
from migen import Signal, passive
from seeds import each_seed
from stream_model import simulate

from lanebox import layouts
from lanebox.dma import notices
from lanebox.dma.c2h import C2h
from lanebox.dma.descriptors import BEAT_BYTES
from lanebox.dma.h2c import H2c
from lanebox.dma.notices import CONTROL, RECORD_FLAGS, Account, NoticeRegisters
from lanebox.pcie.ports import MasterPort

pytestmark = pytest.mark.model

RECORDS, C2H_LINE, H2C_LINE = CONTROL.values()
ALL = RECORDS | C2H_LINE | H2C_LINE
LAST, FLUSHED, ERROR = RECORD_FLAGS.values()

RING  = 0x7_0000_0000
LINES = {"c2h": 0x6_0000_0040, "h2c": 0x6_0000_1fe0}
WAYS  = {"c2h": "writer", "h2c": "reader"}


QUEUE = 40 # Beats that wait between the port and RQ; the endpoint's queue is longer.


def rq_beats(size, mps):
    """Beats of a write on RQ, cut at MPS and with a descriptor of 16 bytes in each TLP."""
    return sum(-(-(16 + min(mps, size - start))//BEAT_BYTES) for start in range(0, size, mps))


def beats_of(size):
    return max(1, -(-size//BEAT_BYTES))


class Channel(LiteXModule):
    """Both engines with all their registers, without the channel's buffering and loopback."""

    def __init__(self, mps):
        self.time   = Signal(64)
        phy         = SimpleNamespace(id=Signal(16), max_request_size=Signal(16, reset=512),
            max_payload_size=Signal(16, reset=mps))
        endpoint    = SimpleNamespace(phy=phy)
        self.writes = MasterPort(0, writes=True,  reads=False)
        self.reads  = MasterPort(1, writes=False, reads=True)
        account     = Account()
        self.writer = C2h(endpoint, self.writes, account)
        self.reader = H2c(endpoint, self.reads, account, store_size=8192)
        self.notice = NoticeRegisters(self.writer)
        self.sync  += self.time.eq(self.time + 1)
        self.comb  += self.writer.notices.time.eq(self.time)


class Bench:
    """Drives both engines as software does. `log` has all events of both, in order.

    `pace`: the port takes beats as RQ does, behind a queue of QUEUE beats. RQ cuts a write at MPS
    and puts 16 bytes before its data, and a read takes a beat.
    """

    def __init__(self, seed, mps=256, entries=4, pace=False, ready=1.0, density=1.0, latency=30):
        print(f"seed {seed}")
        self.dut  = Channel(mps)
        self.bank = CsrBench(self.dut)
        self.rng  = random.Random(seed)
        self.mps, self.entries, self.pace, self.latency = mps, entries, pace, latency
        self.ready, self.density = ready, density
        self.now      = 0
        self.log      = [] # (what, cycle of the first offer, cycle of the end, ...)
        self.buffers  = {"c2h": [], "h2c": []} # (address, length, irq) since the table's reset.
        self.taken    = 0  # Beats taken from the c2h stream.
        self.got      = [] # (data, last, bytes, error) of each beat of the h2c stream.
        self.got_at   = 0  # Cycle of the last beat of the h2c stream.
        self.busy     = [] # For each cycle: either engine is busy.
        self.rest     = {} # Cycle in which a disabled direction became idle.
        self.queue    = 0  # Beats that RQ has not taken.
        self.requests = deque()
        self.fails    = lambda address: False

    # Registers ------------------------------------------------------------------------------------

    def write(self, name, *values):
        for address, value in zip(self.bank.addresses[name], values, strict=True):
            yield self.bank.csr.adr.eq(address)
            yield self.bank.csr.dat_w.eq(value)
            yield self.bank.csr.we.eq(1)
            yield
            yield self.bank.csr.we.eq(0)
            yield

    def write64(self, name, value):
        yield from self.write(name, value >> 32, value & 0xffff_ffff)

    def set_up(self, control, flush=0):
        """Write the addresses of ring and lines, the flush time, and the control register."""
        yield from self.write64("notice_writer_records_base", RING)
        yield from self.write("notice_writer_records_entries", self.entries)
        yield from self.write64("notice_writer_status_base", LINES["c2h"])
        yield from self.write64("notice_reader_status_base", LINES["h2c"])
        yield from self.write("notice_writer_flush", flush)
        yield from self.write("notice_control", control)

    def enable(self, way, on):
        yield from self.write(f"{WAYS[way]}_enable", on)

    def program(self, way, buffers):
        for address, length, irq, *flags in buffers:
            control = (0 if irq else IRQ_DISABLE) | length | sum(flags)
            self.buffers[way].append((address, length, irq))
            yield from self.write(f"{WAYS[way]}_table_value", control, address & 0xffff_ffff)
            yield from self.write(f"{WAYS[way]}_table_we", address >> 32)

    def reset(self, way):
        """Reset the table of a direction. `log` gets the cycle in which the engine sees it."""
        yield from self.write(f"{WAYS[way]}_table_reset", 1)
        self.buffers[way] = []

    def status(self, way):
        return (yield from self.bank.read(f"{WAYS[way]}_table_loop_status"))

    def at_rest(self, way):
        return (yield from self.bank.read(f"{WAYS[way]}_enable")) & 2

    def wait(self, cycles):
        for _ in range(cycles):
            yield

    def calm(self, cycles=40):
        """Wait until no engine has been busy for `cycles`."""
        while any(self.busy[-cycles:]) or len(self.busy) < cycles:
            yield

    # Surroundings ---------------------------------------------------------------------------------

    @passive
    def port(self):
        source, data, offered, began = self.dut.writes.source, [], None, 0
        while True:
            now = ((yield source.valid), (yield source.adr), (yield source.len),
                (yield source.last))
            if offered:
                assert now == offered, "an offered beat was retracted or changed"
            elif now[0] and not data:
                began = self.now
            taken   = now[0] and (yield source.ready)
            offered = now if now[0] and not taken else None
            if taken:
                assert (yield source.first) == (not data)
                data.append((yield source.dat))
                if (yield source.last):
                    yield from self.written(data, began)
                    self.queue += self.pace*rq_beats(4*(yield source.len), self.mps)
                    data = []
            yield source.ready.eq(self.queue < QUEUE and self.rng.random() < self.ready)
            self.queue = max(0, self.queue - 1)
            yield

    def written(self, data, began):
        source, raw = self.dut.writes.source, b""
        for beat in data:
            raw += beat.to_bytes(BEAT_BYTES, "little")
        address, dwords = (yield source.adr), (yield source.len)
        assert len(data) == -(-dwords//8)
        places = enabled_bytes(address, dwords, (yield source.first_be), (yield source.last_be))
        self.log.append(("write", began, self.now,
            {place: raw[place - address] for place in places}))

    @passive
    def watch(self):
        dut = self.dut
        while True:
            for way, engine in (("c2h", dut.writer), ("h2c", dut.reader)):
                if (yield engine.irq):
                    self.log.append(("irq", self.now, self.now, way))
                if (yield engine.table.flush):
                    self.log.append(("reset", self.now, self.now, way))
                if (yield engine.account.counted):
                    self.log.append(("count", self.now, self.now, way))
                if not (yield engine.enable) and (yield engine.idle):
                    self.rest.setdefault(way, self.now)
                elif (yield engine.enable):
                    self.rest.pop(way, None)
            self.busy.append((yield dut.writer.busy) or (yield dut.reader.busy))
            yield

    @passive
    def clock(self):
        while True:
            yield
            self.now += 1

    @passive
    def stream(self, beats):
        """Offer beats (data, last, bytes, error); a number is cycles without a beat."""
        sink = self.dut.writer.sink
        while not (yield self.dut.writer.run):
            yield
        for beat in beats:
            if isinstance(beat, int):
                yield from self.wait(beat)
                continue
            while self.rng.random() >= self.density:
                yield
            yield sink.valid.eq(1)
            for field, value in zip((sink.data, sink.last, sink.bytes, sink.error), beat):
                yield field.eq(value)
            yield
            while not (yield sink.ready):
                yield
            self.taken += 1
            yield sink.valid.eq(0)

    @passive
    def asked(self):
        source = self.dut.reads.source
        while True:
            if (yield source.valid) and (yield source.ready):
                self.requests.append((self.now + self.latency, (yield source.adr),
                    (yield source.len)))
                self.queue += self.pace
            yield source.ready.eq(self.rng.random() < self.ready)
            yield

    @passive
    def answered(self):
        sink = self.dut.reads.sink
        while True:
            if not self.requests or self.requests[0][0] > self.now:
                yield
                continue
            _, address, dwords = self.requests.popleft()
            count = -(-4*dwords//BEAT_BYTES)
            for beat in range(count):
                yield sink.valid.eq(1)
                yield sink.first.eq(beat == 0)
                yield sink.last.eq(beat == count - 1)
                yield sink.dat.eq(address + BEAT_BYTES*beat)
                yield sink.err.eq(self.fails(address))
                yield
            yield sink.valid.eq(0)

    @passive
    def user(self):
        source = self.dut.reader.source
        while True:
            if (yield source.valid) and (yield source.ready):
                beat = []
                for field in (source.data, source.last, source.bytes, source.error):
                    beat.append((yield field))
                self.got.append(tuple(beat))
                self.got_at = self.now
            yield source.ready.eq(self.rng.random() < self.density)
            yield

    def run(self, main, beats=()):
        simulate(self.bank, [main, self.port(), self.watch(), self.stream(beats), self.asked(),
            self.answered(), self.user(), self.clock()])


# The host -----------------------------------------------------------------------------------------


class Host:
    """Reads the log as a host that relies on records and lines, and checks each field of these.

    `buffers` are the descriptors of each direction. Records and lines from before the last reset of
    a direction are dropped.
    """

    def __init__(self, bench, buffers, fails=(), then=None):
        self.bench, self.fails   = bench, fails
        self.buffers, self.then  = dict(buffers), then # After a reset `then` has the buffers.
        self.memory  = {}
        self.records = []                       # (bytes, flags)
        self.lines   = {"c2h": [], "h2c": []}   # (position, buffers, errors, time)
        self.irqs    = {"c2h": 0, "h2c": 0}
        self.counts  = {"c2h": 0, "h2c": 0}
        self.batches = []                       # Number of records in each write.
        self.resets  = {"c2h": -1, "h2c": -1}   # Cycle of the last reset.
        self.data    = 0                        # Bytes of data written.
        for kind, began, ended, what in bench.log:
            getattr(self, kind)(began, ended, what)

    def reset(self, began, ended, way):
        self.resets[way]  = began
        self.buffers[way] = self.then[way]
        self.counts[way] = self.irqs[way] = 0
        self.lines[way]  = []
        if way == "c2h":
            self.records = []

    def count(self, began, ended, way):
        self.counts[way] += 1

    def write(self, began, ended, data):
        first, size = min(data), 16 << self.bench.entries
        assert len(data) == max(data) - first + 1
        way = next((way for way, place in LINES.items() if place == first), None)
        if RING <= first < RING + size:
            assert max(data) < RING + size, "beyond the ring"
            # A write offered before the reset is finished, but is not of this run.
            if began > self.resets["c2h"]:
                self.see_records(first, bytes(data[first + n] for n in range(len(data))))
        elif way:
            if began > self.resets[way]:
                self.see_line(way, began, ended, bytes(data[first + n] for n in range(len(data))))
        else:
            self.memory |= data
            self.data   += len(data)

    def see_records(self, first, raw):
        assert len(raw) <= self.bench.mps and len(raw) % 16 == 0
        assert first//4096 == (first + len(raw) - 1)//4096, "a batch crosses 4 KiB"
        self.batches.append(len(raw)//16)
        for at in range(0, len(raw), 16):
            count, flags, sequence = struct.unpack_from("<IIQ", raw, at)
            assert sequence == len(self.records) + 1
            assert first + at == RING + 16*((sequence - 1) % (1 << self.bench.entries))
            assert sequence <= self.counts["c2h"], "a record before its buffer counts"
            address, length, _ = self.buffers["c2h"][sequence - 1]
            assert count <= length
            for n in range(length):
                assert (address + n in self.memory) == (n < count), (
                    f"record {sequence} has {count} bytes of {length}; byte {n}")
            self.records.append((count, flags))

    def see_line(self, way, began, ended, raw):
        position, buffers, errors, time = struct.unpack("<QQQQ", raw)
        before = self.lines[way][-1] if self.lines[way] else (0, 0, 0, 0)
        assert before[0] <= position and before[1] < buffers and before[2] <= errors
        assert before[3] < time <= ended and time >= began - 2
        assert buffers <= self.counts[way]
        if way == "c2h" and self.records:
            told = self.records[:buffers]
            assert len(told) == buffers, "a line before its record"
            assert position == sum(count for count, _ in told)
            assert errors == sum(flags & ERROR != 0 for _, flags in told)
        elif way == "h2c":
            done = self.buffers["h2c"][:buffers]
            assert position == sum(length for _, length, _ in done)
            assert errors == sum(address in self.fails for address, _, _ in done)
        self.lines[way].append((position, buffers, errors, time))

    def irq(self, began, ended, way):
        """An interrupt comes after its buffer's record or line. h2c may merge interrupts."""
        self.irqs[way] += 1
        wanted = [n + 1 for n, (*_, irq) in enumerate(self.buffers[way]) if irq]
        shown  = self.lines[way][-1][1] if self.lines[way] else len(self.records)
        assert self.irqs[way] <= len(wanted) and shown >= wanted[self.irqs[way] - 1]


def packet(rng, size, error=0):
    """Beats of a packet."""
    data = [rng.getrandbits(layouts.DATA_WIDTH) for _ in range(beats_of(size))]
    return [*((each, 0, 0, 0) for each in data[:-1]), (data[-1], 1, size % BEAT_BYTES, error)]


def records_of(buffers, packets):
    """The records expected for packets (size, error), which fill one buffer after another."""
    result, free = [], iter(buffers)
    for size, error in packets:
        while size > 0:
            put   = min(size, next(free)[1])
            size -= put
            result.append((put, 0 if size else LAST | (ERROR if error else 0)))
    return result


def stream_in(memory, buffers, records):
    """The bytes of the stream, put together from memory by the records."""
    return b"".join(bytes(memory[address + n] for n in range(count))
        for (address, *_), (count, _) in zip(buffers, records))


def raw_of(beats):
    raw = b""
    for data, last, count, _ in beats:
        raw += data.to_bytes(BEAT_BYTES, "little")[:(count or BEAT_BYTES) if last else BEAT_BYTES]
    return raw


# Records ------------------------------------------------------------------------------------------


@each_seed(6)
@pytest.mark.parametrize("control", [RECORDS, RECORDS | C2H_LINE])
def test_each_buffer_that_ends_is_told(control, seed):
    """Each buffer that ends has a record with length, flags and number, after its data.

    The record comes before the buffer's interrupt, and the ring of records wraps several times.
    """
    rng     = random.Random(seed)
    bench   = Bench(seed, rng.choice([128, 256, 512]), rng.choice([4, 5]),
        ready=rng.choice([0.4, 1.0]), density=rng.choice([0.5, 1.0]))
    packets = [(rng.choice([1, 31, 32, 64, 64, 64, 700, rng.randint(1, 300)]), rng.random() < 0.2)
        for _ in range(70)]
    often   = rng.choice([0, 0.1, 1])
    buffers = [((n << 20) + rng.randrange(4), rng.choice([32, 64, 512, 640]), rng.random() < often)
        for n in range(1, 240)]
    beats   = [beat for size, error in packets for beat in packet(rng, size, error)]
    wanted  = records_of(buffers, packets)
    buffers = buffers[:len(wanted) + 3]

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
    assert host.irqs["c2h"] == sum(irq for *_, irq in buffers[:len(wanted)])
    if control & C2H_LINE:
        assert host.lines["c2h"][-1][1] == len(wanted)
    else:
        assert not host.lines["c2h"]


@each_seed(4)
def test_a_flush_is_told(seed):
    """The record of a flushed buffer has the flag FLUSHED and its bytes, and no byte is lost."""
    rng     = random.Random(seed)
    bench   = Bench(seed, ready=rng.choice([0.5, 1.0]))
    buffers = [(n << 20, 512, rng.random() < 0.3) for n in range(1, 120)]
    beats   = []
    for _ in range(60):
        beats += [*packet(rng, rng.randint(1, 400))[:rng.randint(1, 12)],
            rng.choice([0, 0, 10, 20, 21, 22, 23, 60])]
    pieces  = [beat for beat in beats if not isinstance(beat, int)]

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
    """While data waits, up to 16 records, or as many as MPS allows, are written at once.

    The batches are aligned in the ring, except for the first one after an interrupt. So no write
    crosses 4 KiB or the end of the ring.
    """
    bench   = Bench(1, mps, entries, pace=True)
    count   = 250
    buffers = [(n << 20, 64, n == 5) for n in range(1, count + 1)]
    beats   = [beat for _ in range(count) for beat in packet(bench.rng, 64)]

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
    assert max(host.batches) == most and host.batches.count(most) > 200//most
    # A batch ends after a descriptor that wants an interrupt.
    ends = [sum(host.batches[:n + 1]) for n in range(len(host.batches))]
    assert 5 in ends and all(end in ends for end in range(most, count, most))


@pytest.mark.parametrize("often", [0, 0.05])
def test_a_ring_of_512_records_wraps(often):
    """Record 513 is written over the first one, with aligned batches and with others.

    The table holds half as many buffers as the ring holds records. The stream waits until the table
    is full, so that data waits when the ring wraps.
    """
    bench   = Bench(1, entries=9, pace=True)
    count   = 600
    buffers = [(n << 12, 32, bench.rng.random() < often) for n in range(1, count + 1)]
    sizes   = [bench.rng.randint(1, 32) for _ in range(count)]
    beats   = [beat for size in sizes for beat in packet(bench.rng, size)]
    beats.insert(400, 3000)

    def main():
        yield from bench.set_up(RECORDS)
        yield from bench.enable("c2h", 1)
        for n in range(0, count, 20):
            yield from bench.program("c2h", buffers[n:n + 20])
            while (yield from bench.status("c2h")) < n - 200:
                yield
        while (yield from bench.status("c2h")) < count:
            yield
        yield from bench.calm()

    bench.run(main(), beats)
    host = Host(bench, {"c2h": buffers})
    assert host.records == [(size, LAST) for size in sizes]
    assert host.irqs["c2h"] == sum(irq for *_, irq in buffers)
    ends = [sum(host.batches[:n + 1]) for n in range(len(host.batches))]
    batch = next(n for n, end in enumerate(ends) if end >= 512)
    assert ends[batch] == 512 and host.batches[batch] > 1 and host.batches[batch + 1] > 1


@each_seed(2)
def test_a_record_goes_at_once_when_nothing_waits(seed):
    """If no data waits, a record is offered within four cycles of its data's last beat."""
    bench   = Bench(seed)
    buffers = [(n << 20, 4096, False) for n in range(1, 21)]
    beats   = []
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
    assert len(writes) == 40 and Host(bench, {"c2h": buffers}).batches == [1]*20
    delays = [record[1] - data[2] for data, record in zip(writes[::2], writes[1::2])]
    print(delays)
    assert max(delays) <= 4


# Status lines -------------------------------------------------------------------------------------


@each_seed(6)
def test_both_directions_are_told_at_once(seed):
    """Lines of both directions count data moved and failed reads, and come before interrupts."""
    rng     = random.Random(seed)
    bench   = Bench(seed, ready=rng.choice([0.5, 1.0]), density=rng.choice([0.6, 1.0]))
    packets = [(rng.choice([1, 64, 700, rng.randint(1, 300)]), rng.random() < 0.2)
        for _ in range(40)]
    beats   = [beat for size, error in packets for beat in packet(rng, size, error)]
    buffers = {
        "c2h": [(n << 20, rng.choice([64, 512]), rng.random() < 0.2) for n in range(1, 160)],
        "h2c": [((n << 20) + rng.randrange(4), rng.choice([1, 31, 32, 64, 512, 513, 1500]),
            rng.random() < 0.3, rng.choice([0, LAST_DISABLE])) for n in range(1, 60)],
    }
    wanted  = records_of(buffers["c2h"], packets)
    buffers["c2h"] = buffers["c2h"][:len(wanted)]
    failed  = {address for address, *_ in buffers["h2c"] if rng.random() < 0.2}
    # Only the first request of such a descriptor fails.
    bench.fails = lambda address: any(address == each & ~3 for each in failed)

    def main():
        yield from bench.set_up(ALL)
        for n in range(0, 60, 6):
            yield from bench.program("h2c", buffers["h2c"][n:n + 6])
            yield from bench.program("c2h", buffers["c2h"][3*n:3*n + 18])
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
    host  = Host(bench, plain, failed)
    assert host.records == wanted
    for way, each in plain.items():
        assert host.lines[way][-1][1] == len(each)
    assert host.irqs["c2h"] == sum(irq for *_, irq in plain["c2h"])
    # Each h2c packet ends with its bytes in the last beat, and with an error if a read failed.
    ends = [beat for beat in bench.got if beat[1]]
    assert [(count or BEAT_BYTES, error) for _, _, count, error in ends] == [
        ((length - 1) % BEAT_BYTES + 1, address in failed)
        for address, length, _, disabled in buffers["h2c"] if not disabled]
    assert len(bench.got) == sum(beats_of(length) for _, length, *_ in buffers["h2c"])


def test_what_ends_while_a_line_is_taken_has_a_line_of_its_own():
    """If a second h2c descriptor ends any few cycles after a first, the last line counts both.

    The last interrupt comes after that line.
    """
    bench   = Bench(1)
    buffers = {"c2h": [], "h2c": []}
    shown   = []

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
        assert told[1] == 2*(gap + 1), f"{gap} cycles apart: {told}"


def test_lines_are_rare_while_more_is_in_flight():
    """Under load a line is written once in LINE_INTERVAL cycles, and after the last buffer."""
    bench   = Bench(1, pace=True, entries=6)
    buffers = [(n << 20, 64, False) for n in range(1, 257)]
    beats   = [beat for _ in range(250) for beat in packet(bench.rng, 64)]

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
    # The first lines are prompt, since little waits while the stream begins.
    assert all(b - a >= notices.LINE_INTERVAL for a, b in zip(times[1:-1], times[2:-1]))


# Rates --------------------------------------------------------------------------------------------

RQ_BEATS = 3       # RQ beats of a write of 64 bytes: a descriptor of 16 bytes, then the data.
BATCH_BEATS = 9    # RQ beats of a write of 16 records.
LINE_BEATS  = 2    # RQ beats of a write of a status line.


def test_messages_of_64_bytes_keep_their_rate():
    """With all notices on the rate is at least 0.95 of RQ's limit for data, records and lines."""
    bench   = Bench(1, pace=True, entries=8)
    count   = 250
    buffers = [(n << 20, 4096, False) for n in range(1, count + 1)]
    beats   = [beat for _ in range(count) for beat in packet(bench.rng, 64)]

    def main():
        yield from bench.set_up(ALL)
        yield from bench.program("c2h", buffers)
        yield from bench.enable("c2h", 1)
        while (yield from bench.status("c2h")) < count:
            yield
        yield from bench.calm()

    bench.run(main(), beats)
    data = [ended for kind, _, ended, what in bench.log
        if kind == "write" and min(what) < LINES["c2h"]]
    assert len(data) == count
    cycles = (data[-20] - data[20])/(count - 40)
    limit  = RQ_BEATS + BATCH_BEATS/16
    limit += limit/notices.LINE_INTERVAL*LINE_BEATS
    print(f"{cycles:.3f} cycles a message; {limit:.3f} are the limit")
    assert limit/cycles >= 0.95


@pytest.mark.parametrize("duplex", [False, True])
def test_buffers_of_8_kib_cost_little(duplex):
    """With buffers of 8 KiB all notices of both directions cost at most 1.2 % of the rate."""
    def cycles(control):
        bench   = Bench(1, pace=True, entries=4)
        buffers = [(n << 20, 8192, False) for n in range(1, 25)]

        def main():
            yield from bench.set_up(control)
            yield from bench.program("c2h", buffers)
            if duplex:
                yield from bench.program("h2c", buffers)
                yield from bench.enable("h2c", 1)
            yield from bench.enable("c2h", 1)
            while (yield from bench.status("c2h")) < 20:
                yield

        bench.run(main(), [(n, 0, 0, 0) for n in range(24*256)])
        data = [ended for kind, _, ended, what in bench.log
            if kind == "write" and min(what) < LINES["c2h"]]
        return data[16*16] - data[2*16]

    without, told = cycles(0), cycles(ALL)
    print(without, told)
    assert told/without <= 1.012


# Resets and stops ---------------------------------------------------------------------------------


@each_seed(10)
def test_a_reset_leaves_nothing_of_the_run_before(seed):
    """After a table's reset in the middle of a run, records, counts and lines start again at 0.

    A write that was offered before the reset is finished. No write that begins later is of the old
    run.
    """
    rng     = random.Random(seed)
    bench   = Bench(seed, ready=rng.choice([0.2, 1.0]), density=rng.choice([0.5, 1.0]))
    first   = {way: [(n << 20, rng.choice([64, 512]), rng.random() < 0.2) for n in range(1, 40)]
        for way in WAYS}
    other   = {way: [(n << 20, 64, rng.random() < 0.2) for n in range(64, 76)] for way in WAYS}

    def main():
        yield from bench.set_up(ALL)
        for way in WAYS:
            yield from bench.program(way, first[way])
        for way in WAYS:
            yield from bench.enable(way, 1)
        yield from bench.wait(rng.randrange(5, 400))
        for way in rng.sample(list(WAYS), 2):
            yield from bench.reset(way)
            yield from bench.wait(rng.choice([0, 0, 3, 40]))
        yield from bench.wait(700) # The stream waits for a buffer, so the engine stays busy.
        for way in WAYS:
            assert (yield from bench.status(way)) == 0
            yield from bench.program(way, other[way])
        for way in WAYS:
            while (yield from bench.status(way)) < 12:
                yield
        yield from bench.wait(700)

    # The stream never ends; the buffers do.
    bench.run(main(), [(n, n % 3 == 0, 0, 0) for n in range(3000)])
    host = Host(bench, first, then=other)
    assert len(host.records) >= 12
    for way in WAYS:
        assert host.lines[way][-1][1] >= 12


@each_seed(6)
@pytest.mark.parametrize("way", WAYS)
def test_the_bytes_of_a_stopped_descriptor_are_not_told(way, seed):
    """The bytes of a descriptor that a stop has cut are not counted in the next run."""
    rng   = random.Random(seed)
    bench = Bench(seed, density=rng.choice([0.5, 1.0]))
    first = {each: [(1 << 20, 4096, True)] for each in WAYS}
    then  = {each: [(n << 20, 64, True) for n in range(64, 68)] for each in WAYS}

    def main():
        yield from bench.set_up(ALL)
        yield from bench.program(way, first[way])
        yield from bench.enable(way, 1)
        yield from bench.wait(rng.randrange(60, 110))
        yield from bench.enable(way, 0)
        while not (yield from bench.at_rest(way)):
            yield
        assert (yield from bench.status(way)) == 0
        yield from bench.reset(way)
        yield from bench.program(way, then[way])
        yield from bench.enable(way, 1)
        while (yield from bench.status(way)) < 4:
            yield
        yield from bench.wait(100)

    bench.run(main(), [(n, 0, 0, 0) for n in range(3000)])
    host = Host(bench, first, then=then)
    assert host.lines[way][-1][:2] == (256, 4)
    assert way == "h2c" or [count for count, _ in host.records] == [64]*4


@pytest.mark.parametrize("way, control", [
    ("c2h", RECORDS), ("c2h", C2H_LINE), ("c2h", ALL), ("h2c", H2C_LINE), ("h2c", ALL),
])
def test_a_reset_may_come_in_any_cycle(way, control):
    """A reset in any cycle after a buffer's end drops the notices and interrupts not yet sent.

    Each round has one buffer that wants an interrupt, and a reset.
    """
    bench   = Bench(1, ready=0.3)
    buffers = {each: [(1 << 20, 64, each == way)] for each in WAYS}

    def main():
        yield from bench.set_up(control)
        yield from bench.enable(way, 1)
        for delay in [*range(20)]*3:
            counts = len([entry for entry in bench.log if entry[0] == "count"])
            yield from bench.program(way, buffers[way])
            while len([entry for entry in bench.log if entry[0] == "count"]) == counts:
                yield
            yield from bench.wait(delay)
            yield from bench.reset(way)
            yield from bench.wait(40)

    bench.run(main(), [beat for _ in range(70) for beat in packet(bench.rng, 64)])
    Host(bench, buffers, then=buffers)
    irqs = sum(entry[0] == "irq" for entry in bench.log)
    assert 20 < irqs < 60


@each_seed(10)
def test_at_rest_all_is_told(seed):
    """A disabled direction reports every buffer that counts, and then writes nothing more."""
    rng     = random.Random(seed)
    bench   = Bench(seed, ready=rng.choice([0.2, 0.5, 1.0]), density=rng.choice([0.5, 1.0]))
    buffers = {way: [(n << 20, rng.choice([64, 512]), rng.random() < 0.2)
        for n in range(1, 60)] for way in WAYS}
    counts  = {}

    def main():
        yield from bench.set_up(ALL)
        for way in WAYS:
            yield from bench.program(way, buffers[way])
        for way in WAYS:
            yield from bench.enable(way, 1)
        yield from bench.wait(rng.randrange(5, 400))
        for way in WAYS:
            yield from bench.enable(way, 0)
        for way in WAYS:
            while not (yield from bench.at_rest(way)):
                yield
        rest = len(bench.log)
        for way in WAYS:
            counts[way] = yield from bench.status(way)
        yield from bench.wait(700)
        assert len(bench.log) == rest

    bench.run(main(), [(n, n % 3 == 0, 0, 0) for n in range(3000)])
    for kind, _, ended, what in bench.log:
        if kind in ("write", "irq"):
            way = what if kind == "irq" else "h2c" if min(what) == LINES["h2c"] else "c2h"
            assert ended <= bench.rest[way], f"{way} has said before that it is idle"
    host = Host(bench, buffers)
    assert len(host.records) == counts["c2h"]
    for way, count in counts.items():
        assert (host.lines[way][-1][1] if host.lines[way] else 0) == count
        shown = sum(irq for *_, irq in buffers[way][:count])
        assert host.irqs[way] == shown if way == "c2h" else host.irqs[way] <= shown


# Time ---------------------------------------------------------------------------------------------


def test_waiting_is_no_work():
    """An enabled c2h with buffers but no data is not busy, nor is h2c without descriptors."""
    bench = Bench(1)

    def main():
        yield from bench.set_up(ALL, flush=50)
        yield from bench.program("c2h", [(0x1000, 4096, True)])
        for way in WAYS:
            yield from bench.enable(way, 1)
        yield from bench.calm(100)

    bench.run(main())
    assert not bench.log


@each_seed(4)
@pytest.mark.parametrize("way", WAYS)
def test_busy_lasts_until_all_is_told(way, seed):
    """An engine is busy from the first descriptor until its last record, line or interrupt.

    Device time stands still while nothing is busy, so a gap would last for ever. h2c also stays
    busy until a slow user has taken all data. The other direction only waits here.
    """
    rng     = random.Random(seed)
    bench   = Bench(seed, ready=rng.choice([0.2, 1.0]),
        density=rng.choice([0.3, 1.0]) if way == "h2c" else 1.0)
    buffers = {each: [(n << 20, rng.choice([64, 500]), rng.random() < 0.3) for n in range(1, 9)]
        for each in WAYS}
    begun   = []

    def main():
        yield from bench.set_up(ALL, flush=30)
        other = next(each for each in WAYS if each != way)
        if other == "c2h":
            yield from bench.program(other, buffers[other])
        yield from bench.enable(other, 1)
        yield from bench.calm()
        begun.append(bench.now)
        yield from bench.enable(way, 1)
        yield from bench.program(way, buffers[way])
        yield from bench.calm()
        yield from bench.wait(600)

    beats = [beat for _ in range(8) for beat in packet(rng, 60)] if way == "c2h" else []
    bench.run(main(), beats)
    host = Host(bench, buffers)
    assert host.lines[way][-1][1] == 8
    last  = max(ended for kind, _, ended, _ in bench.log if kind != "count")
    first = next(n for n in range(begun[0], len(bench.busy)) if bench.busy[n])
    last  = max(last, bench.got_at)
    assert all(bench.busy[first:last])
    assert not any(bench.busy[last + 2:])


def test_data_without_a_buffer_is_work():
    """A beat that waits for a c2h buffer keeps the engine busy. A disabled c2h drops it."""
    bench = Bench(1)

    def main():
        yield from bench.set_up(0)
        yield from bench.enable("c2h", 1)
        yield from bench.wait(300)
        assert all(bench.busy[-200:])
        yield from bench.enable("c2h", 0)
        yield from bench.calm()

    bench.run(main(), [(n, 0, 0, 0) for n in range(5000)])


def test_a_loop_is_work():
    """An enabled loop of LitePCIe is always busy, even without descriptors."""
    bench = Bench(1)

    def main():
        for way in WAYS:
            yield from bench.write(f"{WAYS[way]}_table_loop_prog_n", 1)
            yield from bench.wait(5)
            assert not (yield bench.dut.writer.busy) and not (yield bench.dut.reader.busy)
            yield from bench.enable(way, 1)
            yield from bench.wait(100)
            assert all(bench.busy[-80:])
            yield from bench.enable(way, 0)
            yield from bench.calm()

    bench.run(main())
