# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Rows `capture/fair/*` and `capture/stopped/*`: how the queues of a card share the host.

Each port of the generator has a queue of its own, so all queues are offered the same frames.

In `capture/fair/*` the frames come faster than the host takes them. The value is the least number
of bytes that a queue has delivered, divided by the largest.

In `capture/stopped/*` the frames come at the line rate of four ports of 10G, and the host of one
queue gives no room after its first MBUF (part of the ring). The value is the number of frames that
the other queues lose.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path

from gateware.capture.vocabulary import bits
from sim.errors import TestFailed
from sim.rows.capture.line import FCS, limit_of, line_kind
from sim.rows.capture.ring import FATES, PORTS, RING, STATUS, Kind, Ring, Traffic
from sim.rows.limits import CYCLE_NS, Limit
from sim.rows.measure import Conditions
from sim.rows.peer import Bar
from sim.rows.results import LOST_FRAMES, Row, row

QUEUES = PORTS  # ports of the card; frames of port n go to queue n
RING_LOG2 = 24  # The ring of each queue has 16 MiB.
SORT = bits.mask(bits.QUEUES_CONTROL, "sort", "by_port")

# Bytes of a frame on the line, and number of frames, of `capture/fair/*`. The frames come for 4.7
# ms, and fill the staging memory in the first 0.7 ms.
FAIR_SIZE, FAIR_FRAMES = 1518, 24_000
STOPPED_SIZE, STOPPED_NS = 69, 3e6
STOPPED = 2  # the queue in whose ring the host gives no more room


class QueueRing(Ring):
    """The ring of one queue. While this queue is selected, the card's registers of a queue act on
    it."""

    def __init__(self, bar: Bar, number: int):
        self.number = number
        bar.register("capture_queues_select", number)
        place = RING + (number << RING_LOG2)
        super().__init__(bar, RING_LOG2, ring=place, status=STATUS + 4096 * number)

    def select(self) -> None:
        """Select this queue: from now on the card's registers of a queue act on it."""
        self.bar.register("capture_queues_select", self.number)


def rows(board: Path, csr: Path, at: Conditions) -> Iterator[Row]:
    """Yield the rows `capture/fair/*` and `capture/stopped/*`. Each has a board of its own,
    whose card has QUEUES queues.
    """
    yield fair(board, csr, replace(at, mps=128))
    yield stopped(board, csr, at)


def fair(board: Path, csr: Path, at: Conditions) -> Row:
    """Record more frames than the host takes, and return the row `capture/fair/*`. Its value is the
    least number of bytes that a queue has delivered, divided by the largest.

    Raises TestFailed if a queue loses too few frames, since the host was then not the limit.
    """
    frames = Traffic((Kind(FAIR_SIZE - FCS),), FAIR_FRAMES)
    with Bar(board, csr, at) as bar:
        accounts, violations = _record(bar, frames, [limit_of(frames)] * QUEUES)
    lost = [account["lost_staging"][0] for account in accounts]
    if min(lost) < FAIR_FRAMES // QUEUES // 50:
        raise TestFailed(f"capture/fair: {lost} frames were lost: the host is not saturated")
    delivered = [account["delivered"][1] for account in accounts]
    return row(
        f"capture/fair/{QUEUES}q/{FAIR_SIZE}",
        min(delivered) / max(delivered),
        "least/most",
        Limit(1.0, "equal"),
        violations=violations,
        bytes=sum(delivered),
        conditions={**asdict(at), "traffic": "generator", "frames": frames.count, "lost": lost},
    )


def stopped(board: Path, csr: Path, at: Conditions) -> Row:
    """Record frames at the line rate while the host of queue STOPPED gives no room after its first
    MBUF (part of the ring).

    Return the row `capture/stopped/*`. Its value is the number of frames that the other queues have
    lost.
    """
    kind = line_kind(STOPPED_SIZE)
    count = int(STOPPED_NS * 256 / CYCLE_NS / kind.period) // QUEUES * QUEUES
    frames = Traffic((kind,), count)
    limits = [limit_of(frames)] * QUEUES
    limits[STOPPED] = Ring.mbuf
    with Bar(board, csr, at) as bar:
        accounts, violations = _record(bar, frames, limits)
    lost = [account["lost_ring"][0] + account["lost_staging"][0] for account in accounts]
    if lost[STOPPED] < count // QUEUES // 2:
        raise TestFailed(f"capture/stopped: {lost}: queue {STOPPED} lost less than half")
    found = row(
        f"capture/stopped/{QUEUES}q/{STOPPED_SIZE}",
        sum(lost) - lost[STOPPED],
        LOST_FRAMES,
        violations=violations,
        bytes=sum(account["delivered"][1] for account in accounts),
        conditions={**asdict(at), "traffic": "generator", "frames": count, "lost": lost},
    )
    # The limit is 0 lost frames, and nothing can be divided by 0: the row has no ratio.
    found.limit, found.binds = 0.0, "line"
    return found


def _record(
    bar: Bar, frames: Traffic, limits: list[int]
) -> tuple[list[dict[str, tuple[int, int]]], int]:
    """Record `frames` in all queues, each up to its limit in bytes.

    Returns the accounts of each queue, in which each of its frames must be once, and the number of
    broken rules of PCIe.
    """
    rings = [QueueRing(bar, number) for number in range(QUEUES)]
    for port in range(PORTS):
        place, queue = (bits.QUEUES_SPREAD[name] for name in ("entry", "queue"))
        bar.register("capture_queues_spread", port << place | port << queue)
    bar.register("capture_queues_control", SORT)
    for ring, limit in zip(rings[1:], limits[1:]):
        ring.select()
        bar.register64("capture_limit", limit)
    rings[0].select()
    rings[0].start(frames, limits[0])
    rings[0].await_generator(frames)
    rings[0].stop()
    found = []
    for ring in rings:
        ring.select()
        accounts = ring.accounts()
        counted = sum(accounts[fate][0] for fate in FATES)
        if counted != frames.count // QUEUES or ring.line[1] != accounts["delivered"][0]:
            raise TestFailed(f"queue {ring.number}: {accounts}, and a line of {ring.line}")
        found.append(accounts)
    stats = bar.board.stats()
    if stats["unmapped"]:
        raise TestFailed(f"{stats['unmapped']} writes beside rings and status lines")
    return found, sum(stats["violations"].values())
