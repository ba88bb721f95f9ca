# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Records, status lines and flush time of the DMA engine, by which the card tells the host about
its transfers without a register read.

A record (16 bytes, in a ring in host memory) says how many bytes the card has written into a c2h
buffer. A status line (32 bytes in host memory, one for each direction) says how far the direction
has come. The flush time ends a c2h buffer early if the stream brings no data for that time.
"""

import itertools
import random
import struct
from statistics import median

import pytest

from gateware.dma.notices import CONTROL, RECORD_FLAGS
from sim.test.board.board_client import HIGH_MEMORY, assert_same, wait_until
from sim.test.card.stamped import TICK_NS
from tools.testing.seeds import SHIFT, each_seed

BUFFER = 4096
COUNT = 40  # number of DMA buffers that a test moves in each direction
ENTRIES = 16  # records that the ring of records holds; fewer than COUNT, so that it wraps around
SOURCE = HIGH_MEMORY
SINK = HIGH_MEMORY + COUNT * BUFFER
# Bus address of three pages: one for the ring of records, and one for each direction's status line.
NOTES = SINK + COUNT * BUFFER
RING, LINES = NOTES, {"c2h": NOTES + 4096, "h2c": NOTES + 8192}
TOTAL = NOTES + 3 * 4096 - HIGH_MEMORY
WAYS = {"c2h": "writer", "h2c": "reader"}
LAST, FLUSHED = RECORD_FLAGS["last"], RECORD_FLAGS["flushed"]
LENGTHS = (1, 2, 31, 32, 33, 63, 64, 65, 100, 511, 512, 513, 1504, 4095, 4096)
# Most ns from a doorbell's beat on CQ to its register. Six register writes may occupy the bus
# before it.
MOST_TO_THE_REGISTER = 60 * TICK_NS
# Most ns from the doorbell of a request of 64 bytes to the record of its answer, if reads of host
# memory take 600 ns.
MOST_NS = 1200


class Told:
    """A card that is set up to write records and status lines. `memory` is the host memory that it
    reads and writes."""

    def __init__(self, card, names=tuple(CONTROL), flush=0, loopback=True):
        self.card = card
        self.memory = card.memory(HIGH_MEMORY, TOTAL)
        self.added = {"c2h": 0, "h2c": 0}
        prefix = "pcie_notices0_"
        card.write64(prefix + "writer_records_base", RING)
        card.write(prefix + "writer_records_entries", ENTRIES.bit_length() - 1)
        for way, place in LINES.items():
            card.write64(f"{prefix}{WAYS[way]}_status_base", place)
        card.write(prefix + "writer_flush", flush)
        card.write(prefix + "control", sum(CONTROL[name] for name in names))
        card.write("pcie_dma0_loopback_enable", int(loopback))
        for way in WAYS:
            card.program(way, [])
            card.start(way)

    def at(self, address, size):
        start = address - HIGH_MEMORY
        return bytes(self.memory.data[start : start + size])

    def put(self, address, data):
        start = address - HIGH_MEMORY
        self.memory.data[start : start + len(data)] = data

    def add(self, way, address, count, **more):
        self.added[way] += 1
        self.card.add_descriptor(way, address, count, packet=True, **more)

    def record(self, number):
        """Return (bytes, flags, number) from the entry of the ring in which record `number` must
        be."""
        return struct.unpack("<IIQ", self.at(RING + 16 * ((number - 1) % ENTRIES), 16))

    def wait_record(self, number):
        wait_until(lambda: self.record(number)[2] == number, f"record {number}")
        return self.record(number)[:2]

    def line(self, way):
        """Return (bytes, buffers, failed buffers, device time) from the status line of c2h or
        h2c."""
        return struct.unpack("<QQQQ", self.at(LINES[way], 32))

    def wait_line(self, way):
        buffers = self.added[way]
        wait_until(lambda: self.line(way)[1] == buffers, f"{way}'s line of {buffers} buffers")
        return self.line(way)


@pytest.mark.parametrize("loopback", [True, False], ids=["dma", "slot"])
@each_seed(3)
def test_packets_of_any_size_are_told_to_the_byte(start_board, loopback, seed):
    """If each h2c descriptor is one packet and each c2h buffer receives one, the card's records,
    status lines and data are right for packets of any size. This holds for the loopback in the DMA
    and for the loopback in the user slot. The card writes nothing to the memory around data,
    records and status lines."""
    rng = random.Random(seed)
    options = [
        "--seed",
        seed,
        "--stall",
        rng.choice([0, 30]),
        "--read-latency",
        rng.choice([0, 600]),
    ]
    lengths = [rng.choice(LENGTHS) for _ in range(COUNT)]
    print(f"lengths {lengths}", *options)
    with start_board(*options) as board:
        card = board.card(mps=rng.choice([128, 256, 512]))
        told = Told(card, loopback=loopback)
        data = [rng.randbytes(length) for length in lengths]
        expected = bytearray(NOTES - HIGH_MEMORY)
        for n, each in enumerate(data):
            told.put(SOURCE + n * BUFFER, each)
            expected[n * BUFFER : n * BUFFER + len(each)] = each
            to = SINK + n * BUFFER - HIGH_MEMORY
            expected[to : to + len(each)] = each
        began = card.device_time()
        for n in range(COUNT):
            told.add("c2h", SINK + n * BUFFER, BUFFER)
        for n, each in enumerate(data):
            told.add("h2c", SOURCE + n * BUFFER, len(each))
            # The host reads the records in time, before the ring with its 16 records wraps around.
            if n % 8 == 7:
                for number in range(n - 6, n + 2):
                    assert told.wait_record(number) == (lengths[number - 1], LAST)
        for way in WAYS:
            position, buffers, errors, at = told.wait_line(way)
            assert (position, buffers, errors) == (sum(lengths), COUNT, 0)
            assert began < at & 0xFFFF_FFFF <= card.device_time()
        assert_same(told.at(HIGH_MEMORY, NOTES - HIGH_MEMORY), bytes(expected))
        assert_same(told.at(RING + 16 * ENTRIES, 4096 - 16 * ENTRIES), bytes(4096 - 16 * ENTRIES))
        for place in LINES.values():
            assert_same(told.at(place + 32, 4096 - 32), bytes(4096 - 32))
        assert board.stats()["unmapped"] == 0


@each_seed(1)
def test_silence_ends_a_buffer_after_the_flush_time(start_board, seed):
    """If the stream has no `last`, a c2h buffer ends when the flush time has passed after its last
    beat.

    The data takes the same way through the card in each run. So the delays of two runs must differ
    by exactly the difference of their flush times.
    """
    size, times = 96, (50, 500, 2000)
    found = {}
    for flush in times:
        with start_board(log=True) as board:
            card = board.card()
            told = Told(card, flush=flush)
            data = random.Random(10_000 * seed + flush).randbytes(size)
            told.put(SOURCE, data)
            told.add("c2h", SINK, BUFFER)
            card.add_descriptor("h2c", SOURCE, size)
            assert told.wait_record(1) == (size, FLUSHED)
            assert told.at(SINK, size + 32) == data + bytes(32)
            assert told.wait_line("c2h")[:3] == (size, 1, 0)
        log = board.tlps()
        read = log.on("RC", "CplD")[-1].ns
        found[flush] = next(t.ns for t in log.on("RQ", "MWr") if t.address == SINK) - read
    print(found)
    for a, b in itertools.pairwise(times):
        assert abs(found[b] - found[a] - (b - a) * TICK_NS) <= 2 * TICK_NS
    # The 200 ns are for the way of the data from RC through the card to RQ.
    assert times[0] * TICK_NS < found[times[0]] < times[0] * TICK_NS + 200


@each_seed(1)
def test_a_reset_table_is_told_from_the_beginning(start_board, seed):
    """After a reset of the descriptor tables, the numbers of records, the counts of bytes in status
    lines and the place in the ring begin anew."""
    with start_board() as board:
        card = board.card()
        told = Told(card)
        for round in range(3):
            told.put(RING, bytes(16 * ENTRIES))
            for place in LINES.values():
                told.put(place, bytes(32))
            data = random.Random(10 * seed + round).randbytes(100 + round)
            told.put(SOURCE, data)
            for _ in range(5):
                told.add("c2h", SINK, BUFFER)
                told.add("h2c", SOURCE, len(data))
            for way in WAYS:
                assert told.wait_line(way)[:3] == (5 * len(data), 5, 0)
            assert [told.wait_record(n + 1) for n in range(5)] == [(len(data), LAST)] * 5
            assert told.record(6) == (0, 0, 0)
            for way in WAYS:
                card.write(f"pcie_dma0_{WAYS[way]}_table_reset", 1)
                told.added[way] = 0


def test_an_answer_is_told_as_fast_as_it_can_be(start_board):
    """A request of 64 bytes is answered through the user slot's loopback within MOST_NS (median of
    33 requests).

    The time runs from the beat on CQ of the last doorbell write to the last beat on RQ of the
    answer's record. Reads of host memory take 600 ns. The card's own stamp registers must agree
    with the TLP log.
    """
    print(f"seed {SHIFT}")
    count, stamped = 33, []
    with start_board("--read-latency", 600, "--seed", SHIFT + 1, log=True) as board:
        card = board.card()
        told = Told(card, names=["c2h_records"], loopback=False)
        for n in range(1, count + 1):
            data = random.Random(100 * SHIFT + n).randbytes(64)
            told.put(SOURCE, data)
            told.add("c2h", SINK, BUFFER)
            told.add("h2c", SOURCE, 64)
            assert told.wait_record(n) == (64, LAST)
            assert told.at(SINK, 64) == data
            stamped.append(TICK_NS * (card.counters()["rq_last"] - card.read("stamps_doorbell")))
    log = board.tlps()
    push = card.address("pcie_dma0_reader_table_we")
    rung = [tlp.ns for tlp in log.on("CQ", "MWr") if tlp.address & 0x1FFFF == push]
    ends = [tlp.ns for tlp in log.on("RQ", "MWr") if RING <= tlp.address < RING + 4096]
    assert len(rung) == len(ends) == count
    times = [end - bell for bell, end in zip(rung, ends, strict=True)]
    late = {t - s for t, s in zip(times, stamped, strict=True)}
    print(
        f"at the pins {min(times):.0f} to {max(times):.0f} ns, {median(times) / TICK_NS:.0f} "
        f"cycles in the middle; by the stamps {median(stamped):.0f} ns"
    )
    assert 0 <= min(late) and max(late) <= MOST_TO_THE_REGISTER
    assert median(times) <= MOST_NS
