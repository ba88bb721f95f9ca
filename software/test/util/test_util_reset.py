# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Test litepcie_util reset, with a sysfs that the test makes."""


def test_reset_goes_through_the_kernel_and_says_when_it_cannot(util, machine):
    """litepcie_util reset writes to the card's file `reset` in sysfs.

    If the card has no such file, the message suggests `litepcie_util rescan`.
    """
    place = machine.add("0000:22:00.0", driver="litepcie")
    machine.node(0, place)
    # The command `reset` first resets the card, here the stand-in's. It then opens /dev/litepcie0,
    # which fails on a machine without a card.
    util.run("-c", "0", "reset")
    assert (place / "reset").read_text() == "1"
    (place / "reset").unlink()
    assert "try litepcie_util rescan" in util.run("-c", "0", "reset").stderr
