# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The life cycle of the driver: cards are unbound, removed and reset while files are open, rings
are mapped and DMA runs."""

import pytest

from sim.guest import run
from sim.guest.machine import card_arguments
from sim.test.driver.driver_guest import CARD, HELD, TWO_CPUS, boot, kernels

pytestmark = [pytest.mark.guest, pytest.mark.soak]  # the tests of this file take minutes
# Commands for a guest: take the card away and reload the driver's module while programs use the
# card.
USED = [
    HELD,
    "held 'echo 0000:01:00.0 >$driver/unbind'",
    "echo 0000:01:00.0 >$driver/bind",
    "held 'echo 1 >$card/remove'",
    "echo 1 >/sys/bus/pci/rescan",
    "stress hold /dev/litepcie0 /tmp/flows & holder=$!",
    "rm -f /tmp/flows; while [ ! -e /tmp/flows ]; do sleep 0.05; done",
    # rmmod must fail, since a program holds the device open.
    "! rmmod litepcie 2>/dev/null",
    "echo 0000:01:00.0 >$driver/unbind; wait $holder",
    "rmmod litepcie && insmod /lib/modules/litepcie.ko",
    "stress cycle /dev/litepcie0 5",
]
RESET = [
    "stress reset /dev/litepcie0 /tmp/flows & user=$!",
    "while [ ! -e /tmp/flows ]; do sleep 0.05; done",
    # QEMU's root port does not report the link after a hot reset, so the kernel complains.
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
    """Return the guest's commands that run `stress race` for `rounds` rounds, in which threads
    open, use and close the device at the same time on two processors."""
    return ["[ $(grep -c ^processor /proc/cpuinfo) -eq 2 ]", f"stress race /dev/litepcie0 {rounds}"]


def share(buffers):
    """Return the guest's commands that run `stress share`: processes share one open file of the
    device, and move `buffers` buffers each."""
    return [f"stress share /dev/litepcie0 {buffers}"]


@pytest.fixture(autouse=True)
def place_below_tmp(monkeypatch, tmp_path):
    monkeypatch.setattr(run, "PLACE", tmp_path / "guest")


@pytest.mark.parametrize("kernel", kernels())
def test_a_card_may_go_while_it_is_used(start_board, kernel):
    """When the card is unbound or removed, each program that uses it gets an error. When it is
    bound or found again, the card works.

    Each time a reader, a poller, a writer of a mapped ring and DMA both ways are busy. The board
    would count it as unmapped if the card wrote to memory that it no longer owns.
    """
    with start_board("--pace", "400000") as board:
        boot(board, USED, kernel)
        assert board.stats()["unmapped"] == 0


def test_a_card_that_vanishes_is_noticed(start_board):
    """If the card vanishes from its slot, the driver's watchdog notices it and wakes all programs
    that wait. The guest can then remove the card."""
    commands = [
        "stress hold /dev/litepcie0 /tmp/flows & holder=$!",
        # the program ends when the driver's watchdog has noticed the loss of the card
        "wait $holder",
        f"dmesg | grep -q 'the card no longer answers'; echo 1 >{CARD}/remove",
        "[ ! -e /dev/litepcie0 ] && rmmod litepcie",
    ]
    with start_board("--pace", "400000") as board:
        struck = []

        def strike():  # the card vanishes only once DMA is under way
            if not struck and board.stats()["rc"]["tlps"] > 20000:
                struck.append(board.command("fault remove"))

        boot(board, commands, alive=strike)
        assert struck


def test_a_reset_stops_the_dma_and_the_card_goes_on(start_board):
    """If the card is reset by sysfs while DMA runs, the program's calls fail with EIO. Then DMA
    starts again on the same open file."""
    with start_board("--pace", "400000") as board:
        boot(board, RESET)


def test_two_cards_are_two_devices(start_board, executable, tmp_path):
    """Two cards have a device node and data each. One card can be removed while programs use the
    other."""
    with start_board("--pace", "200000") as first, start_board("--pace", "200000") as second:
        boot(first, TWO_CARDS, devices=tuple(card_arguments(second.socket, slot=2)))


@pytest.mark.parametrize("kernel", kernels())
def test_behind_an_iommu_nothing_is_written_after_the_end(start_board, kernel):
    """Behind an IOMMU, a card that was removed or unbound accesses no memory any more. The board
    would count such an access as unmapped."""
    iommu = ("-device", "intel-iommu,intremap=on,caching-mode=on")
    with start_board("--pace", "400000") as board:
        boot(board, BEHIND_IOMMU, kernel, append=("intel_iommu=on",), devices=iommu)
        assert board.stats()["unmapped"] == 0


def test_threads_that_race_do_no_harm(start_board):
    """Six threads open the device, start DMA, read, write and close at random on two processors,
    and do no harm.

    The machine has an IOMMU. If the driver freed a ring too early, the board would count the card's
    next access to it as unmapped.
    """
    devices = (*TWO_CPUS, "-device", "intel-iommu,intremap=on,caching-mode=on")
    with start_board() as board:
        boot(board, race(60), append=("intel_iommu=on",), devices=devices)
        assert board.stats()["unmapped"] == 0


def test_who_shares_a_file_gets_data(start_board):
    """If several processes read one open file, none of them gets 0 (end of file), which would end a
    program. This holds also if another process has just taken the data."""
    with start_board("--pace", "400000") as board:
        boot(board, share(400), devices=TWO_CPUS)
