# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Tests of card/reboot.py: the words that reach the part's configuration logic."""

import pytest

from bringup.test.bitstream_samples import WATCH_IMAGE, image
from gateware import numbers
from gateware.card.commands import ERASE_SUBSECTOR
from gateware.test.card.card_bench import APPLICATION, CardBench

BOOT = numbers.FLASH_LAYOUT["reboot"]
# The part may skip the 255 bytes before the application, so a reboot begins a page before it.
START = APPLICATION - 256
VALID, BY_REBOOT, TIME_OUT, CRC_ERROR = 1, 4, 1 << 3, 1 << 5
FALLBACK = numbers.BOOTSTS["fallback"]
PERIODS = 20  # The watchdog of an application in the tests ends after this many periods of 5.12 us.
PERIOD_CYCLES = 1280


def card(golden=True, application=True, timer=0):
    bench = CardBench()
    if golden:
        bench.chip.load(0, image(1, warm_boot=APPLICATION))
    if application:
        bench.chip.load(APPLICATION, image(2, timer=timer))
    return bench


def reboot(bench):
    bench.write("reboot_address", START >> 8)
    bench.write("reboot_go", BOOT)
    bench.run(1000)
    return bench.rebooted()


def test_bootsts_is_read_after_reset():
    """The register `bootsts` shows the part's BOOTSTS, from the last reset on."""
    bench = card()
    status = bench.code.bench_power_on(bench.handle)
    bench.reset()
    bench.wait()
    bench.run(1000)
    assert bench.read("reboot_bootsts") == status == VALID | BY_REBOOT
    assert bench.code.bench_icap_broken(bench.handle) == 0


def test_a_reboot_starts_the_application():
    """The word in `go` boots the image at `address`. The 255 bytes before it may be skipped."""
    assert reboot(card()) == (True, START)


def test_a_damaged_application_leads_to_the_golden_image():
    """If the application is damaged, the golden image starts, and BOOTSTS tells of both."""
    bench = card()
    bench.chip.load(APPLICATION + 200, bytes(4))
    assert reboot(bench) == (True, 0)
    bench.reset()
    bench.run(2000)
    expected = (VALID | BY_REBOOT | CRC_ERROR) << 8 | VALID | FALLBACK | BY_REBOOT
    assert bench.read("reboot_bootsts") & 0xFFFF == expected


def test_without_any_image_the_card_is_bricked():
    """If application and golden image are damaged, nothing starts: the model says so."""
    assert reboot(card(golden=False, application=False)) == (True, -1)


def test_other_words_do_nothing():
    """Only the reboot word in the register `go` boots the card."""
    bench = card()
    for word in (0, 1, BOOT ^ 1):
        bench.write("reboot_go", word)
        bench.run(1000)
    assert bench.rebooted() == (False, 0)


def test_a_reboot_waits_for_a_busy_flash():
    """While the flash is erasing the part could read no image, so the reboot waits."""
    bench = card()
    bench.start(ERASE_SUBSECTOR, APPLICATION + 0x10000)
    bench.write("reboot_address", START >> 8)
    bench.write("reboot_go", BOOT)
    bench.run(2000)
    assert bench.status()[0] == 1 and bench.rebooted() == (False, 0)
    bench.wait()
    bench.run(1000)
    assert bench.rebooted() == (True, START)


def test_an_erased_application_leads_to_the_golden_image():
    """The part finds no image where the application should be. The reboot has armed its watchdog
    for the search, so the golden image starts, and BOOTSTS tells why.
    """
    assert reboot(card(application=False)) == (True, 0)
    bench = card(application=False)
    assert bench.code.bench_power_on(bench.handle) & 0xFFFF == (
        (VALID | BY_REBOOT | TIME_OUT) << 8 | VALID | FALLBACK | BY_REBOOT
    )


def test_after_a_fallback_an_erased_application_bricks_the_card():
    """After a fallback the watchdog is off, although the reboot arms it, so nothing ends the search
    for an image that is not there.
    """
    bench = card(application=False)
    assert reboot(bench) == (True, 0)
    bench.reset()
    bench.run(2000)
    assert reboot(bench) == (True, -1)


def test_a_reboot_after_a_fallback_makes_the_watchdog_work_again():
    """A good application that is started from the golden image after a fallback is watched, and
    from there the search for an image ends.
    """
    bench = card(application=False)
    assert reboot(bench) == (True, 0)
    bench.reset()
    bench.run(2000)
    bench.chip.load(APPLICATION, image(2, timer=WATCH_IMAGE | PERIODS))
    assert reboot(bench) == (True, START)
    assert bench.code.bench_watching(bench.handle)
    bench.reset()
    bench.run(2000)
    bench.command(ERASE_SUBSECTOR, APPLICATION)
    assert reboot(bench) == (True, 0)


# The watchdog of the part's configuration ---------------------------------------------------------


def started(link, alive):
    """Return a card that has just started an application with a watchdog. `alive` is a pulse."""
    bench = card(timer=WATCH_IMAGE | PERIODS)
    bench.code.bench_inputs(bench.handle, link, 0)
    assert bench.code.bench_power_on(bench.handle) == VALID | BY_REBOOT
    bench.reset()
    bench.run(1000)
    if alive:
        bench.code.bench_inputs(bench.handle, link, 1)
        bench.run(1)
        bench.code.bench_inputs(bench.handle, link, 0)
    return bench


@pytest.mark.parametrize("link, alive", [(0, 0), (1, 0), (0, 1)])
def test_a_card_that_does_not_become_healthy_gets_the_golden_image(link, alive):
    """Without a link, or without a heartbeat, the part's watchdog starts the golden image at its
    end and not before. The golden image is not watched.
    """
    bench = started(link, alive)
    bench.run((PERIODS - 1) * PERIOD_CYCLES)
    assert bench.rebooted() == (False, 0) and bench.code.bench_watching(bench.handle)
    bench.run(PERIOD_CYCLES)
    assert bench.rebooted() == (True, 0)
    assert not bench.code.bench_watching(bench.handle)
    bench.reset()
    bench.run(1000)
    expected = (VALID | BY_REBOOT | TIME_OUT) << 8 | VALID | FALLBACK | BY_REBOOT
    assert bench.read("reboot_bootsts") & 0xFFFF == expected


def test_a_healthy_card_disarms_the_watchdog():
    """A PCIe link and a heartbeat, in either order, turn the part's watchdog off for good."""
    bench = started(link=1, alive=1)
    bench.run(1000)
    assert not bench.code.bench_watching(bench.handle)
    bench = started(link=0, alive=1)
    assert bench.code.bench_watching(bench.handle)
    bench.code.bench_inputs(bench.handle, 1, 0)
    bench.run(1000)
    assert not bench.code.bench_watching(bench.handle)
    bench.run(2 * PERIODS * PERIOD_CYCLES)
    assert bench.rebooted() == (False, 0)
    assert bench.code.bench_icap_broken(bench.handle) == 0


def test_a_reset_of_the_link_does_not_arm_the_watchdog():
    """A hot reset, which resets this block, leaves a watchdog that is off as it is; the block then
    reads BOOTSTS anew and can still reboot.
    """
    bench = started(link=1, alive=1)
    bench.run(1000)
    bench.reset()
    bench.run(2 * PERIODS * PERIOD_CYCLES)
    assert not bench.code.bench_watching(bench.handle)
    assert bench.read("reboot_bootsts") == VALID | BY_REBOOT
    assert reboot(bench) == (True, START)
