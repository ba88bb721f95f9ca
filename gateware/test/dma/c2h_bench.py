# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""A test bench around the c2h engine, and models of what the engine writes."""

from types import SimpleNamespace

from migen import Signal, passive

from gateware import numbers
from gateware.dma.c2h import C2h
from gateware.dma.descriptors import BEAT_BYTES
from gateware.dma.notices import Account
from gateware.endpoint.ports import MasterPort
from gateware.test.dma.dma_bench import DmaBench, enabled_bytes
from tools.testing.stream_model import simulate

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
        # All writes leave the hard block at once.
        yield self.port.sent.eq(1)
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
