# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Doorbell and interrupt by the card's stamps, beside the same two by the TLP log."""

from __future__ import annotations

from dataclasses import dataclass

from board_client import HIGH_MEMORY

TICK_NS = 4
BUS_NS = 20  # that a register's write keeps the bus; the board may take several close together
BACK = HIGH_MEMORY + 4096  # where c2h writes
BAR0_OFFSETS = 0x1FFFF


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


def doorbells(log, card):
    """When h2c's doorbells came on CQ, or when the bus was free for them, if that was later."""
    push = card.address("pcie_dma0_reader_table_we")
    bells, free = [], 0
    for tlp in log.on("CQ", "MWr"):
        begin = max(tlp.ns, free)
        free = begin + BUS_NS
        if tlp.address & BAR0_OFFSETS == push:
            bells.append(begin)
    return bells


def pairs(bells, messages):
    """Each of these doorbells with the first of these messages behind it."""
    return [Pair(bell, next(ns for ns in messages if ns > bell)) for bell in bells]
