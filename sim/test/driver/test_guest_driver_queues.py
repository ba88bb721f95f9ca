# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The queues of the driver's node of the capture block, on a card with four queues.

The tests run in one guest that stays up. It has an IOMMU, so the board counts each access of the
card to memory that the driver has taken from it.
"""

import pytest

from sim.guest import run
from sim.test.board.board_builds import build_executable, register_map
from sim.test.board.board_process import WatchedBoard
from sim.test.driver.driver_guest import PINNED, TWO_CPUS
from sim.test.driver.live_guest import LiveGuest
from sim.test.driver.test_guest_driver_capture import IOMMU, NODE, NONE_PINNED
from tools.testing.seeds import SHIFT

pytestmark = pytest.mark.guest

QUEUES = 4
ROUNDS = 3  # rounds of the test in which threads use the queues at the same time


def board_with_msix():
    options = {"msix": True, "capture": QUEUES}
    return WatchedBoard(build_executable(**options), register_map(**options), [], None)


def live(tmp_path_factory, *devices, board=None):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run, "PLACE", tmp_path_factory.mktemp("guest"))
        devices = (*devices, *IOMMU)
        append = ("intel_iommu=on",)
        with LiveGuest(
            programs=("queues",), board=board, capture=QUEUES, devices=devices, append=append
        ) as guest:
            yield guest


@pytest.fixture(scope="module")
def guest(tmp_path_factory):
    yield from live(tmp_path_factory)


@pytest.fixture
def guest_of_two(tmp_path_factory):
    yield from live(tmp_path_factory, *TWO_CPUS)


@pytest.fixture(scope="module")
def guest_with_msix(tmp_path_factory):
    yield from live(tmp_path_factory, board=board_with_msix)


@pytest.mark.parametrize(
    "part",
    [
        pytest.param("spread", id="each queue has the frames of its port and its own accounts"),
        pytest.param(
            "refuse", id="a queue that is taken is refused, and what does not go together"
        ),
        pytest.param("staging", id="a queue uses the staging memory that START has named"),
        pytest.param("alone", id="the stop of a queue seals it, and the others go on"),
        pytest.param("killed", id="a killed owner costs queue 0 nothing, and its ring stays"),
        pytest.param("woken", id="one interrupt wakes every queue once"),
        pytest.param("left", id="the end of queue 0 wakes the others"),
        pytest.param("bounded", id="a call of WAKE costs one interrupt at most"),
    ],
)
def test_a_file_has_a_queue(guest, part):
    """Each part of the C program `queues` passes, and leaves no page pinned."""
    commands = [PINNED, NONE_PINNED, f"queues {part} {NODE} >/out/queues", NONE_PINNED]
    assert guest.run(commands)["queues"] == f"{part}: ok\n".encode()


def test_threads_use_the_queues_at_the_same_time(guest_of_two):
    """While one thread starts and stops captures and unmaps rings, other threads call read(), sleep
    in poll() and call INFO, on two processors. Every frame arrives once and in order, and the
    accounts are exact."""
    seed = 1 + SHIFT
    print(f"seed {seed}")
    commands = [PINNED, NONE_PINNED, f"queues race {NODE} {ROUNDS} {seed} >/out/queues"]
    assert guest_of_two.run([*commands, NONE_PINNED])["queues"] == b"race: ok\n"


def messages(table):
    """Return {name: number of messages} of the card's interrupts in the text of /proc/interrupts of
    a guest with one processor."""
    rows = (line.split() for line in table.decode().splitlines())
    return {row[-1]: int(row[1]) for row in rows if row[-1].startswith("litepcie0")}


def test_with_msix_the_capture_has_a_vector(guest_with_msix):
    """With MSI-X the interrupt of the queues has a vector of its own. It wakes each queue once for
    each WAKE, and no other vector of the card gets a message."""
    files = guest_with_msix.run(
        [
            PINNED,
            "cat /proc/interrupts >/out/before",
            f"queues woken {NODE} >/out/queues; queues bounded {NODE} >>/out/queues",
            f"cat /proc/interrupts >/out/after; {NONE_PINNED}",
        ]
    )
    assert files["queues"] == b"woken: ok\nbounded: ok\n"
    before, after = (messages(files[name]) for name in ("before", "after"))
    print(before, after)
    rung = {name: count for name, count in after.items() if count > before[name]}
    assert len(after) > 1 and rung.keys() == {"litepcie0-capture"}
