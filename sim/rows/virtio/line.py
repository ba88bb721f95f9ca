# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Rows `virtio/line/*`: frames of 64 bytes through the net device at the line rate of 10G, both
ways at once, and no loss.

A driver in C++ (sim/clients/line) keeps both rings full. The far end of the wire always has a frame
ready, so the line paces the frames to the card, and the card paces its own until the line is full.
Frames have numbers, and every byte is compared on arrival. Driver and far end act every 84 cycles
of device time, and device time stands still meanwhile. So the rows do not depend on how busy the
machine is.

The driver's chains follow one another, so that the card can guess which descriptor comes next. In
the rows `.../last` the chain that was freed last is used first, as Linux does.

A row without a direction counts lost frames. The other two have the rate of one direction, from its
first frames on. Received frames may wait on the card when the line has brought the last one, so c2h
may be lower than the line's rate by these frames.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path

from gateware.numbers import VIRTIO_QUEUE_SIZE
from sim.clients.line import program
from sim.clients.virtio import VirtioDriver
from sim.errors import TestFailed
from sim.rows import limits
from sim.rows.capture.line import GAP, PREAMBLE
from sim.rows.measure import Conditions
from sim.rows.results import LOST_FRAMES, Row, row
from sim.rows.virtio.latency import RestingBar

SIZE = 64  # bytes of a frame on the line, with FCS
RATE = 10  # Gbit/s
FRAMES = 30_000  # in each direction: 2 ms at the line rate of 10G
BUFFER_BYTES = 2048
LOST = 0xF04  # offset of the register that counts the frames which the net device has lost
WAYS = ("h2c", "c2h")
# Suffixes of rows, by the order in which the driver uses its chains.
ORDERS = {"turn": "", "last": "/last"}


def line_rate(gigabits: int) -> limits.Limit:
    """Return how many million frames of SIZE a second a line carries in a direction."""
    return limits.Limit(gigabits * 1e3 / (8 * (PREAMBLE + SIZE + GAP)), "line")


def rows(
    board: Path,
    csr: Path,
    at: Conditions,
    frames: int = FRAMES,
    gigabits: int = RATE,
    orders: Iterable[str] = ORDERS,
) -> Iterator[Row]:
    """Send `frames` frames each way on a new board whose net device has a wire, for each order of
    chains. Yield the row of lost frames, then the rate of each direction in million frames a second
    (Mpps).

    Raises TestFailed if a frame comes twice or changed, or is lost where it is not counted.
    """
    for order in orders:
        name = f"virtio/line/{gigabits}g/{SIZE}{ORDERS[order]}"
        found, stats = _run(board, csr, at, frames, gigabits, order)
        _check(name, found, stats, frames)
        yield from _rows(name, found, stats, line_rate(gigabits), {**asdict(at), "frames": frames})


def _rows(
    name: str, found: dict, stats: dict, limit: limits.Limit, conditions: dict
) -> Iterator[Row]:
    lost = {way: found[way]["lost"] for way in WAYS}
    rates = {way: _rate(found[way]) for way in WAYS}
    conditions = {
        **conditions,
        "lost": lost,
        "mpps": rates,
        "queue_size": VIRTIO_QUEUE_SIZE,
        "least_chains": {"h2c": found["least_frames"], "c2h": found["least_buffers"]},
    }
    total = row(
        name,
        sum(lost.values()),
        LOST_FRAMES,
        violations=sum(stats["violations"].values()),
        cycles=found["cycles"],
        conditions=conditions,
    )
    # The limit is 0 lost frames, and nothing can be divided by 0: the row has no ratio.
    total.limit, total.binds = 0.0, "line"
    yield total
    for way in WAYS:
        yield row(f"{name}/{way}", rates[way], "Mpps", limit, conditions=conditions)


def _rate(account: dict) -> float:
    """Return the rate of a direction in million frames a second."""
    return account["window_frames"] / (account["window_cycles"] * limits.CYCLE_NS) * 1e3


def _run(
    board: Path, csr: Path, at: Conditions, frames: int, gigabits: int, order: str
) -> tuple[dict, dict]:
    """Return the accounts of the program `line`, and the board's statistics at the end.

    The register of lost frames is beside the accounts, as "device_lost".
    """
    with tempfile.TemporaryDirectory(prefix="lanebox-") as folder:
        wire = Path(folder) / "wire"
        options = ["--wire", f"listen:{wire}", "--wire-rate", str(gigabits)]
        with RestingBar(board, csr, at, options) as bar:
            page = bar.csr["constants"]["virtio_net_base"]
            driver = VirtioDriver(bar.client, page, True, VIRTIO_QUEUE_SIZE, BUFFER_BYTES)
            found = program.run(bar.board, driver, wire, gigabits, frames, order)
            bar.board.command("resume")
            found["device_lost"] = driver.read(LOST)
            driver.close()
            return found, bar.board.stats()


def _check(name: str, found: dict, stats: dict, frames: int) -> None:
    for way in WAYS:
        for what in ("repeated", "changed"):
            if count := found[way][what]:
                raise TestFailed(f"{name}: {count} frames of {way} came {what}")
        if (count := stats["wire"][way]["frames"]) != frames:
            raise TestFailed(f"{name}: {count} of {frames} frames of {way} passed the MAC")
    if found["h2c"]["lost"] or found["c2h"]["lost"] != found["device_lost"]:
        lost = {way: found[way]["lost"] for way in WAYS}
        raise TestFailed(f"{name}: {lost} lost, and the device counts {found['device_lost']}")
    if stats["unmapped"]:
        raise TestFailed(f"{name}: {stats['unmapped']} accesses beside the mapped memory")
