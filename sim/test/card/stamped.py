# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Times of doorbell and interrupt, once by the card's stamps and once by the TLP log."""

from __future__ import annotations

from dataclasses import dataclass

from board_client import HIGH_MEMORY

TICK_NS = 4
BACK = HIGH_MEMORY + 4096  # bus address that c2h writes to
BAR0_OFFSETS = 0x1FFFF


@dataclass(frozen=True)
class Bus:
    """Timing of the card's register bus, in ns. The board may take several writes in a row."""

    way: int  # from a write's beat on CQ to its register, when the bus is free
    keeps: int  # for which one write occupies the bus


BUSES = {"lanebox": Bus(way=12, keeps=4), "litepcie": Bus(way=20, keeps=20)}


@dataclass(frozen=True)
class Pair:
    """Times in ns of one clock. The zero is that of the clock: the card's or the log's."""

    doorbell: float
    interrupt: float

    def since(self, zero):
        return Pair(self.doorbell - zero, self.interrupt - zero)


def stamps(card):
    """Read doorbell and interrupt from the card's stamps; a message must have been sent."""
    assert card.read("stamps_waiting") == 0
    doorbell, interrupt = card.read("stamps_doorbell"), card.read("stamps_interrupt")
    return Pair(TICK_NS * doorbell, TICK_NS * interrupt)


def open_loopback(card):
    """Start both directions with empty tables, h2c looped into c2h; only c2h interrupts."""
    card.memory(HIGH_MEMORY, 2 * 4096)
    card.write("pcie_dma0_loopback_enable", 1)
    card.enable_interrupts("c2h")
    for direction in ("c2h", "h2c"):
        card.program(direction, [])
        card.start(direction)


def transfer(card, size):
    """Send `size` bytes to the card and back. h2c's doorbell is the last write before the MSI."""
    card.add_descriptor("c2h", BACK, size, interrupt=True)
    card.add_descriptor("h2c", HIGH_MEMORY, size)


def zero_of(counters, log):
    """The card's time minus the log's, in ns, from what both say of the last write on RQ."""
    return TICK_NS * counters["rq_last"] - log.on("RQ", "MWr")[-1].ns


def arrivals(writes, endpoint):
    """Yield each of these host writes with the time in ns at which it reaches its register."""
    bus, at = BUSES[endpoint], 0
    for tlp in writes:
        at = max(tlp.ns + bus.way, at + bus.keeps)
        yield tlp, at


def doorbells(log, card, endpoint="lanebox"):
    """The times in ns at which h2c's doorbells reached their register."""
    push = card.address("pcie_dma0_reader_table_we")
    return [
        at
        for tlp, at in arrivals(log.on("CQ", "MWr"), endpoint)
        if tlp.address & BAR0_OFFSETS == push
    ]


def pairs(bells, messages):
    """Pair each doorbell with the first message after it."""
    return [Pair(bell, next(ns for ns in messages if ns > bell)) for bell in bells]
