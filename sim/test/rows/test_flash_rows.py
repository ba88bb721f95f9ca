# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Tests of sim/rows/flash.py on the simulated card with its services."""

from sim import artefacts
from sim.endpoints import DEFAULT
from sim.rows import flash
from sim.rows.measure import Conditions

BYTES = 4096  # A part of the row's bytes, which take minutes.
DIVISOR = 10_000  # An erase divided as in the row would take a minute.


def test_the_engine_s_own_time_is_about_a_tenth_of_the_flash_s():
    """Writing and verifying takes at most 15 percent longer than the flash's typical times of
    erasing and programming. A page takes at most 70 accesses to registers.
    """
    built = artefacts.build(DEFAULT, card=True)
    (row,) = flash.rows(built.board, built.gateware / "csr.json", Conditions(), BYTES, DIVISOR)
    # An erase takes its whole sector, so its share of these bytes is what counts.
    share = flash.ERASE_MS * BYTES / flash.SECTOR + flash.PROGRAM_MS * BYTES / flash.PAGE
    # The program's looks at the status, and the beginning, weigh more with so few pages. On a busy
    # machine pages are loaded behind the transfer of the one before, and not beside it: then all
    # loading counts, which is some 0.4 ms here.
    assert row.value <= 0.15 * share and 0.5 < row.ratio <= 1
    assert row.conditions["accesses_per_page"] <= 70
