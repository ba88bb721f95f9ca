# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Helpers for tests of latency. They give the times of a DMA's doorbell and of its interrupt, once
from the card's stamp registers and once from the board's TLP log."""

from __future__ import annotations

from dataclasses import dataclass

from gateware import numbers
from sim.test.board.board_client import HIGH_MEMORY

TICK_NS = numbers.TICK_NS
BACK = HIGH_MEMORY + 4096  # bus address of the host's buffer that c2h writes
BAR0_OFFSETS = 0x1FFFF  # mask of the address bits that are the offset in BAR0


@dataclass(frozen=True)
class Bus:
    """How long a host write takes from CQ to its register, in ns. A write waits while another
    occupies the register bus."""

    # ns from a host write's beat on CQ until it reaches its register, if the register bus is free
    way: int
    keeps: int  # ns for which one host write occupies the card's register bus


BUSES = {"lanebox": Bus(way=12, keeps=4), "litepcie": Bus(way=20, keeps=20)}


@dataclass(frozen=True)
class Pair:
    """The times of a DMA's doorbell and of its interrupt in ns, both by the card's clock or both by
    the clock of the TLP log."""

    doorbell: float
    interrupt: float

    def since(self, zero):
        return Pair(self.doorbell - zero, self.interrupt - zero)


def stamps(card):
    """Return the Pair of the last doorbell and its interrupt from the card's stamp registers. The
    interrupt must have been sent already."""
    assert card.read("stamps_waiting") == 0
    doorbell, interrupt = card.read("stamps_doorbell"), card.read("stamps_interrupt")
    return Pair(TICK_NS * doorbell, TICK_NS * interrupt)


def open_loopback(card):
    """Start both DMA directions with empty tables and h2c looped back to c2h. Only c2h can raise an
    interrupt."""
    card.memory(HIGH_MEMORY, 2 * 4096)
    card.write("pcie_dma0_loopback_enable", 1)
    card.enable_interrupts("c2h")
    for direction in ("c2h", "h2c"):
        card.program(direction, [])
        card.start(direction)


def transfer(card, size):
    """Send `size` bytes to the card and back to the host. The register write that appends the h2c
    descriptor comes last and is the doorbell."""
    card.add_descriptor("c2h", BACK, size, interrupt=True)
    card.add_descriptor("h2c", HIGH_MEMORY, size)


def zero_of(counters, log):
    """Return the card's clock minus the clock of the TLP log, in ns. It is computed from the last
    write on RQ, whose time both have."""
    return TICK_NS * counters["rq_last"] - log.on("RQ", "MWr")[-1].ns


def arrivals(writes, endpoint):
    """For each of the host writes `writes` yield (the write, the time in ns at which it reaches its
    register)."""
    bus, at = BUSES[endpoint], 0
    for tlp in writes:
        at = max(tlp.ns + bus.way, at + bus.keeps)
        yield tlp, at


def doorbells(log, card, endpoint="lanebox"):
    """Return the times in ns at which the writes in the TLP log that append an h2c descriptor reach
    their register."""
    push = card.address("pcie_dma0_reader_table_we")
    return [
        at
        for tlp, at in arrivals(log.on("CQ", "MWr"), endpoint)
        if tlp.address & BAR0_OFFSETS == push
    ]


def pairs(bells, messages):
    """Return a Pair for each doorbell: its time, and the time of the first interrupt message after
    it."""
    return [Pair(bell, next(ns for ns in messages if ns > bell)) for bell in bells]
