# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The queues of the driver's node of the capture block, on a card with four queues.

The tests run in one guest that stays up. It has an IOMMU, so the board counts each access of the
card to memory that the driver has taken from it.
"""

import pytest

from sim.guest import run
from sim.test.driver.driver_guest import PINNED, TWO_CPUS
from sim.test.driver.live_guest import LiveGuest
from sim.test.driver.test_guest_driver_capture import IOMMU, NODE, NONE_PINNED
from tools.testing.seeds import SHIFT

pytestmark = pytest.mark.guest

QUEUES = 4
ROUNDS = 3  # rounds of the test in which threads use the queues at the same time


def live(tmp_path_factory, *devices):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run, "PLACE", tmp_path_factory.mktemp("guest"))
        devices = (*devices, *IOMMU)
        append = ("intel_iommu=on",)
        with LiveGuest(
            programs=("queues",), capture=QUEUES, devices=devices, append=append
        ) as guest:
            yield guest


@pytest.fixture(scope="module")
def guest(tmp_path_factory):
    yield from live(tmp_path_factory)


@pytest.fixture
def guest_of_two(tmp_path_factory):
    yield from live(tmp_path_factory, *TWO_CPUS)


@pytest.mark.parametrize(
    "part",
    [
        pytest.param("spread", id="each queue has the frames of its port and its own accounts"),
        pytest.param(
            "refuse", id="a queue that is taken is refused, and what does not go together"
        ),
        pytest.param("alone", id="the stop of a queue seals it, and the others go on"),
        pytest.param("killed", id="a killed owner costs queue 0 nothing, and its ring stays"),
        pytest.param("woken", id="one interrupt wakes every queue once"),
        pytest.param("left", id="the end of queue 0 wakes the others"),
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
