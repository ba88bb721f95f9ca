# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The first minute of an application on a whole card with its management CPU: one that does not
become healthy is left for the golden image, by the part's own watchdog.

The images of the tests have a watchdog of a third of a millisecond instead of a minute.
"""

import time

import pytest

from bringup.test.bitstream_samples import WATCH_IMAGE
from gateware.card.cpu import image
from sim.test.services.card_contents import NO_FIRMWARE, NO_LINK, digest, sample
from sim.test.services.test_board_flash import FALLBACK, Updated, put_application

PERIODS = 60  # time of the FPGA's watchdog, in periods of 5.12 us
TIME_OUT = 8 << 8  # BOOTSTS: the watchdog has ended the configuration before the last one
TRIES = 100

pytestmark = pytest.mark.skipif(image.compiler() is None, reason="no RISC-V compiler")


@pytest.fixture
def card(tmp_path):
    with Updated(tmp_path, firmware=True) as card:
        yield card


def put_new(card, defect=None):
    """Write an application image with a watchdog into the card's flash by `litepcie_util flash
    write`. With `defect` the image has that defect. Return the image's file."""
    new = sample("new", defect=defect, timer=WATCH_IMAGE | PERIODS)
    file = card.put("new.bin", new)
    card.run("flash", "write", file)
    return file


def wait_for(card, name):
    """Wait until the card runs the image `name`, as `litepcie_util info` says. While the FPGA
    starts an image, the card's link is down."""
    for _ in range(TRIES):
        found = card.try_run("info")
        if found and found["digest"] == digest(name):
            return
        time.sleep(0.2)
    raise AssertionError(f"the card does not run {name}")


def check_idle(card):
    """Wait until device time stands still, as it does without an armed watchdog."""
    for _ in range(TRIES):
        before = card.board.stats()["cycles"]
        time.sleep(0.5)
        if card.board.stats()["cycles"] == before:
            return
    raise AssertionError("device time does not stand still")


def check_left(card):
    """Check that the FPGA's watchdog has ended the application image, and that the card runs the
    golden image and stays there."""
    wait_for(card, "golden")
    status = card.run("flash", "info")["bootsts"]
    assert status & FALLBACK and status & TIME_OUT
    check_idle(card)
    assert card.runs() == digest("golden")


def test_an_application_without_a_link_is_left_for_the_golden_image(card):
    """After an update to an image that never brings its link up, the card comes back with the
    golden image. `reboot` says so.
    """
    file = put_new(card, NO_LINK)
    found = card.run("reboot", file, status=1)
    assert "does not run" in found["failures"][0] and "golden" in found["failures"][0]
    check_left(card)


def test_a_card_that_starts_without_a_link_gets_the_golden_image(tmp_path):
    """A card that is switched on with an application that never brings its link up comes back with
    the golden image, too.
    """
    card = Updated(tmp_path, firmware=True)
    put_application(card, sample("new", defect=NO_LINK, timer=WATCH_IMAGE | PERIODS))
    with card:
        check_left(card)


def test_a_card_without_a_link_and_without_a_watchdog_stays_away(tmp_path):
    """A card that is switched on with an application that never brings its link up, and with its
    watchdog off, is not found."""
    card = Updated(tmp_path)
    put_application(card, sample("new", defect=NO_LINK))
    with card:
        assert card.try_run("info") is None


def test_an_application_without_a_heartbeat_is_left_for_the_golden_image(card):
    """After an update to an image whose firmware hangs, the card comes back with the golden image,
    although the link of the new image was up.
    """
    put_new(card, NO_FIRMWARE)
    card.try_run("reboot")
    check_left(card)


def test_a_healthy_application_stays(card):
    """An application image that brings up the link and whose firmware has a heartbeat stops its
    watchdog, and goes on running. An idle card then costs no device time."""
    file = put_new(card)
    assert card.run("reboot", file)["digest"] == digest("new")
    check_idle(card)
    assert card.runs() == digest("new")
