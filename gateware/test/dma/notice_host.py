# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Model of the host that gets the notices (records and status lines) of both DMA engines.

The model checks what the test bench of notice_bench.py has logged.
"""

import struct

from gateware.test.dma.notice_bench import ERROR, LAST, LINES, RING


class Host:
    """Model of the host, which reads the bench's log and relies on records and status lines alone.

    It checks each field of each record and line. `buffers` are the descriptors of each direction,
    `fails` the addresses of h2c descriptors with a failed read. Records and lines from before the
    last reset of a direction are dropped.
    """

    def __init__(self, bench, buffers, fails=(), then=None):
        self.bench, self.fails = bench, fails
        # `then` has the descriptors that each direction gets after the reset of its table.
        self.buffers, self.then = dict(buffers), then
        self.memory = {}
        self.records = []  # (bytes, flags) of each record that the card has written.
        # For each direction, (bytes of the stream, buffers, failed buffers, device time) of each
        # status line that the card has written.
        self.lines = {"c2h": [], "h2c": []}
        self.irqs = {"c2h": 0, "h2c": 0}
        self.counts = {"c2h": 0, "h2c": 0}
        # For each write by the card of records of c2h buffers: how many records it holds.
        self.batches = []
        # For each direction, the cycle of the last reset of its table; -1 if it was never reset.
        self.resets = {"c2h": -1, "h2c": -1}
        self.data = 0  # Number of bytes of c2h data that the card has written.
        for kind, began, ended, what in bench.log:
            getattr(self, kind)(began, ended, what)

    def reset(self, began, ended, way):
        self.resets[way] = began
        self.buffers[way] = self.then[way]
        self.counts[way] = self.irqs[way] = 0
        self.lines[way] = []
        if way == "c2h":
            self.records = []

    def count(self, began, ended, way):
        self.counts[way] += 1

    def write(self, began, ended, data):
        first, size = min(data), 16 << self.bench.entries
        assert len(data) == max(data) - first + 1
        way = next((way for way, place in LINES.items() if place == first), None)
        if RING <= first < RING + size:
            assert max(data) < RING + size, "records were written beyond the ring"
            # A write that was offered before the table's reset is finished after it, but its
            # records belong to the run before the reset.
            if began > self.resets["c2h"]:
                self.see_records(first, bytes(data[first + n] for n in range(len(data))))
        elif way:
            if began > self.resets[way]:
                self.see_line(way, began, ended, bytes(data[first + n] for n in range(len(data))))
        else:
            self.memory |= data
            self.data += len(data)

    def see_records(self, first, raw):
        assert len(raw) <= self.bench.mps and len(raw) % 16 == 0
        assert first // 4096 == (first + len(raw) - 1) // 4096, "a batch crosses 4 KiB"
        self.batches.append(len(raw) // 16)
        for at in range(0, len(raw), 16):
            count, flags, sequence = struct.unpack_from("<IIQ", raw, at)
            assert sequence == len(self.records) + 1
            assert first + at == RING + 16 * ((sequence - 1) % (1 << self.bench.entries))
            assert sequence <= self.counts["c2h"], "a record before its buffer counts"
            address, length, _ = self.buffers["c2h"][sequence - 1]
            assert count <= length
            for n in range(length):
                assert (address + n in self.memory) == (n < count), (
                    f"record {sequence} has {count} bytes of {length}; byte {n}"
                )
            self.records.append((count, flags))

    def see_line(self, way, began, ended, raw):
        position, buffers, errors, time = struct.unpack("<QQQQ", raw)
        before = self.lines[way][-1] if self.lines[way] else (0, 0, 0, 0)
        assert before[0] <= position and before[1] < buffers and before[2] <= errors
        assert before[3] < time <= ended and time >= began - 2
        assert buffers <= self.counts[way]
        if way == "c2h" and self.records:
            told = self.records[:buffers]
            assert len(told) == buffers, "a status line came before its record"
            assert position == sum(count for count, _ in told)
            assert errors == sum(flags & ERROR != 0 for _, flags in told)
        elif way == "h2c":
            done = self.buffers["h2c"][:buffers]
            assert position == sum(length for _, length, _ in done)
            assert errors == sum(address in self.fails for address, _, _ in done)
        self.lines[way].append((position, buffers, errors, time))

    def irq(self, began, ended, way):
        """Check that an interrupt comes after the record or status line of its buffer.

        In h2c one interrupt may stand for several buffers.
        """
        self.irqs[way] += 1
        wanted = [n + 1 for n, (*_, irq) in enumerate(self.buffers[way]) if irq]
        shown = self.lines[way][-1][1] if self.lines[way] else len(self.records)
        assert self.irqs[way] <= len(wanted) and shown >= wanted[self.irqs[way] - 1]


def records_of(buffers, packets):
    """Return the records (bytes, flags) expected for packets (size, error) that fill buffer after
    buffer.
    """
    result, free = [], iter(buffers)
    for size, error in packets:
        while size > 0:
            put = min(size, next(free)[1])
            size -= put
            result.append((put, 0 if size else LAST | (ERROR if error else 0)))
    return result


def stream_in(memory, buffers, records):
    """Return the bytes of the c2h stream, put together from host memory with the lengths in the
    records.
    """
    return b"".join(
        bytes(memory[address + n] for n in range(count))
        for (address, *_), (count, _) in zip(buffers, records)
    )
