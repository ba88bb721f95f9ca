# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Tests of virtio/device.py: cards that cannot have a virtio device are refused with the reason.

sim/test/virtio/test_board_virtio.py has the device on a whole card.
"""

import pytest

from gateware import numbers
from gateware.virtio.device import CONSOLE_QUEUES, check_virtio


@pytest.mark.parametrize(
    "endpoint, compat, rule",
    [
        ("litepcie", None, "LitePCIe's endpoint has no byte enables"),
        ("lanebox", "seed000", "choose one of the two"),
    ],
)
def test_a_card_that_cannot_have_the_console_is_refused(endpoint, compat, rule):
    """The error says why the card cannot have a virtio device. Without --virtio there is none."""
    with pytest.raises(ValueError, match=rule):
        check_virtio(True, endpoint, compat)
    check_virtio(False, endpoint, compat)
    check_virtio(True, "lanebox")


def test_the_causes_of_the_console_are_causes_of_the_card():
    """All interrupt causes of the console have a bit in the card's registers of causes."""
    assert numbers.VIRTIO_CAUSE + CONSOLE_QUEUES < numbers.MSI_WIDTH
