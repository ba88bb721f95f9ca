# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Rings in a program's own memory: the pages stay pinned as long as the card may access them, and
are charged to the program."""

import functools
import re

import pytest

from sim.guest import run
from sim.test.driver.driver_guest import CARD, PINNED, boot, kernels
from sim.test.guest.guest_line import SHELL, GuestLine

pytestmark = [pytest.mark.guest, pytest.mark.soak]  # the tests of this file take minutes

# Rings do not wait for software. So the board is slowed down to this many cycles a second, and
# software keeps up.
PACE = ("--pace", "400000")
# Seconds of wall time that the guest's commands may take. On an idle machine 40 are enough.
SECONDS = 300
OWN = [PINNED, "[ $(pinned) -eq 0 ]"]
for part in ("shapes", "refuse", "charge", "leave"):
    OWN += [f"memory {part} /dev/litepcie0 >>/out/memory", "[ $(pinned) -eq 0 ]"]
# Commands for a guest: end the card's DMA in a program's memory in four ways.
QUIET = [
    PINNED,
    "driver=/sys/bus/pci/drivers/litepcie",
    "begin() { rm -f /tmp/flows*; memory $1 /dev/litepcie0 /tmp/flows & user=$!; "
    "while [ ! -e /tmp/flows ]; do kill -0 $user; sleep 0.02; done; [ $(pinned) -gt 0 ]; }",
    "begin hold; echo 0000:01:00.0 >$driver/unbind; wait $user; [ $(pinned) -eq 0 ]",
    "echo 0000:01:00.0 >$driver/bind",
    f"begin hold; echo 1 >{CARD}/remove; wait $user; [ $(pinned) -eq 0 ]",
    "echo 1 >/sys/bus/pci/rescan",
    # The program ends while the card is being reset. Its memory is released only after the reset.
    f"begin away; echo 1 >{CARD}/reset || true; wait $user; [ $(pinned) -eq 0 ]",
    "begin hold; kill -9 $user; wait $user || true; [ $(pinned) -eq 0 ]",
    "stress cycle /dev/litepcie0 4",
]
VANISHED = [
    PINNED,
    "memory hold /dev/litepcie0 /tmp/flows & user=$!",
    "while [ ! -e /tmp/flows ]; do kill -0 $user; sleep 0.02; done; ask remove",
    "wait $user; dmesg | grep -q 'the card no longer answers'; [ $(pinned) -gt 0 ]",
    f"echo 1 >{CARD}/remove; [ $(pinned) -eq 0 ]",
    "[ ! -e /dev/litepcie0 ] && rmmod litepcie",
]


@pytest.fixture(autouse=True)
def place_below_tmp(monkeypatch, tmp_path):
    monkeypatch.setattr(run, "PLACE", tmp_path / "guest")


@pytest.mark.parametrize("kernel", kernels())
def test_a_ring_lies_in_memory_of_the_program_s_own(start_board, kernel):
    """Rings in a program's small pages, huge pages and the largest chunks have every word right.

    Memory that cannot be a ring is refused, each kind with its own error. Pinned pages are charged
    to the program. fork(), munmap() and the killing of the process during DMA do no harm, and
    nothing stays pinned.
    """
    with start_board(*PACE) as board:
        check_own(boot(board, OWN, kernel, ["memory"], timeout=SECONDS).files)
        assert board.stats()["unmapped"] == 0


def check_own(files):
    """Fail unless the program `memory` compared the data of DMA rings of four shapes."""
    text = files["memory"].decode()
    print(text)
    assert len(re.findall(r"bytes compared", text)) == 4


def test_the_memory_stays_pinned_until_the_card_is_quiet(start_board):
    """A program's memory stays pinned until the card has stopped, and no longer.

    The card is unbound, removed or reset during DMA in that memory, while the program lives on or
    ends first. The machine has an IOMMU, so the board would count a late access as unmapped.
    """
    iommu = ("-device", "intel-iommu,intremap=on,caching-mode=on")
    with start_board(*PACE) as board:
        boot(
            board,
            QUIET,
            programs=["memory", "stress"],
            append=("intel_iommu=on",),
            devices=iommu,
            timeout=SECONDS,
        )
        assert board.stats()["unmapped"] == 0


def test_a_card_that_vanishes_keeps_the_memory_until_it_is_removed(start_board):
    """A card that has vanished may still write, so a program's memory stays pinned until the kernel
    has removed the card."""
    with start_board(*PACE) as board:
        functions = {"remove": functools.partial(board.command, "fault remove")}
        with GuestLine(functions) as line:
            boot(board, [SHELL, *VANISHED], programs=["memory"], devices=line.devices)
            assert line.asked == ["remove"]


def test_memory_that_the_card_does_not_reach_is_refused(start_board):
    """If all DMA goes through bounce buffers (swiotlb=force), the driver refuses a ring in the
    program's own memory, since the card's data would go to the bounce buffers."""
    with start_board() as board:
        boot(
            board, ["memory bounce /dev/litepcie0"], programs=["memory"], append=("swiotlb=force",)
        )
