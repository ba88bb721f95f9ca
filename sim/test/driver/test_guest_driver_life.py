# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The driver's life cycle: cards come and go while files are open, rings mapped and DMA running."""

import pytest
from driver_guest import CARD, HELD, boot, kernels

from sim.guest import run
from sim.guest.machine import card_arguments

pytestmark = [pytest.mark.guest, pytest.mark.soak]  # minutes, all together
USED = [
    HELD,
    "held 'echo 0000:01:00.0 >$driver/unbind'",
    "echo 0000:01:00.0 >$driver/bind",
    "held 'echo 1 >$card/remove'",
    "echo 1 >/sys/bus/pci/rescan",
    "stress hold /dev/litepcie0 /tmp/flows & holder=$!",
    "rm -f /tmp/flows; while [ ! -e /tmp/flows ]; do sleep 0.05; done",
    "! rmmod litepcie 2>/dev/null",  # in use
    "echo 0000:01:00.0 >$driver/unbind; wait $holder",
    "rmmod litepcie && insmod /lib/modules/litepcie.ko",
    "stress cycle /dev/litepcie0 5",
]
RESET = [
    "stress reset /dev/litepcie0 /tmp/flows & user=$!",
    "while [ ! -e /tmp/flows ]; do sleep 0.05; done",
    # QEMU's root port does not report the link after a hot reset, and the kernel complains of it.
    f"echo 1 >{CARD}/reset || true; wait $user",
]
TWO_CARDS = [
    "test -c /dev/litepcie0 -a -c /dev/litepcie1",
    "stress cycle /dev/litepcie0 8 & first=$!; stress cycle /dev/litepcie1 8; wait $first",
    "stress hold /dev/litepcie1 /tmp/flows & holder=$!",
    "while [ ! -e /tmp/flows ]; do sleep 0.05; done",
    "second=$(readlink -f /sys/class/litepcie/litepcie1/device)",
    "echo 1 >$second/remove; wait $holder",
    "stress cycle /dev/litepcie0 4",
    "echo 1 >/sys/bus/pci/rescan; stress cycle /dev/litepcie1 4",
]
BEHIND_IOMMU = [
    HELD,
    "[ -e $card/iommu_group ]",
    "stress cycle /dev/litepcie0 4",
    "held 'echo 1 >$card/remove'",
    "echo 1 >/sys/bus/pci/rescan; stress cycle /dev/litepcie0 4",
    "held 'echo 0000:01:00.0 >$driver/unbind'",
]


def race(rounds):
    """The commands: threads that race on two processors."""
    return ["[ $(grep -c ^processor /proc/cpuinfo) -eq 2 ]", f"stress race /dev/litepcie0 {rounds}"]


def share(buffers):
    """The commands: processes that share one open file."""
    return [f"stress share /dev/litepcie0 {buffers}"]


@pytest.fixture(autouse=True)
def place_below_tmp(monkeypatch, tmp_path):
    monkeypatch.setattr(run, "PLACE", tmp_path / "guest")


@pytest.mark.parametrize("kernel", kernels())
def test_a_card_may_go_while_it_is_used(start_board, kernel):
    """When the card is unbound or removed, all users of it see the end, and it works again later.

    A reader, a poller, a writer of a mapped ring and DMA both ways are busy each time. The board
    would count a write to memory that is no longer the card's as unmapped.
    """
    with start_board("--pace", "400000") as board:
        boot(board, USED, kernel)
        assert board.stats()["unmapped"] == 0


def test_a_card_that_vanishes_is_noticed(start_board):
    """With a card that vanished the watchdog wakes all waiters, and the guest can remove it."""
    commands = [
        "stress hold /dev/litepcie0 /tmp/flows & holder=$!",
        "wait $holder",  # the driver is not told, and must find out by itself
        f"dmesg | grep -q 'the card answers no more'; echo 1 >{CARD}/remove",
        "[ ! -e /dev/litepcie0 ] && rmmod litepcie",
    ]
    with start_board("--pace", "400000") as board:
        struck = []

        def strike():  # strikes when DMA is under way
            if not struck and board.stats()["rc"]["tlps"] > 20000:
                struck.append(board.command("fault remove"))

        boot(board, commands, alive=strike)
        assert struck


def test_a_reset_stops_the_dma_and_the_card_goes_on(start_board):
    """A reset by sysfs stops running DMA with EIO; DMA starts again on the same file."""
    with start_board("--pace", "400000") as board:
        boot(board, RESET)


def test_two_cards_are_two_devices(start_board, executable, tmp_path):
    """Two cards have their own nodes and data; one can be removed while the other works."""
    with start_board("--pace", "200000") as first, start_board("--pace", "200000") as second:
        boot(first, TWO_CARDS, devices=tuple(card_arguments(second.socket, slot=2)))


@pytest.mark.parametrize("kernel", kernels())
def test_behind_an_iommu_nothing_is_written_after_the_end(start_board, kernel):
    """Behind an IOMMU a removed or unbound card accesses no memory: that would be unmapped."""
    iommu = ("-device", "intel-iommu,intremap=on,caching-mode=on")
    with start_board("--pace", "400000") as board:
        boot(board, BEHIND_IOMMU, kernel, append=("intel_iommu=on",), devices=iommu)
        assert board.stats()["unmapped"] == 0


def test_threads_that_race_do_no_harm(start_board):
    """Six threads that open, start, read, write and close at random on two processors do no harm.

    They run behind an IOMMU, where an access by the card to a ring freed too early is noticed.
    """
    devices = ("-smp", "2", "-device", "intel-iommu,intremap=on,caching-mode=on")
    with start_board() as board:
        boot(board, race(60), append=("intel_iommu=on",), devices=devices)
        assert board.stats()["unmapped"] == 0


def test_who_shares_a_file_gets_data(start_board):
    """No reader of a shared file gets 0, the end of a file, which would end a program; not even one
    whose news another reader has taken."""
    with start_board("--pace", "400000") as board:
        boot(board, share(400), devices=("-smp", "2"))
