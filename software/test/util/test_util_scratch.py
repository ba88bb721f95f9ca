# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Test litepcie_util scratch_test with a stand-in for the card."""

from software.test.standin.card_standin import SCRATCH_RESET


def test_scratch_test_restores_the_reset_value(util, card, device):
    """The command scratch_test passes all patterns, and restores the value of the scratch register,
    here its reset value."""
    with card() as standin:
        status, report = util.json(device, "scratch_test")
        assert standin.scratch() == SCRATCH_RESET
    assert status == 0
    assert (report["patterns"], report["errors"], report["first_mismatch"]) == (38, 0, None)


def test_scratch_test_reports_a_stuck_bit(util, card, device):
    """A stuck bit of the scratch register makes scratch_test fail with status 1.

    The report has the value written and the value read.
    """
    with card(stuck=0x100):
        status, report = util.json(device, "scratch_test")
        text = util.run("-d", device, "scratch_test")
    assert status == 1
    assert report["first_mismatch"] == {"expected": 0, "got": 0x100}
    assert "0x00000000 written, 0x00000100 read" in text.stderr
