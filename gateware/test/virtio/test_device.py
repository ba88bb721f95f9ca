# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Tests of virtio/device.py: cards that cannot have a virtio device are refused with the reason.

sim/test/virtio/test_board_virtio.py has the device on a whole card.
"""

import pytest

from gateware import numbers
from gateware.virtio.device import check_virtio, virtio_devices


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
        check_virtio(1, endpoint, compat)
    check_virtio(0, endpoint, compat)
    check_virtio(1, "lanebox")


@pytest.mark.parametrize("pairs", [-1, 3])
def test_a_wrong_number_of_pairs_is_refused(pairs):
    """The error for a number of pairs that the net device cannot have names it and the rule."""
    with pytest.raises(ValueError, match=f"--virtio {pairs}: the net device has 1 to 2 pairs"):
        check_virtio(pairs, "lanebox")


def test_packed_rings_need_a_virtio_device_with_one_pair():
    """Packed rings are refused in a card without virtio devices, and beside a control queue."""
    with pytest.raises(ValueError, match="add --virtio 1"):
        check_virtio(0, "lanebox", packed=True)
    with pytest.raises(ValueError, match="--packed: .* control queue .* --virtio 1"):
        check_virtio(2, "lanebox", packed=True)
    check_virtio(1, "lanebox", packed=True)


@pytest.mark.parametrize("pairs", [1, 2])
def test_each_device_has_causes_and_a_page_of_its_own(pairs):
    """The interrupt causes of the devices follow one another, and each has a bit in the card's
    registers of causes. Their pages follow one another, too, and end before the next block."""
    causes, pages = numbers.VIRTIO_CAUSE, numbers.VIRTIO_BASE
    devices = virtio_devices(pairs)
    for device in devices:
        assert (device.cause, device.base) == (causes, pages)
        causes += device.queues + 1
        pages += numbers.VIRTIO_SIZE
    assert causes <= numbers.MSI_WIDTH and pages <= numbers.CAPABILITY_BASE
    assert len(devices) == numbers.VIRTIO_DEVICES
