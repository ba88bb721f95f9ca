# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""For tests of latency: times of a DMA's doorbell and of its interrupt, once by the card's stamp
registers and once by the board's TLP log.
"""

from __future__ import annotations

from dataclasses import dataclass

from sim.test.board.board_client import HIGH_MEMORY

TICK_NS = 4
BACK = HIGH_MEMORY + 4096  # bus address of the buffer that c2h writes
BAR0_OFFSETS = 0x1FFFF


@dataclass(frozen=True)
class Bus:
    """Times in ns of the bus from CQ to the registers. If the bus is occupied, a write waits."""

    way: int  # ns from a write's beat on CQ until it reaches its register, when the bus is free
    keeps: int  # ns for which one write occupies the bus


BUSES = {"lanebox": Bus(way=12, keeps=4), "litepcie": Bus(way=20, keeps=20)}


@dataclass(frozen=True)
class Pair:
    """Doorbell and interrupt of one DMA, in ns of one clock: the card's or the TLP log's."""

    doorbell: float
    interrupt: float

    def since(self, zero):
        return Pair(self.doorbell - zero, self.interrupt - zero)


def stamps(card):
    """Doorbell and interrupt from the card's stamps. The interrupt must have been sent already."""
    assert card.read("stamps_waiting") == 0
    doorbell, interrupt = card.read("stamps_doorbell"), card.read("stamps_interrupt")
    return Pair(TICK_NS * doorbell, TICK_NS * interrupt)


def open_loopback(card):
    """Start both DMA directions with empty tables and h2c looped back to c2h. Only c2h may
    interrupt."""
    card.memory(HIGH_MEMORY, 2 * 4096)
    card.write("pcie_dma0_loopback_enable", 1)
    card.enable_interrupts("c2h")
    for direction in ("c2h", "h2c"):
        card.program(direction, [])
        card.start(direction)


def transfer(card, size):
    """Send `size` bytes to the card and back. The h2c descriptor, written last, is the doorbell."""
    card.add_descriptor("c2h", BACK, size, interrupt=True)
    card.add_descriptor("h2c", HIGH_MEMORY, size)


def zero_of(counters, log):
    """The card's clock minus the log's, in ns. Both have a time for the last write on RQ."""
    return TICK_NS * counters["rq_last"] - log.on("RQ", "MWr")[-1].ns


def arrivals(writes, endpoint):
    """For each of these host writes: yield it and the time in ns at which it reaches its
    register."""
    bus, at = BUSES[endpoint], 0
    for tlp in writes:
        at = max(tlp.ns + bus.way, at + bus.keeps)
        yield tlp, at


def doorbells(log, card, endpoint="lanebox"):
    """The times in ns at which the writes that append an h2c descriptor reach their register."""
    push = card.address("pcie_dma0_reader_table_we")
    return [
        at
        for tlp, at in arrivals(log.on("CQ", "MWr"), endpoint)
        if tlp.address & BAR0_OFFSETS == push
    ]


def pairs(bells, messages):
    """Pair each doorbell's time with that of the first interrupt message after it."""
    return [Pair(bell, next(ns for ns in messages if ns > bell)) for bell in bells]
