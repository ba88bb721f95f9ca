# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Rows `capture/c2h/*` and `capture/mpps/*`: how fast the card writes frames into host memory as
pcapng records.

The card's generator makes frames as fast as it can, and waits while the capture block has no room,
so no frame is lost. The measured time begins with the timestamp of the first frame. It ends with
the time in the status line that counts the last record. So filling the pipeline and emptying it are
included. Both times are device time, and the host reads nothing but its own memory, so the row does
not depend on the machine's speed.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path

from sim.errors import TestFailed
from sim.rows import limits
from sim.rows.capture.ring import LOSSLESS, SECONDS, Kind, Ring, Traffic
from sim.rows.measure import Conditions
from sim.rows.peer import Bar
from sim.rows.results import Row, row

# Sizes in bytes of the captured frames. With 69 the block that builds pcapng records takes longest
# for its size.
SIZES = (64, 69, 256, 1518)
BYTES = 3 << 20  # The bytes of all pcapng records of one measurement together.
RING_LOG2 = 22  # The capture ring has 4 MiB.


def rows(board: Path, csr: Path, at: Conditions) -> Iterator[Row]:
    """Yield the rows of each MPS and frame size, each on a new board with the capture block.

    The rows without `/mps` in their id are at MPS 256. `capture/mpps/64` is `capture/c2h/64` as
    millions of frames a second.
    """
    for mps in (256, 128, 512):
        suffix = "" if mps == 256 else f"/mps{mps}"
        for size in SIZES:
            with Bar(board, csr, replace(at, mps=mps)) as bar:
                entry = _measure(bar, size, suffix)
            yield entry
            if (size, mps) == (64, 256):
                yield _frames(entry, size)


def _measure(bar: Bar, size: int, suffix: str) -> Row:
    record = limits.capture_record(size)
    count = BYTES // record
    ring = Ring(bar, RING_LOG2)
    ring.start(Traffic((Kind(size),), count), 1 << RING_LOG2, LOSSLESS)
    deadline = time.monotonic() + SECONDS
    while (line := ring.line)[1] < count:
        if time.monotonic() > deadline:
            raise TestFailed(f"capture of {size} bytes: {line[1]} of {count} records came")
        time.sleep(0.005)
    # The status line may have been read while the board was writing it. It is the last line, so
    # the second read gives its final content.
    _, _, lost, end = ring.line
    # The time stamp of the first pcapng record in the ring (pcapng, 4.3).
    high, low = struct.unpack_from("<II", ring.data, 12)
    took = end - (high << 32 | low)
    if lost:
        raise TestFailed(f"capture of {size} bytes: {lost} frames were lost")
    return row(
        f"capture/c2h/{size}{suffix}",
        count * record / took,
        "GB/s",
        limits.capture(size, bar.at.mps),
        violations=sum(bar.board.stats()["violations"].values()),
        bytes=count * record,
        cycles=int(took / limits.CYCLE_NS),
        conditions={**asdict(bar.at), "traffic": "generator", "frames": count},
    )


def _frames(entry: Row, size: int) -> Row:
    """Return the benchmark row of the same measurement in millions of frames a second."""
    million = 1e3 / limits.capture_record(size)
    return replace(
        entry,
        id=f"capture/mpps/{size}",
        value=entry.value * million,
        limit=entry.limit * million,
        unit="M frames/s",
    )
