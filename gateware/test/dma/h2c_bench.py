# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""A test bench around the h2c engine, and models of the host that completes its reads."""

from collections import deque
from types import SimpleNamespace

from migen import Signal, passive

from gateware.dma.descriptors import BEAT_BYTES
from gateware.dma.h2c import H2c
from gateware.endpoint.ports import MasterPort
from gateware.test.dma.dma_bench import (
    DmaBench,
    addresses,
    answer_reads,
    contents,
    due,
    enabled_bytes,
)
from tools.testing.stream_model import simulate

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
        yield from answer_reads(
            self.port.sink, lambda: due(self.requests, self.now), self.beats, self.wait_for_room
        )

    beats = staticmethod(addresses)

    def wait_for_room(self):
        while not (yield self.port.sink.ready):
            yield
        self.given += 1


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

    beats = staticmethod(contents)

    def wait_for_room(self):
        sink = self.port.sink
        assert (yield sink.ready), "the store does not take a beat"
        self.given += 1
        while self.rng.random() < 0.2:
            yield sink.valid.eq(0)
            yield
