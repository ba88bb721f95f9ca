# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Tests of card/reboot.py: the words that reach the part's configuration logic."""

from bringup.test.bitstream_samples import image
from gateware import numbers
from gateware.card.commands import ERASE_SUBSECTOR
from gateware.test.card.card_bench import APPLICATION, CardBench

BOOT = numbers.FLASH_LAYOUT["reboot"]
# The part may skip the 255 bytes before the application, so a reboot begins a page before it.
START = APPLICATION - 256
VALID, FALLBACK, BY_REBOOT, CRC_ERROR = 1, 2, 4, 1 << 5


def card(golden=True, application=True):
    bench = CardBench()
    if golden:
        bench.chip.load(0, image(1, warm_boot=APPLICATION))
    if application:
        bench.chip.load(APPLICATION, image(2))
    return bench


def reboot(bench):
    bench.write("reboot_address", START >> 8)
    bench.write("reboot_go", BOOT)
    bench.run(1000)
    return bench.rebooted()


def test_bootsts_is_read_after_reset():
    """The register shows what the part says of its own configuration, from the last reset on."""
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
    """Without a good application the golden image starts, and BOOTSTS tells of both."""
    bench = card()
    bench.chip.load(APPLICATION + 200, bytes(4))
    assert reboot(bench) == (True, 0)
    bench.reset()
    bench.run(2000)
    expected = (VALID | BY_REBOOT | CRC_ERROR) << 8 | VALID | FALLBACK | BY_REBOOT
    assert bench.read("reboot_bootsts") & 0xFFFF == expected


def test_without_any_image_the_card_is_bricked():
    """With neither image good, nothing starts: the model says so."""
    assert reboot(card(golden=False, application=False)) == (True, -1)


def test_other_words_do_nothing():
    """Only the very word in `go` boots."""
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
