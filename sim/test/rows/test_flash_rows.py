# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Tests of sim/rows/flash.py on the simulated card with its services."""

from sim import artefacts
from sim.endpoints import DEFAULT
from sim.rows import flash
from sim.rows.measure import Conditions

# Bytes of the update in this test. An update of as many bytes as in `make bench` takes minutes.
BYTES = 4096
# Divisor of the flash's times in this test. With that of `make bench` an erase takes a minute.
DIVISOR = 10_000


def test_the_engine_s_own_time_is_about_a_tenth_of_the_flash_s():
    """Writing and verifying takes at most 15 percent longer than the flash's typical times of
    erasing and programming. A page takes at most 70 accesses to registers.
    """
    built = artefacts.build(DEFAULT, card=True)
    (row,) = flash.rows(built.board, built.gateware / "csr.json", Conditions(), BYTES, DIVISOR)
    # An erase takes its whole sector, so its share of these bytes is what counts.
    share = flash.ERASE_MS * BYTES / flash.SECTOR + flash.PROGRAM_MS * BYTES / flash.PAGE
    # With so few pages, the reads of the status and the start of the update take a larger part of
    # the time. On a busy machine a page is loaded after the page before was programmed, and not
    # meanwhile. The time of all loading then counts, which is some 0.4 ms.
    assert row.value <= 0.15 * share and 0.5 < row.ratio <= 1
    assert row.conditions["accesses_per_page"] <= 70
