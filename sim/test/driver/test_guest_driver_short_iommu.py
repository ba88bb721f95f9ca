# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Short forms of the driver's `make soak` tests, a few seconds each, in guests with unusual
machines.

One machine has an IOMMU, two processors and two cards. A card that accesses memory too late is
noticed there, since the board counts the access as unmapped. In the other machine all DMA goes
through bounce buffers.
"""

import functools
import json

import pytest
import test_guest_driver_held as held
import test_guest_driver_life as life
import test_guest_driver_memory as memory
import test_guest_driver_soak as soak

from sim.guest import run
from sim.guest.machine import card_arguments
from sim.test.board.board_builds import build_executable, register_map
from sim.test.board.board_process import WatchedBoard
from sim.test.driver.driver_guest import TWO_CPUS, boot
from sim.test.driver.live_guest import LiveGuest

pytestmark = pytest.mark.guest

PACE = ("--pace", "400000")
ROUNDS = 400  # rounds in which two processes race for the user logic's interrupt
IOMMU = ("-device", "intel-iommu,intremap=on,caching-mode=on")


@pytest.fixture(scope="module", autouse=True)
def place_below_tmp(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run, "PLACE", tmp_path_factory.mktemp("guest"))
        yield


@pytest.fixture(scope="module")
def bounced():
    with LiveGuest((), ["stress", "memory"], append=("swiotlb=force",)) as live:
        yield live


@pytest.fixture(scope="module")
def guest():
    with WatchedBoard(build_executable(), register_map(), PACE, None) as second:
        devices = (*TWO_CPUS, *IOMMU, *card_arguments(second.socket, slot=2))
        with LiveGuest(
            PACE, ["stress", "memory"], devices=devices, append=("intel_iommu=on",)
        ) as live:
            yield live
        assert second.stats()["unmapped"] == 0


def test_memory_that_the_card_does_not_reach_is_refused(bounced):
    """If all DMA goes through bounce buffers (swiotlb=force), the driver refuses a ring in the
    program's own memory, since the card's data would go to the bounce buffers."""
    # The usual check that no lock of the driver is held maps a ring. The driver refuses that on
    # this machine, so another command takes its place.
    bounced.run(["memory bounce /dev/litepcie0"], then="stress share /dev/litepcie0 4")


def test_two_cards_are_two_devices(guest):
    """Two cards have a device node and data each. One card can be removed while programs use the
    other."""
    guest.run(life.TWO_CARDS)


def test_behind_an_iommu_nothing_is_written_after_the_end(guest):
    """Behind an IOMMU, a card that was removed or unbound accesses no memory any more. The board
    would count such an access as unmapped."""
    guest.run([*life.BEHIND_IOMMU, "echo 0000:01:00.0 >$driver/bind"])


def test_threads_that_race_do_no_harm(guest):
    """Six threads open the device, start DMA, read, write and close at random on two processors,
    and do no harm."""
    guest.run(life.race(10))


def test_who_shares_a_file_gets_data(guest):
    """If several processes read one open file, none of them gets 0 (end of file), which would end a
    program. This holds also if another process has just taken the data."""
    guest.run(life.share(60))


def test_the_memory_stays_pinned_until_the_card_is_quiet(guest):
    """If the card is unbound, removed or reset while its DMA runs in a program's memory, that
    memory stays pinned until the card has stopped."""
    guest.run(memory.QUIET)


def test_the_user_s_interrupt_is_an_event():
    """The user logic interrupts for each write to its memory. The file that asked for these
    interrupts gets one event for each, also if another process has just closed the file that had
    them before."""
    with held.user_board() as board:
        files = boot(board, held.user(ROUNDS), None, ["held"], devices=TWO_CPUS).files
    assert files["held"].decode() == f"user race: {ROUNDS} rounds\n"


def test_orderly_ejects(guest):
    """The guest's slot ejects its card on request while DMA runs and files are open. This test ends
    the guest."""

    def eject(board):
        card = json.loads(card_arguments(board.socket)[-1])
        return {"eject": functools.partial(guest.line.qmp, "device_del", id=card["id"])}

    guest.run(soak.EJECTED, eject, then="")
    assert guest.line.asked == ["eject"]
    guest.power_off()
