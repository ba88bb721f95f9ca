# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Tests of virtio/device.py: cards that cannot have a virtio device are refused with the reason.

sim/test/virtio/test_board_virtio.py has the device on a whole card.
"""

import pytest

from gateware import numbers
from gateware.virtio.device import DEVICES, check_virtio


@pytest.mark.parametrize(
    "endpoint, compat, rule",
    [
        ("litepcie", None, "LitePCIe's endpoint has no byte enables"),
        ("lanebox", "seed000", "choose one of the two"),
    ],
)
def test_a_card_that_cannot_have_the_console_is_refused(endpoint, compat, rule):
    """The error for a card that cannot have a virtio device says why. Without --virtio no card is
    refused.
    """
    with pytest.raises(ValueError, match=rule):
        check_virtio(True, endpoint, compat)
    check_virtio(False, endpoint, compat)
    check_virtio(True, "lanebox")


def test_each_device_has_causes_and_a_page_of_its_own():
    """The interrupt causes of the devices follow one another, and each has a bit in the card's
    registers of causes. Their pages follow one another, too, and end before the next block."""
    causes, pages = numbers.VIRTIO_CAUSE, numbers.VIRTIO_BASE
    for device in DEVICES:
        assert (device.cause, device.base) == (causes, pages)
        causes += device.queues + 1
        pages += numbers.VIRTIO_SIZE
    assert causes <= numbers.MSI_WIDTH and pages <= numbers.CAPABILITY_BASE
    assert len(DEVICES) == numbers.VIRTIO_DEVICES
