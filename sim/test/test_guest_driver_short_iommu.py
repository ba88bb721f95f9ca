# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What `make soak` does to the driver at length, short, in guests that are not the usual one.

One has an IOMMU, two processors and two cards: a late access is one to an unmapped address there.
The other bounces every access.
"""

import functools
import json

import pytest
import test_guest_driver_life as life
import test_guest_driver_memory as memory
import test_guest_driver_soak as soak
from board_builds import build_executable, register_map
from board_process import WatchedBoard
from live_guest import LiveGuest

from sim.guest import run
from sim.guest.machine import card_arguments

pytestmark = pytest.mark.guest

PACE = ("--pace", "400000")
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
        devices = ("-smp", "2", *IOMMU, *card_arguments(second.socket, slot=2))
        with LiveGuest(PACE, ["stress", "memory"], devices=devices,
                       append=("intel_iommu=on",)) as live:  # fmt: skip
            yield live
        assert second.stats()["unmapped"] == 0


def test_memory_that_the_card_does_not_reach_is_refused(bounced):
    """Every access is bounced on this guest, so the program would never see what came."""
    # Nor is a ring mapped there, as the usual check of the locks does.
    bounced.run(["memory bounce /dev/litepcie0"], then="stress share /dev/litepcie0 4")


def test_two_cards_are_two_devices(guest):
    """Each has its node and its data; one goes while the other works."""
    guest.run(life.TWO_CARDS)


def test_behind_an_iommu_nothing_is_written_after_the_end(guest):
    """Every access to memory that is no longer the card's would be one to an unmapped address."""
    guest.run([*life.BEHIND_IOMMU, "echo 0000:01:00.0 >$driver/bind"])


def test_threads_that_race_do_no_harm(guest):
    """Six threads open, start, read, write and close as they like, on two processors."""
    guest.run(life.race(10))


def test_who_shares_a_file_gets_data(guest):
    """Never 0, the end of a file, which would end a program: not even who comes second to news."""
    guest.run(life.share(60))


def test_the_memory_stays_pinned_until_the_card_is_quiet(guest):
    """The card is unbound or removed, or is reset, with DMA in a program's own memory."""
    guest.run(memory.QUIET)


def test_orderly_ejects(guest):
    """The slot is asked for its card while DMA runs and files are open; the last of this guest."""

    def eject(board):
        card = json.loads(card_arguments(board.socket)[-1])
        return {"eject": functools.partial(guest.line.qmp, "device_del", id=card["id"])}

    guest.run(soak.EJECTED, eject, then="")
    assert guest.line.asked == ["eject"]
    guest.power_off()
