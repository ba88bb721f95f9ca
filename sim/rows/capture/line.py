# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Rows `capture/line/*` and `capture/stall/*`: frames at the line rate of four ports, and no loss.

The generator makes frames for four ports at 40 Gb/s together, as four lanes of 10GBASE-R would
bring them: each frame has 8 bytes of preamble before it, and its FCS of 4 bytes and a gap of 12
bytes behind it. Sizes are those on the line, with FCS. The FCS is not recorded. The generator
spaces the frames evenly; its period is rounded down, so its rate is never below the line's.

The value of a row is the number of lost frames, by the accounts of the card, and its conditions
have all accounts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from pathlib import Path

from sim.errors import TestFailed
from sim.rows import limits
from sim.rows.capture.ring import DEVICE_NS, FATES, MBUF_LOG2, SECONDS, Kind, Ring, Traffic
from sim.rows.measure import Conditions
from sim.rows.peer import START, Bar
from sim.rows.results import LOST_FRAMES, Row, row

LINE = 40  # the line's rate in Gb/s: four lanes of 10GBASE-R
FCS, PREAMBLE, GAP = 4, 8, 12  # bytes of an Ethernet frame on the line that are not recorded
# {row's name: sizes of its Ethernet frames, in bytes on the line, with FCS}. Of each 12 frames of
# `mix`, 7 have the first size, 4 the second and 1 the third.
SIZES = {"64": (64,), "69": (69,), "1518": (1518,), "mix": (64, 594, 1518)}
FULL = 1_000_000  # this many frames of 64 B come in DEVICE_NS
RING_LOG2 = 27  # The ring has 128 MiB, enough for all records of a row of DEVICE_NS.

# In these rows the staging memory must hold the frames that come while the host takes no write.
STALL_SIZE = 69
# From this cycle on, when the pipeline is full, the host takes no write.
PAUSE_AT = START + 10_000
AFTER_NS = 100_000  # Frames still come for so long after the longest stall, in ns.
# Stalls in ns: during the first one no frame may be lost, and during the second one some must be.
HELD, LOST = 170_000, 190_000


def line_kind(size: int) -> Kind:
    """Return the generator's frames of `size` bytes on the line, at the line's rate."""
    period = (size + PREAMBLE + GAP) * 8 / LINE / limits.CYCLE_NS * 256
    return Kind(size - FCS, int(period))


def traffic(name: str, ns: float = DEVICE_NS) -> Traffic:
    """Return the generator's frames for the rows `capture/line/4x10/NAME`, at line rate for about
    `ns` of device time.

    For the name "64" (frames of 64 B) there are FULL frames in DEVICE_NS. For other names the
    number of frames is a multiple of 12.
    """
    kinds = tuple(map(line_kind, SIZES[name]))
    if name == "64":
        return Traffic(kinds, int(FULL * ns / DEVICE_NS))
    rounds = Traffic(kinds, 12)
    return Traffic(kinds, 12 * int(ns / rounds.ns))


def rows(board: Path, csr: Path, at: Conditions) -> Iterator[Row]:
    """Yield the rows of each size at MPS 256 and 128, and those of a host that stalls."""
    for mps in (256, 128):
        for name in SIZES:
            yield line(board, csr, replace(at, mps=mps), name)
    for stall in (HELD, LOST):
        yield stalled(board, csr, at, stall)


def line(
    board: Path,
    csr: Path,
    at: Conditions,
    name: str,
    ns: float = DEVICE_NS,
    look: Callable[[Ring, Traffic], object] = lambda ring, frames: None,
) -> Row:
    """Capture frames at line rate for `ns` of device time, and return their row.

    If the records need more than the ring, the card writes over old ones, as if the host had taken
    them at once. `look` is called with the ring and the frames when the recording has ended.
    """
    frames = traffic(name, ns)
    with Bar(board, csr, at) as bar:
        ring = Ring(bar, RING_LOG2)
        ring.start(frames, limit_of(frames))
        ring.await_generator(frames, SECONDS * max(1, ns / DEVICE_NS))
        ring.stop()
        look(ring, frames)
        suffix = "" if at.mps == 256 else f"/mps{at.mps}"
        return loss_row(f"capture/line/4x10/{name}{suffix}", ring, frames)


def limit_of(frames: Traffic) -> int:
    """Return a limit in bytes up to which the card may write. It is so large that all records of
    `frames`, with fillers and seals, come before it."""
    mbufs = frames.record_bytes // ((1 << MBUF_LOG2) - 2048) + 2
    return mbufs << MBUF_LOG2


def stalled(
    board: Path,
    csr: Path,
    at: Conditions,
    stall_ns: int,
    look: Callable[[Ring, Traffic], object] = lambda ring, frames: None,
) -> Row:
    """Capture frames of STALL_SIZE at line rate while the host takes no write for `stall_ns`.

    Returns the row. The row of HELD has no suffix. `look` is as in line().
    """
    kind = line_kind(STALL_SIZE)
    ns = (PAUSE_AT - START) * limits.CYCLE_NS + LOST + AFTER_NS
    frames = Traffic((kind,), int(ns * 256 / limits.CYCLE_NS / kind.period))
    with Bar(board, csr, at) as bar:
        ring = Ring(bar, RING_LOG2)
        ring.start(frames, limit_of(frames))
        bar.board.command(f"at {PAUSE_AT} pause {stall_ns}")
        ring.await_generator(frames)
        ring.stop()
        look(ring, frames)
        suffix = "" if stall_ns == HELD else f"/{stall_ns // 1000}us"
        found = loss_row(f"capture/stall/4x10/{STALL_SIZE}{suffix}", ring, frames)
        if bar.board.stats()["write_stalls"] != 1:
            raise TestFailed("the host did not stall once")
    found.conditions["stall_us"] = stall_ns / 1000
    if stall_ns == LOST:
        found.conditions["overfilled"] = True
        found.reason = (
            f"The host takes nothing for {LOST / 1000:.0f} us. The staging memory of 1 MiB holds "
            "the frames of 179 us, so frames must be lost here, and counted."
        )
    return found


def loss_row(name: str, ring: Ring, frames: Traffic) -> Row:
    """Return the row of a recording that has ended, after a check of its loss identity.

    Of the generator's frames and bytes each must be in one account. The status line and the ring
    must have the delivered ones.
    """
    accounts = ring.accounts()
    totals = [sum(column) for column in zip(*accounts.values())]
    if totals != [frames.count, frames.bytes]:
        raise TestFailed(f"{name}: {frames.count} frames of {frames.bytes} bytes, and {accounts}")
    _, records, told, _ = ring.line
    lost = accounts["lost_ring"][0] + accounts["lost_staging"][0]
    if records != accounts["delivered"][0] or told > lost:
        raise TestFailed(f"{name}: {records} records and {told} lost, and {accounts}")
    bar = ring.bar
    stats = bar.board.stats()
    if stats["unmapped"]:
        raise TestFailed(f"{name}: {stats['unmapped']} writes beside ring and status line")
    found = row(
        name,
        lost,
        LOST_FRAMES,
        violations=sum(stats["violations"].values()),
        bytes=accounts["delivered"][1],
        cycles=int(frames.ns / limits.CYCLE_NS),
        conditions={
            **asdict(bar.at),
            "traffic": "generator",
            "frames": frames.count,
            "device_ms": frames.ns / 1e6,
            "mpps": frames.count / frames.ns * 1e3,
            **{fate: accounts[fate][0] for fate in FATES},
        },
    )
    # The limit is 0 lost frames, and nothing can be divided by 0: the row has no ratio.
    found.limit, found.binds = 0.0, "line"
    return found
