# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Rows `capture/*`: how fast the card writes frames into host memory as pcapng records.

The card's generator makes frames as fast as it can, and waits while the capture block has no room,
so no frame is lost. The measured time begins with the timestamp of the first frame. It ends with
the time in the status line that counts the last record. So filling the pipeline and emptying it are
included. Both times are device time, and the host reads nothing but its own memory, so the row does
not depend on the machine's speed.
"""

from __future__ import annotations

import mmap
import os
import struct
import time
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path

from sim.errors import TestFailed
from sim.rows import limits
from sim.rows.measure import Conditions
from sim.rows.peer import Bar
from sim.rows.results import Row, row

# Sizes in bytes of the captured frames. With 69 the block that builds pcapng records takes longest
# for its size.
SIZES = (64, 69, 256, 1518)
BYTES = 3 << 20  # The bytes of all pcapng records of one measurement together.
# The capture ring has one segment of 4 MiB, in MBUFs (parts of the segment) of 1 MiB.
SEGMENT_LOG2, MBUF_LOG2 = 22, 20
# Bus addresses of the capture ring and of its status line in host memory.
RING, STATUS = 0x1_0000_0000, 0x2_0000_0000
RUN, LOSSLESS, CLEAR = 1 << 0, 1 << 2, 1 << 8  # bits of the register capture_control
IDLE, ACCOUNTS_BUSY = 1 << 0, 1 << 1  # bits of the register capture_status
SECONDS = 120  # The measurement of one row may take this many seconds of wall time.


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
    ring, status = _memory(bar, RING, 1 << SEGMENT_LOG2), _memory(bar, STATUS, 4096)
    _set_up(bar)
    _start(bar, size, count)
    deadline = time.monotonic() + SECONDS
    while (line := struct.unpack_from("<4Q", status))[1] < count:
        if time.monotonic() > deadline:
            raise TestFailed(f"capture of {size} bytes: {line[1]} of {count} records came")
        time.sleep(0.005)
    # The first look may have met the board while it wrote the status line. That line is the last
    # one, so it is read again.
    _, _, lost, end = struct.unpack_from("<4Q", status)
    # The time stamp of the first pcapng record in the ring (pcapng, 4.3).
    high, low = struct.unpack_from("<II", ring, 12)
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


def _memory(bar: Bar, address: int, size: int) -> mmap.mmap:
    """Map `size` bytes of new host memory at a bus address for the card.

    Returns the host's view of that memory.
    """
    fd = os.memfd_create("lanebox-capture")
    os.ftruncate(fd, size)
    bar.client.map(address, size, fd)
    data = mmap.mmap(fd, size)
    os.close(fd)
    return data


def _set_up(bar: Bar) -> None:
    """Give the capture block its ring of host memory, its status line and a limit.

    The block's accounts of frames and bytes are cleared first.
    """
    bar.register64("capture_segment_base", RING)
    bar.register("capture_segment_index", 0)
    bar.register("capture_last_segment", 0)
    bar.register("capture_segment_log2", SEGMENT_LOG2)
    bar.register("capture_mbuf_log2", MBUF_LOG2)
    bar.register64("capture_status_base", STATUS)
    bar.register("capture_control", CLEAR)
    deadline = time.monotonic() + SECONDS
    while bar.read_register("capture_status") & (IDLE | ACCOUNTS_BUSY) != IDLE:
        if time.monotonic() > deadline:
            raise TestFailed("the capture block's accounts were not cleared")
    bar.register64("capture_limit", 1 << SEGMENT_LOG2)


def _start(bar: Bar, size: int, count: int) -> None:
    bar.register("capture_generator_size", size)
    bar.register("capture_generator_period", 0)
    bar.register("capture_generator_count", count)
    bar.register("capture_generator_port_mask", 0)
    bar.register("capture_control", RUN | LOSSLESS)
    bar.register("capture_generator_control", 1)
