# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""A driver of the card's net device without a guest: it sends frames and collects those that come.

The driver polls the used rings and does not wait for interrupts, so it needs no interrupt cause.
"""

from __future__ import annotations

import time

from sim.clients.virtio import RECEIVE, TRANSMIT, VirtioDriver

# Bytes of virtio_net's header in front of a frame (VirtIO 1.2, 5.1.6). A driver sends zeros there.
HEADER = 12
QUEUE_SIZE, BUFFER_BYTES = 64, 2048
SECONDS = 60  # A frame must leave or come within this many seconds of wall time.
# The offset of the configuration's dword with the state of the link, and the bit that is set while
# the link is up.
STATUS_OFFSET, LINK_UP = 0x104, 1 << 16


class NetDriver(VirtioDriver):
    """The net device of the card that a test's Card has, ready for use."""

    def __init__(self, card):
        page = card.constants["virtio_net_base"]
        super().__init__(card.client, page, True, QUEUE_SIZE, BUFFER_BYTES)

    @property
    def link(self) -> bool:
        """Return whether the net device says that its link is up."""
        return bool(self.read(STATUS_OFFSET) & LINK_UP)

    def send(self, frame: bytes) -> None:
        """Send an Ethernet frame as soon as the transmit queue has a free buffer."""
        queue = self.queues[TRANSMIT]
        deadline = time.monotonic() + SECONDS
        while (queue.index - queue.seen) & 0xFFFF == queue.size and queue.take() is None:
            assert time.monotonic() < deadline, "no frame leaves"
            time.sleep(0.001)
        head = queue.index % queue.size
        place, size = queue.offset(head), HEADER + len(frame)
        queue.data[place : place + size] = bytes(HEADER) + frame
        queue.describe(head, size)
        if queue.offer(head):
            self.ring(queue)

    def take_frames(self) -> list[bytes]:
        """Return the Ethernet frames that have come since the last call."""
        queue, found = self.queues[RECEIVE], []
        while (used := queue.take()) is not None:
            head, size = used
            place = queue.offset(head)
            found.append(bytes(queue.data[place + HEADER : place + size]))
            if queue.offer(head):
                self.ring(queue)
        return found

    def receive(self, count: int) -> list[bytes]:
        """Wait until `count` Ethernet frames have come, and return them."""
        found: list[bytes] = []
        deadline = time.monotonic() + SECONDS
        while len(found) < count:
            assert time.monotonic() < deadline, f"{len(found)} of {count} frames have come"
            found += self.take_frames()
            time.sleep(0.001)
        return found
