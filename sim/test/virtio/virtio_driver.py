# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""A driver of the card's virtio console in Python, for tests without a guest.

It finds the device in the capability table, sets it up as VirtIO 1.2 says in 3.1.1, and has split
queues in host memory. It looks at a queue only after an MSI, so a lost interrupt fails its test.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

from gateware import numbers
from gateware.observe import capability
from gateware.test.observe.capability_table import decode
from sim.clients.virtio import (
    ACCESS_PLATFORM,
    ACKNOWLEDGE,
    DRIVER,
    DRIVER_FEATURES,
    DRIVER_FEATURES_SEL,
    DRIVER_OK,
    EVENT_INDEX,
    FEATURES_OK,
    NOTIFICATION_DATA,
    QUEUE_DESC,
    QUEUE_DEVICE,
    QUEUE_DRIVER,
    QUEUE_NOTIFY,
    QUEUE_NUM,
    QUEUE_READY,
    QUEUE_SEL,
    RECEIVE,
    STATUS,
    TRANSMIT,
    VERSION_1,
    WRITE,
)
from sim.test.board.board_client import HIGH_MEMORY, wait_until

# Offsets in the device's page (VirtIO 1.2, 4.2.2) that only tests need, and of the two registers of
# Lanebox: the reason of NEEDS_RESET, and the number of bytes or frames that were lost.
VERSION, DEVICE_ID, QUEUE_NUM_MAX, CONFIG = 0x04, 0x08, 0x34, 0x100
REASON, DROPPED = numbers.VIRTIO_REASON, numbers.VIRTIO_DROPPED

NEEDS_RESET = 64
NEXT = 1  # flag of a virtqueue's descriptor: another one follows
QUEUE_BYTES = 1 << 16  # bytes of host memory for the rings of a virtqueue
BUFFER_BYTES = 256


class Device(NamedTuple):
    """The entry of one virtio device in the card's capability table."""

    offset: int
    device: int
    queues: int
    cause: int
    queue_size: int


def find(card):
    """Return the card's first virtio device, from the capability table that the host reads."""
    words = [
        card.mmio_read(numbers.CAPABILITY_BASE + at) for at in range(0, numbers.CAPABILITY_SIZE, 4)
    ]
    kind = capability.BLOCK_TYPES["virtio"].number
    entry = next(entry for entry in decode(words)[1] if entry.kind == kind)
    return Device(entry.offset, *entry.parameters)


class Queue:
    """A split queue whose chains have one descriptor each. Chain n uses buffer n of BUFFER_BYTES in
    the memory of the queue."""

    def __init__(self, card, number, size, address, writes):
        self.number, self.size, self.writes = number, size, writes
        self.memory = card.memory(address, QUEUE_BYTES + size * BUFFER_BYTES)
        self.descriptors, self.available, self.used = (
            address,
            address + 16 * size,
            address + 16 * size + 4096,
        )
        self.base, self.index, self.seen = address, 0, 0

    def put(self, address, form, *values):
        struct.pack_into(form, self.memory.data, address - self.base, *values)

    def get(self, address, form):
        return struct.unpack_from(form, self.memory.data, address - self.base)

    def buffer(self, number):
        return self.base + QUEUE_BYTES + number * BUFFER_BYTES

    def describe(self, number, address, size, flags=0, following=0):
        at = self.descriptors + 16 * number
        self.put(at, "<QIHH", address, size, flags | (WRITE if self.writes else 0), following)

    def offer(self, head):
        """Make the chain that begins at descriptor `head` available to the virtio device."""
        self.put(self.available + 4 + 2 * (self.index % self.size), "<H", head)
        self.index = (self.index + 1) & 0xFFFF
        self.put(self.available + 2, "<H", self.index)

    def take(self):
        """Return [(head, bytes), ...] of the chains that the device has used since the last
        call."""
        found = []
        while self.get(self.used + 2, "<H")[0] != self.seen:
            found.append(self.get(self.used + 4 + 8 * (self.seen % self.size), "<II"))
            self.seen = (self.seen + 1) & 0xFFFF
        # The device sends an interrupt for the next used element (feature EVENT_INDEX).
        self.put(self.available + 4 + 2 * self.size, "<H", self.seen)
        return found


class Console:
    """The card's virtio console with this driver, ready for use. `received` has all bytes that the
    console has sent."""

    def __init__(self, card, size=64, events=True):
        self.card, self.device = card, find(card)
        self.features = 1 << VERSION_1 | 1 << ACCESS_PLATFORM | 1 << NOTIFICATION_DATA
        self.features |= 1 << EVENT_INDEX if events else 0
        self.queues = [
            Queue(card, n, size, HIGH_MEMORY + (n + 1) * (1 << 20), writes=n == RECEIVE)
            for n in (RECEIVE, TRANSMIT)
        ]
        causes = range(self.device.cause, self.device.cause + self.device.queues + 1)
        card.write("pcie_msi_enable", sum(1 << cause for cause in causes))
        self.start()

    def read(self, offset):
        return self.card.mmio_read(self.device.offset + offset)

    def write(self, offset, value):
        self.card.mmio_write(self.device.offset + offset, value)

    def start(self):
        """Initialise the virtio device, with queues from their beginning."""
        self.received, self.free = bytearray(), list(range(self.queues[TRANSMIT].size))
        self.write(STATUS, ACKNOWLEDGE | DRIVER)
        for half in (0, 1):
            self.write(DRIVER_FEATURES_SEL, half)
            self.write(DRIVER_FEATURES, self.features >> 32 * half & 0xFFFF_FFFF)
        self.write(STATUS, ACKNOWLEDGE | DRIVER | FEATURES_OK)
        assert self.read(STATUS) & FEATURES_OK, "the device refuses the features"
        for queue in self.queues:
            queue.memory.data[:QUEUE_BYTES] = bytes(QUEUE_BYTES)
            queue.index = queue.seen = 0
            self.write(QUEUE_SEL, queue.number)
            self.write(QUEUE_NUM, queue.size)
            for offset, address in (
                (QUEUE_DESC, queue.descriptors),
                (QUEUE_DRIVER, queue.available),
                (QUEUE_DEVICE, queue.used),
            ):
                self.write(offset, address & 0xFFFF_FFFF)
                self.write(offset + 4, address >> 32)
            self.write(QUEUE_READY, 1)
        self.write(STATUS, ACKNOWLEDGE | DRIVER | FEATURES_OK | DRIVER_OK)
        receive = self.queues[RECEIVE]
        for n in range(receive.size):
            receive.describe(n, receive.buffer(n), BUFFER_BYTES)
            receive.offer(n)
        self.notify(receive)

    def notify(self, queue):
        self.write(QUEUE_NOTIFY, queue.number | queue.index << 16)

    def reset(self):
        """Reset the virtio device, and wait until it has answered."""
        self.write(STATUS, 0)
        wait_until(lambda: self.read(STATUS) == 0, "the reset")

    def send(self, data):
        """Send up to BUFFER_BYTES bytes, as soon as a buffer is free."""
        queue = self.queues[TRANSMIT]
        while not self.free:
            self.wait()
        head = self.free.pop(0)
        offset = queue.buffer(head) - queue.base
        queue.memory.data[offset : offset + len(data)] = data
        queue.describe(head, queue.buffer(head), len(data))
        queue.offer(head)
        self.notify(queue)

    def wait(self):
        """Wait for an MSI, and take the chains of the console's two queues that the device has used
        since."""
        self.card.wait_interrupt()
        self.collect()

    def collect(self):
        receive, transmit = self.queues
        self.free += [head for head, _ in transmit.take()]
        for head, size in receive.take():
            offset = receive.buffer(head) - receive.base
            self.received += receive.memory.data[offset : offset + size]
            receive.offer(head)
            self.notify(receive)
