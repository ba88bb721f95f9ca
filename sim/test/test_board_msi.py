# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Interrupts: one message for each request, on the eventfd, in the log and in the counts alike."""

import os
import time

import pytest
from board_client import C2H_GENERATE, HIGH_MEMORY, pattern, slices

TOTAL = 64 * 1024


def c2h(card, descriptors, interrupts="last"):
    """Fill `descriptors` with the pattern; each run starts it again."""
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
    """Each descriptor that asks for an interrupt raises one, and no other does."""
    with start_board(log=True) as board:
        card = board.card()
        memory = card.memory(HIGH_MEMORY, TOTAL)
        card.enable_interrupts("c2h")
        c2h(card, slices(HIGH_MEMORY, TOTAL, 8192), interrupts)
        stats = run_until_idle(board, card, memory)
        assert stats["msi"] == card.interrupts() == count
        assert stats["msi_lost"] == 0
    assert len(board.tlps().on("RQ", "MSI")) == count


def test_the_vector_names_the_cause_until_it_is_cleared(start_board):
    """One MSI stands for many causes: the vector register has them until `clear` takes them."""
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
    """With its bit in pcie_msi_enable off a cause raises nothing and breaks no rule."""
    with start_board() as board:
        card = board.card()
        memory = card.memory(HIGH_MEMORY, TOTAL)
        card.enable_interrupts("h2c")
        c2h(card, slices(HIGH_MEMORY, TOTAL, 8192), "all")
        assert run_until_idle(board, card, memory)["msi"] == 0
        assert card.interrupts() == 0


def test_no_msi_while_it_is_disabled(start_stock):
    """With MSI off in configuration space the request is refused, and counted as a breach."""
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
    """A client that takes its eventfd back gets no interrupt; the board says how many it missed."""
    with start_board() as board:
        card = board.card()
        memory = card.memory(HIGH_MEMORY, TOTAL)
        card.client.set_eventfd(None, count=0)  # QEMU's way: trigger, no data, count 0
        card.client.set_eventfd(None)
        card.enable_interrupts("c2h")
        c2h(card, slices(HIGH_MEMORY, TOTAL, 8192))
        stats = run_until_idle(board, card, memory)
        assert (stats["msi"], stats["msi_lost"]) == (0, 1)


def test_a_new_eventfd_replaces_the_old_one(start_board):
    """Interrupts go to the eventfd that was set last."""
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
