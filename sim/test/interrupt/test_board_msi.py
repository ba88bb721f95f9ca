# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Tests of MSI: each request is one message, and eventfd, TLP log and statistics count the same
number."""

import os
import time

import pytest

from sim.test.board.board_client import C2H_GENERATE, HIGH_MEMORY, pattern, slices, wait_until
from sim.test.card.stamped import TICK_NS

TOTAL = 64 * 1024


def c2h(card, descriptors, interrupts="last"):
    """Let the card's pattern generator fill the c2h buffers of `descriptors`. The pattern begins
    anew at each call."""
    card.write("pattern_control", C2H_GENERATE)
    card.program("c2h", descriptors, interrupts)
    card.start("c2h")


def run_until_idle(board, card, memory):
    card.wait_data(memory, pattern(TOTAL))
    card.stop()
    card.read("ctrl_scratch")
    time.sleep(0.02)
    return board.stats()


@pytest.mark.parametrize("interrupts,count", [("all", 8), ("last", 1), ("none", 0)])
def test_one_msi_for_each_request(start_board, interrupts, count):
    """Each c2h descriptor that asks for an interrupt raises one MSI, and no other descriptor
    does."""
    with start_board(log=True) as board:
        card = board.card()
        memory = card.memory(HIGH_MEMORY, TOTAL)
        card.enable_interrupts("c2h")
        c2h(card, slices(HIGH_MEMORY, TOTAL, 8192), interrupts)
        stats = run_until_idle(board, card, memory)
        assert stats["msi"] == card.interrupts() == count
        assert stats["msi_lost"] == 0
    assert len(board.tlps().on("RQ", "MSI")) == count


def moderated(wanted, interval, count):
    """Return the times in ns at which messages must go, for c2h descriptors that end at the times
    `wanted` (ns). `interval` is in ns."""
    went, kept, last = [], 0, -interval
    for at in wanted:
        if kept and last + interval <= at:
            last, kept = last + interval, 0
            went.append(last)
        kept += 1
        if at - last >= interval or kept >= count:
            last, kept = at, 0
            went.append(at)
    return [*went, last + interval] if kept else went


@pytest.mark.parametrize("count", [255, 6, 1])
def test_interrupts_that_come_fast_become_one(start_board, count):
    """Interrupt moderation at full rate: a message goes after `count` descriptors, or when the
    interval is over.

    The first message goes at once, as every message does in a slow stream. The last one goes when
    its interval of device time is over.
    """
    # `buffer` is in bytes. `interval` is the moderation interval in cycles, in which c2h fills
    # about 20 buffers.
    buffer, interval = 2048, 1500
    with start_board(log=True) as board:
        card = board.card()
        memory = card.memory(HIGH_MEMORY, TOTAL)
        card.enable_interrupts("c2h")
        card.write("pcie_moderation0_writer", count << 24 | interval)
        c2h(card, slices(HIGH_MEMORY, TOTAL, buffer), "all")
        card.wait_data(memory, pattern(TOTAL))
        # The card's pattern generator keeps the board busy, so that device time passes.
        end = card.device_time() + 2 * interval
        wait_until(lambda: card.device_time() > end, "the last message")
        card.stop()
    log = board.tlps()
    ends = [tlp.ns for tlp in log.on("RQ", "MWr") if (tlp.address + 4 * tlp.dwords) % buffer == 0]
    expected = moderated(ends, interval * TICK_NS, count)
    messages = [tlp.ns for tlp in log.on("RQ", "MSI")]
    assert len(messages) == len(expected) < len(ends) or count == 1
    late = [message - at for message, at in zip(messages, expected, strict=True)]
    # `ends` are the times at which each buffer's last write passes the pins. The DMA engine runs
    # ahead of the pins, and a message follows its data, so the times differ by less than 200 ns.
    assert max(map(abs, late)) < 200 < interval * TICK_NS / 20, late


def test_the_vector_names_the_cause_until_it_is_cleared(start_board):
    """One MSI may stand for several causes. The vector register has their bits until software
    clears them."""
    with start_board() as board:
        card = board.card()
        card.memory(HIGH_MEMORY, TOTAL)
        card.enable_interrupts("c2h", "h2c")
        c2h(card, [(HIGH_MEMORY, 8192)])
        assert card.wait_interrupt() == 1
        bit = 1 << card.constants["pcie_dma0_writer_interrupt"]
        assert card.read("pcie_msi_vector") == bit
        card.write("pcie_msi_clear", bit)
        assert card.read("pcie_msi_vector") == 0


def test_a_cause_that_is_not_enabled_is_silent(start_board):
    """An interrupt cause whose bit in pcie_msi_enable is off raises no MSI and breaks no rule."""
    with start_board() as board:
        card = board.card()
        memory = card.memory(HIGH_MEMORY, TOTAL)
        card.enable_interrupts("h2c")
        c2h(card, slices(HIGH_MEMORY, TOTAL, 8192), "all")
        assert run_until_idle(board, card, memory)["msi"] == 0
        assert card.interrupts() == 0


def test_no_msi_while_it_is_disabled(start_stock):
    """With MSI disabled in configuration space, stock LitePCIe's interrupt request sends nothing,
    and breaks the rule `msi-disabled`."""
    with start_stock("--rules", "warn", violations=["msi-disabled"], log=True) as board:
        card = board.card(msi=False)
        card.client.set_eventfd(card.eventfd)
        memory = card.memory(HIGH_MEMORY, TOTAL)
        card.enable_interrupts("c2h")
        c2h(card, slices(HIGH_MEMORY, TOTAL, 8192))
        stats = run_until_idle(board, card, memory)
        assert stats["msi"] == stats["msi_lost"] == card.interrupts() == 0
    assert not board.tlps().on("RQ", "MSI")


def test_an_msi_without_an_eventfd_is_counted_as_lost(start_board):
    """The board counts an MSI as lost if the client has withdrawn its eventfd for it."""
    with start_board() as board:
        card = board.card()
        memory = card.memory(HIGH_MEMORY, TOTAL)
        # The client withdraws its eventfd as QEMU does: a trigger without data and with the count
        # 0.
        card.client.set_eventfd(None, count=0)
        card.client.set_eventfd(None)
        card.enable_interrupts("c2h")
        c2h(card, slices(HIGH_MEMORY, TOTAL, 8192))
        stats = run_until_idle(board, card, memory)
        assert (stats["msi"], stats["msi_lost"]) == (0, 1)


def test_a_new_eventfd_replaces_the_old_one(start_board):
    """The board signals MSIs to the eventfd that the client set last, and to no earlier one."""
    other = os.eventfd(0, os.EFD_NONBLOCK)
    with start_board() as board:
        card = board.card()
        memory = card.memory(HIGH_MEMORY, TOTAL)
        card.client.set_eventfd(other)
        card.enable_interrupts("c2h")
        c2h(card, slices(HIGH_MEMORY, TOTAL, 8192))
        run_until_idle(board, card, memory)
        assert os.eventfd_read(other) == 1 and card.interrupts() == 0
    os.close(other)
