# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Test bench of both DMA engines (c2h and h2c) with their notices: records and status lines.

The bench drives the engines through their registers, as software does, takes their requests, and
logs what they do. notice_host.py checks the log.
"""

import random
from collections import deque
from types import SimpleNamespace

from litex.gen import LiteXModule
from migen import Signal, passive

from gateware import numbers
from gateware.dma.c2h import C2h
from gateware.dma.descriptors import BEAT_BYTES
from gateware.dma.h2c import H2c
from gateware.dma.notices import CONTROL, RECORD_FLAGS, Account, NoticeRegisters
from gateware.endpoint.ports import MasterPort
from gateware.test.dma.dma_bench import (
    IRQ_DISABLE,
    addresses,
    answer_reads,
    due,
    enabled_bytes,
)
from tools.testing.csr_model import CsrBench
from tools.testing.stream_model import simulate

RECORDS, C2H_LINE, H2C_LINE = CONTROL.values()
ALL = RECORDS | C2H_LINE | H2C_LINE
LAST, FLUSHED, ERROR = RECORD_FLAGS.values()

RING = 0x7_0000_0000
LINES = {"c2h": 0x6_0000_0040, "h2c": 0x6_0000_1FE0}
WAYS = {"c2h": "writer", "h2c": "reader"}


# With `pace` (see Bench) no beat of a write is taken while this many beats or more wait in front of
# RQ. The real endpoint has room for more.
QUEUE = 40


def rq_beats(size, mps):
    """Return the number of RQ beats of a write of `size` bytes, which is cut into TLPs at MPS.

    Each TLP has a descriptor of 16 bytes before its data.
    """
    return sum(-(-(16 + min(mps, size - start)) // BEAT_BYTES) for start in range(0, size, mps))


def beats_of(size):
    return max(1, -(-size // BEAT_BYTES))


class Channel(LiteXModule):
    """The device under test: both DMA engines with all their registers, without buffering and
    loopback.
    """

    def __init__(self, mps):
        self.time = Signal(64)
        phy = SimpleNamespace(
            id=Signal(16),
            max_request_size=Signal(16, reset=512),
            max_payload_size=Signal(16, reset=mps),
        )
        endpoint = SimpleNamespace(phy=phy)
        self.writes = MasterPort(0, writes=True, reads=False)
        self.reads = MasterPort(1, writes=False, reads=True)
        account = Account()
        self.writer = C2h(endpoint, self.writes, account)
        self.reader = H2c(endpoint, self.reads, account, store_size=8192)
        self.notice = NoticeRegisters(self.writer)
        self.sync += self.time.eq(self.time + 1)
        self.comb += self.writer.notices.time.eq(self.time)


class Bench:
    """Drive both DMA engines as software does. `log` has all events of both engines in order.

    With `pace` the port takes beats only as fast as RQ would: RQ cuts a write at MPS and adds 16
    bytes to each TLP, and a read takes a beat. The port takes no beat of a write while QUEUE beats
    or more wait in front of RQ. `leaves` is the share of cycles in which it gives a pulse of
    `sent`.
    """

    def __init__(
        self, seed, mps=256, entries=4, pace=False, ready=1.0, density=1.0, latency=30, leaves=1.0
    ):
        print(f"seed {seed}")
        self.dut = Channel(mps)
        self.bank = CsrBench(self.dut)
        self.rng = random.Random(seed)
        self.mps, self.entries, self.pace, self.latency = mps, entries, pace, latency
        self.ready, self.density, self.leaves = ready, density, leaves
        self.now = 0
        # Events of the test bench, as tuples (kind, cycle of the first offer, cycle of the end,
        # ...).
        self.log = []
        # The descriptors (address, length, irq) written to each direction's table since its last
        # reset.
        self.buffers = {"c2h": [], "h2c": []}
        self.taken = 0  # Number of beats taken from the c2h stream so far.
        self.got = []  # (data, last, bytes, error) of each beat that came on the h2c stream.
        self.got_at = 0  # The cycle in which the latest beat came on the h2c stream.
        self.busy = []  # One value for each cycle: whether the h2c or the c2h engine was busy.
        self.rest = {}  # For each disabled direction, the cycle in which its engine became idle.
        self.queue = 0  # Number of beats that wait in front of RQ.
        self.pulses = []  # The cycles in which the endpoint has given a pulse of `sent`.
        self.requests = deque()
        self.fails = lambda address: False

    # Writes to the registers ----------------------------------------------------------------------

    def write(self, name, *values):
        for address, value in zip(self.bank.addresses[name], values, strict=True):
            yield self.bank.csr.adr.eq(address)
            yield self.bank.csr.dat_w.eq(value)
            yield self.bank.csr.we.eq(1)
            yield
            yield self.bank.csr.we.eq(0)
            yield

    def write64(self, name, value):
        yield from self.write(name, value >> 32, value & 0xFFFF_FFFF)

    def set_up(self, control, flush=0):
        """Write the registers of the notices: addresses of ring and status lines, flush time,
        control.
        """
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
            yield from self.write(f"{WAYS[way]}_table_value", control, address & 0xFFFF_FFFF)
            yield from self.write(f"{WAYS[way]}_table_we", address >> 32)

    def reset(self, way):
        """Reset the table of direction `way` (h2c or c2h). `log` gets the cycle in which the engine
        sees the reset.
        """
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
        """Wait until neither DMA engine has been busy for `cycles` cycles."""
        while any(self.busy[-cycles:]) or len(self.busy) < cycles:
            yield

    # Endpoint, stream and user around the engines -------------------------------------------------

    @passive
    def port(self):
        source, data, offered, began = self.dut.writes.source, [], None, 0
        while True:
            now = (
                (yield source.valid),
                (yield source.adr),
                (yield source.len),
                (yield source.last),
            )
            if offered:
                assert now == offered, "an offered beat was retracted or changed"
            elif now[0] and not data:
                began = self.now
            taken = now[0] and (yield source.ready)
            offered = now if now[0] and not taken else None
            if taken:
                assert (yield source.first) == (not data)
                data.append((yield source.dat))
                if (yield source.last):
                    yield from self.written(data, began)
                    self.queue += self.pace * rq_beats(4 * (yield source.len), self.mps)
                    data = []
            yield source.ready.eq(self.queue < QUEUE and self.rng.random() < self.ready)
            self.queue = max(0, self.queue - 1)
            yield

    def written(self, data, began):
        source, raw = self.dut.writes.source, b""
        for beat in data:
            raw += beat.to_bytes(BEAT_BYTES, "little")
        address, dwords = (yield source.adr), (yield source.len)
        assert len(data) == -(-dwords // 8)
        places = enabled_bytes(address, dwords, (yield source.first_be), (yield source.last_be))
        self.log.append(
            ("write", began, self.now, {place: raw[place - address] for place in places})
        )

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
    def sent(self):
        """Give the pulses of `sent` at random, as an endpoint does whose writes wait for RQ."""
        sent = self.dut.writes.sent
        while True:
            if (yield sent):
                self.pulses.append(self.now)
            yield sent.eq(self.rng.random() < self.leaves)
            yield

    @passive
    def clock(self):
        while True:
            yield
            self.now += 1

    @passive
    def stream(self, beats):
        """Offer beats (data, last, bytes, error) on the c2h stream, once the engine runs.

        A number in the list stands for that many cycles without a beat.
        """
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
                self.requests.append(
                    (self.now + self.latency, (yield source.adr), (yield source.len))
                )
                self.queue += self.pace
            yield source.ready.eq(self.rng.random() < self.ready)
            yield

    @passive
    def answered(self):
        def beats(address, dwords):
            return [{**beat, "err": self.fails(address)} for beat in addresses(address, dwords)]

        yield from answer_reads(
            self.dut.reads.sink, lambda: due(self.requests, self.now), beats, lambda: ()
        )

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
        simulate(
            self.bank,
            [
                main,
                self.port(),
                self.watch(),
                self.stream(beats),
                self.asked(),
                self.answered(),
                self.user(),
                self.sent(),
                self.clock(),
            ],
        )


def packet(rng, size, error=0):
    """Return the stream beats (data, last, bytes, error) of a packet of `size` bytes with random
    data.
    """
    data = [rng.getrandbits(numbers.DATA_WIDTH) for _ in range(beats_of(size))]
    return [*((each, 0, 0, 0) for each in data[:-1]), (data[-1], 1, size % BEAT_BYTES, error)]


def raw_of(beats):
    raw = b""
    for data, last, count, _ in beats:
        raw += data.to_bytes(BEAT_BYTES, "little")[: (count or BEAT_BYTES) if last else BEAT_BYTES]
    return raw
