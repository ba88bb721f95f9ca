# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Doorbell and interrupt by the card's stamps, beside the same two by the TLP log."""

from __future__ import annotations

from dataclasses import dataclass

from board_client import HIGH_MEMORY

TICK_NS = 4
BACK = HIGH_MEMORY + 4096  # where c2h writes
BAR0_OFFSETS = 0x1FFFF


@dataclass(frozen=True)
class Bus:
    """The way to the registers, in ns. The board may take several writes close together."""

    way: int  # of a write that finds the bus free: from its beat on CQ to the bus
    keeps: int  # that a write keeps the bus


BUSES = {"lanebox": Bus(way=12, keeps=4), "litepcie": Bus(way=20, keeps=20)}


@dataclass(frozen=True)
class Pair:
    """In ns of one clock, whose zero is whoever's that kept it."""

    doorbell: float
    interrupt: float

    def since(self, zero):
        return Pair(self.doorbell - zero, self.interrupt - zero)


def stamps(card):
    """What the card's registers say; a message has come."""
    assert card.read("stamps_waiting") == 0
    doorbell, interrupt = card.read("stamps_doorbell"), card.read("stamps_interrupt")
    return Pair(TICK_NS * doorbell, TICK_NS * interrupt)


def open_loopback(card):
    """Both directions run, h2c into c2h, with empty tables; only c2h interrupts."""
    card.memory(HIGH_MEMORY, 2 * 4096)
    card.write("pcie_dma0_loopback_enable", 1)
    card.enable_interrupts("c2h")
    for direction in ("c2h", "h2c"):
        card.program(direction, [])
        card.start(direction)


def transfer(card, size):
    """`size` bytes there and back: the last write before the message is h2c's doorbell."""
    card.add_descriptor("c2h", BACK, size, interrupt=True)
    card.add_descriptor("h2c", HIGH_MEMORY, size)


def zero_of(counters, log):
    """What device time has on top of the log's clock, by what both say of the last TLP on RQ."""
    return TICK_NS * counters["rq_last"] - log.on("RQ", "MWr")[-1].ns


def arrivals(writes, endpoint):
    """Each of these writes of the host with the time at which it reaches its register."""
    bus, at = BUSES[endpoint], 0
    for tlp in writes:
        at = max(tlp.ns + bus.way, at + bus.keeps)
        yield tlp, at


def doorbells(log, card, endpoint="lanebox"):
    """When h2c's doorbells reached their register."""
    push = card.address("pcie_dma0_reader_table_we")
    return [
        at
        for tlp, at in arrivals(log.on("CQ", "MWr"), endpoint)
        if tlp.address & BAR0_OFFSETS == push
    ]


def pairs(bells, messages):
    """Each of these doorbells with the first of these messages behind it."""
    return [Pair(bell, next(ns for ns in messages if ns > bell)) for bell in bells]
