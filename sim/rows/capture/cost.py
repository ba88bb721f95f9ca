# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Rows of what a captured frame costs: `capture/latency`, `capture/cycles` and `capture/overhead`.

Sizes are those on the line, with an FCS of 4 bytes, which is not recorded. All times are those of
the card's clock of 4 ns.
"""

from __future__ import annotations

import struct
import tempfile
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from sim.errors import TestFailed
from sim.rows import limits
from sim.rows.capture.line import FCS
from sim.rows.capture.ring import LOSSLESS, STATUS, Kind, Ring, Traffic
from sim.rows.limits import Limit
from sim.rows.measure import Conditions
from sim.rows.peer import Bar
from sim.rows.results import Row, row
from sim.trace import tlp

SMALL = 64  # bytes of the smallest Ethernet frame
RECORD = 6  # the type of a pcapng block that is the record of a frame

# The frames of the latency row come alone, so that each finds the card idle. Their period in 1/256
# of a cycle is no whole number of cycles, so they do not keep step with anything in the card.
ALONE = Traffic((Kind(SMALL - FCS, 600 * 256 + 77),), 200)
P50, P99 = 400, 600  # The goals in ns for the median and the 99th percentile of the latency.

# Sizes of the row of overhead, and the bytes of the ring that are filled for it.
SIZES = (64, 1518)
FILLED = 8 << 20
# The frames of the row of cycles. The staging memory holds what the link does not take meanwhile,
# so RecordBuilder never waits for the link.
BURST = 20_000


def rows(board: Path, csr: Path, at: Conditions) -> Iterator[Row]:
    """Yield the rows `capture/latency`, `capture/cycles` (cycles that RecordBuilder takes for a
    frame) and `capture/overhead` (bytes of the ring for each byte of a frame, by size)."""
    yield latency(board, csr, at)
    yield cycles(board, csr, at)
    for size in SIZES:
        yield overhead(board, csr, at, size)


def latency(board: Path, csr: Path, at: Conditions) -> Row:
    """Return the row of the time from a frame's last beat into the capture block to its line.

    The line is the status line that counts the frame's record, and the time ends with the line's
    last beat on RQ. Records do not wait for others, and the card is idle when a frame comes.

    A record has the time at which the generator made its frame's first beat. A cycle later that
    beat is at the block, and the last beat comes behind it. The times of RQ are the board's. The
    two clocks are compared by a read of device time: the card takes the value after the request's
    beat on CQ. So the row's times are too long by at most the duration of that read, 8 cycles, and
    never too short.
    """
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder) / "trace.pcapng"
        with Bar(board, csr, at, ["--tlp-log", str(trace)]) as bar:
            device_ns = bar.read_register("device_time_low") * limits.CYCLE_NS
            ring = Ring(bar, 22, wait=0)
            ring.start(ALONE, 1 << 22)
            ring.await_generator(ALONE)
            ring.stop()
            times = [time for _, time in records(ring)]
            violations = sum(bar.board.stats()["violations"].values())
        found = list(tlp.load(trace))
    address = bar.csr["csr_registers"]["device_time_low"]["addr"]
    read = next(t for t in found if t.interface == "CQ" and t.address & 0xFFFFF == address)
    lines = {
        struct.unpack_from("<2Q", t.payload)[1]: t.ns
        for t in reversed(found)
        if t.interface == "RQ" and t.address == STATUS
    }
    beats = -(-(SMALL - FCS) // limits.BEAT_BYTES)
    last_beat = beats * limits.CYCLE_NS + (read.ns - device_ns)
    if len(times) != ALONE.count:
        raise TestFailed(f"{len(times)} of {ALONE.count} frames were recorded")
    taken = sorted(lines[n] - (time + last_beat) for n, time in enumerate(times, 1))
    return row(
        f"capture/latency/{SMALL}",
        taken[len(taken) // 2],
        "ns",
        Limit(P50, "budget"),
        lower_is_better=True,
        p99=taken[len(taken) * 99 // 100],
        violations=violations,
        conditions={**asdict(at), "wait": 0, "frames": len(taken), "p99_budget": P99},
    )


def cycles(board: Path, csr: Path, at: Conditions) -> Row:
    """Return the row of the cycles that RecordBuilder takes for a frame of 64 B.

    The generator makes frames as fast as the block takes them, and a record has its frame's time.
    So the mean time from record to record is what the slowest stage before the staging memory
    takes. The row is measured at the first BURST frames, while the staging memory has room.
    """
    burst = Traffic((Kind(SMALL - FCS),), BURST)
    with Bar(board, csr, at) as bar:
        ring = Ring(bar, 22)
        ring.start(burst, 1 << 22, LOSSLESS)
        ring.await_generator(burst)
        ring.stop()
        times = [time for _, time in records(ring)]
        violations = sum(bar.board.stats()["violations"].values())
    if len(times) != BURST:
        raise TestFailed(f"{len(times)} of {BURST} frames were recorded")
    return row(
        f"capture/cycles/{SMALL}",
        (times[-1] - times[0]) / (BURST - 1) / limits.CYCLE_NS,
        "cycles",
        Limit(limits.BUILDER_CYCLES, "builder"),
        lower_is_better=True,
        violations=violations,
        conditions={**asdict(at), "frames": BURST},
    )


def overhead(board: Path, csr: Path, at: Conditions, size: int) -> Row:
    """Return the row `capture/overhead`: how many bytes of the ring are written for each byte of
    frames of `size` bytes.

    Fillers (blocks that end a part of the ring) and seals are included: all MBUFs (parts of the
    ring) but the last are full, and the last one is not counted. The limit is that of the records
    alone.
    """
    record = limits.capture_record(size - FCS)
    frames = Traffic((Kind(size - FCS),), FILLED // record)
    with Bar(board, csr, at) as bar:
        ring = Ring(bar, 24)
        ring.start(frames, 1 << 24, LOSSLESS)
        ring.await_generator(frames)
        ring.stop()
        # The card fills the last MBUF up when it stops, so the ring ends with an MBUF.
        end = ring.line[0]
        full = sum(1 for at, _ in records(ring) if at < end - ring.mbuf)
        violations = sum(bar.board.stats()["violations"].values())
        conditions = asdict(bar.at)
    return row(
        f"capture/overhead/{size}",
        (end - ring.mbuf) / (full * (size - FCS)),
        "B/B",
        Limit(record / (size - FCS), "record"),
        lower_is_better=True,
        violations=violations,
        conditions={**conditions, "frames": full},
    )


def records(ring: Ring) -> Iterator[tuple[int, int]]:
    """Yield (offset in bytes in the ring, time in ns) of each pcapng record in the ring, in
    order."""
    at, end = 0, ring.line[0]
    while at < end:
        kind, length, _, high, low = struct.unpack_from("<5I", ring.data, at)
        if kind == RECORD:
            yield at, high << 32 | low
        at += length
