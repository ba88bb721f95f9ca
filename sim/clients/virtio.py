# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""A driver for one virtio device of the card, over vfio-user: an echo at a time.

It sets the device up as VirtIO 1.2 says in 3.1.1, by the device's page of registers in BAR0. Its
chains have one descriptor each. Like virtio_net it wants no interrupt for what it has transmitted,
and gives a receive buffer back without a notification if the device asks for none. EchoDriver
writes and reads host memory only while device time stands still."""

from __future__ import annotations

import mmap
import os
import struct

from gateware import numbers
from sim.clients.resting import RestingClient
from sim.clients.vfio import BAR0, CONFIG, VfioClient
from sim.errors import TestFailed

# Offsets of registers in the device's page (VirtIO 1.2, 4.2.2).
MAGIC, DEVICE_FEATURES, DEVICE_FEATURES_SEL = 0x00, 0x10, 0x14
DRIVER_FEATURES, DRIVER_FEATURES_SEL = 0x20, 0x24
QUEUE_SEL, QUEUE_NUM, QUEUE_READY, QUEUE_NOTIFY = 0x30, 0x38, 0x44, 0x50
STATUS, QUEUE_DESC, QUEUE_DRIVER, QUEUE_DEVICE = 0x70, 0x80, 0x90, 0xA0

ACKNOWLEDGE, DRIVER, DRIVER_OK, FEATURES_OK = 1, 2, 4, 8
EVENT_INDEX, VERSION_1, ACCESS_PLATFORM, RING_PACKED, NOTIFICATION_DATA = 29, 32, 33, 34, 38
WRITE = 2  # flag of a virtqueue's descriptor: the device writes the buffer
AVAILABLE, USED = 7, 15  # bits of the flags of a packed ring's descriptor
AT_PLACE = 2  # in a packed ring's event structure: only the descriptor at its place is an event
RECEIVE, TRANSMIT = 0, 1
STRIDE = 5  # step between the numbers of descriptors, if the device must not be able to guess them
MEMORY = 0x1_0000_0000  # bus address of the memory of queue 0
MEMORY_STEP = 1 << 21  # bytes from one virtqueue's memory to the next one's
RINGS = 1 << 14  # bytes for the rings of a virtqueue, in front of its buffers
MSI_CAPABILITY, MSI_CONTROL, MSI_ENABLE = 0x05, 2, 1
CAPABILITIES = 0x34  # the byte of configuration space with the offset of the first capability


class Queue:
    """A split queue in host memory. Chain n is descriptor n, with a buffer of `buffer_bytes`."""

    def __init__(self, client: VfioClient, number: int, size: int, buffer_bytes: int):
        self.number, self.size, self.buffer_bytes = number, size, buffer_bytes
        self.base = MEMORY + number * MEMORY_STEP
        self.available, self.used = self.base + 16 * size, self.base + (RINGS >> 1)
        self.index = self.seen = 0
        length = RINGS + size * buffer_bytes
        length += -length % mmap.PAGESIZE
        fd = os.memfd_create("lanebox-virtio")
        os.ftruncate(fd, length)
        client.map(self.base, length, fd)
        self.data = mmap.mmap(fd, length)
        self.file = fd  # the file of this memory

    def close(self) -> None:
        """Give the virtqueue's memory back."""
        self.data.close()
        os.close(self.file)

    def put(self, address: int, form: str, *values: int) -> None:
        """Write numbers to the virtqueue's memory at a bus address."""
        struct.pack_into(form, self.data, address - self.base, *values)

    def get(self, address: int, form: str) -> tuple:
        """Return numbers from the virtqueue's memory at a bus address."""
        return struct.unpack_from(form, self.data, address - self.base)

    def offset(self, head: int) -> int:
        """Return where in the queue's memory the buffer of chain `head` begins."""
        return RINGS + head * self.buffer_bytes

    def describe(self, head: int, size: int) -> None:
        """Write the descriptor of chain `head` for a buffer of `size` bytes."""
        flags = WRITE if self.number == RECEIVE else 0
        address = self.base + self.offset(head)
        self.put(self.base + 16 * head, "<QIHH", address, size, flags, 0)

    def offer(self, head: int) -> bool:
        """Make chain `head` available. Return whether the device wants to be notified of it.

        The device then asks with `avail_event` (VirtIO 1.2, 2.7.10)."""
        self.put(self.available + 4 + 2 * (self.index % self.size), "<H", head)
        self.index = (self.index + 1) & 0xFFFF
        self.put(self.available + 2, "<H", self.index)
        (event,) = self.get(self.used + 4 + 8 * self.size, "<H")
        return event == (self.index - 1) & 0xFFFF

    def notice(self) -> int:
        """Return what a notification says: the index behind the last chain."""
        return self.index

    def ask(self, index: int) -> None:
        """Ask for an interrupt when the device has used the chain with this index."""
        self.put(self.available + 4 + 2 * self.size, "<H", index & 0xFFFF)

    def take(self) -> tuple[int, int] | None:
        """Return (head, bytes) of the next chain that the device has used, or None."""
        if self.get(self.used + 2, "<H")[0] == self.seen:
            return None
        found = self.get(self.used + 4 + 8 * (self.seen % self.size), "<II")
        self.seen = (self.seen + 1) & 0xFFFF
        return found


class PackedQueue(Queue):
    """The same with a packed ring (VirtIO 1.2, 2.8): chain n is a descriptor with the ID n.

    Indices count descriptors. The event structure that the driver writes is at `available`, and
    that of the device is at `used`."""

    def __init__(self, client: VfioClient, number: int, size: int, buffer_bytes: int):
        super().__init__(client, number, size, buffer_bytes)
        self.bytes = {}

    def place(self, index: int) -> int:
        """Return the place of an index in the ring, with its wrap counter in bit 15."""
        return index % self.size | (index // self.size & 1 ^ 1) << 15

    def describe(self, head: int, size: int) -> None:
        """Let the descriptor of chain `head` be for a buffer of `size` bytes."""
        self.bytes[head] = size

    def offer(self, head: int) -> bool:
        """Make chain `head` available. Return whether the device wants to be notified of it."""
        wrap = self.place(self.index) >> 15
        flags = 1 << (AVAILABLE if wrap else USED) | (WRITE if self.number == RECEIVE else 0)
        address = self.base + self.offset(head)
        at = self.base + 16 * (self.index % self.size)
        self.put(at, "<QIHH", address, self.bytes[head], head, flags)
        here = self.place(self.index)
        self.index = (self.index + 1) & 0xFFFF
        place, wish = self.get(self.used, "<HH")
        return place == here if wish == AT_PLACE else wish == 0

    def notice(self) -> int:
        """Return what a notification says: the place behind the last descriptor."""
        return self.place(self.index)

    def ask(self, index: int) -> None:
        """Ask for an interrupt when the device has used the chain with this index."""
        self.put(self.available, "<HH", self.place(index & 0xFFFF), AT_PLACE)

    def take(self) -> tuple[int, int] | None:
        """Return (head, bytes) of the next chain that the device has used, or None."""
        size, head, flags = self.get(self.base + 16 * (self.seen % self.size) + 8, "<IHH")
        wrap = self.place(self.seen) >> 15
        if not flags >> AVAILABLE & 1 == flags >> USED & 1 == wrap:
            return None
        self.seen = (self.seen + 1) & 0xFFFF
        return head, size


class VirtioDriver:
    """A virtio device with a pair of queues, ready for use.

    `page` is the place of its registers in BAR0. With `notify` the driver chooses
    NOTIFICATION_DATA, so that the device need not read the available index. With `packed` it
    chooses packed rings. Its interrupt causes must be enabled."""

    def __init__(
        self,
        client: VfioClient,
        page: int,
        notify: bool,
        size: int,
        buffer_bytes: int,
        packed: bool = False,
    ):
        self.client, self.page, self.notify, self.packed = client, page, notify, packed
        self.eventfd = os.eventfd(0, os.EFD_NONBLOCK)
        client.set_eventfd(self.eventfd)
        self._enable_msi()
        kind = PackedQueue if packed else Queue
        self.queues = [kind(client, n, size, buffer_bytes) for n in (RECEIVE, TRANSMIT)]
        self._start()

    def close(self) -> None:
        """End the driver: close the eventfd of interrupts and the memory of the queues."""
        os.close(self.eventfd)
        for queue in self.queues:
            queue.close()

    def _enable_msi(self) -> None:
        def byte(offset: int) -> int:
            return self.client.read(CONFIG, offset, 1)[0]

        offset = byte(CAPABILITIES)
        while offset and byte(offset) != MSI_CAPABILITY:
            offset = byte(offset + 1)
        if not offset:
            raise TestFailed("the card has no capability of MSI")
        self.client.write(CONFIG, offset + MSI_CONTROL, MSI_ENABLE.to_bytes(2, "little"))

    def read(self, offset: int) -> int:
        """Return the value of a register of the virtio device."""
        return int.from_bytes(self.client.read(BAR0, self.page + offset, 4), "little")

    def write(self, offset: int, value: int) -> None:
        """Write a register of the virtio device."""
        self.client.write(BAR0, self.page + offset, value.to_bytes(4, "little"))

    def _start(self) -> None:
        if self.read(MAGIC) != numbers.VIRTIO_MAGIC:
            raise TestFailed(f"BAR0 + {self.page:#x} is no page of a virtio device")
        features = 1 << EVENT_INDEX | 1 << VERSION_1 | 1 << ACCESS_PLATFORM
        features |= 1 << NOTIFICATION_DATA if self.notify else 0
        features |= 1 << RING_PACKED if self.packed else 0
        self.write(STATUS, ACKNOWLEDGE | DRIVER)
        for half in (0, 1):
            self.write(DRIVER_FEATURES_SEL, half)
            self.write(DRIVER_FEATURES, features >> 32 * half & 0xFFFF_FFFF)
        self.write(STATUS, ACKNOWLEDGE | DRIVER | FEATURES_OK)
        if not self.read(STATUS) & FEATURES_OK:
            raise TestFailed(f"the virtio device refuses the features {features:#x}")
        for queue in self.queues:
            self._place(queue)
        # The device looks into the rings from DRIVER_OK on.
        receive = self.queues[RECEIVE]
        for head in range(receive.size):
            receive.describe(head, receive.buffer_bytes)
            receive.offer(head)
        self.write(STATUS, ACKNOWLEDGE | DRIVER | FEATURES_OK | DRIVER_OK)
        self.ring(receive)

    def _place(self, queue: Queue) -> None:
        self.write(QUEUE_SEL, queue.number)
        self.write(QUEUE_NUM, queue.size)
        for offset, address in (
            (QUEUE_DESC, queue.base),
            (QUEUE_DRIVER, queue.available),
            (QUEUE_DEVICE, queue.used),
        ):
            self.write(offset, address & 0xFFFF_FFFF)
            self.write(offset + 4, address >> 32)
        self.write(QUEUE_READY, 1)

    def ring(self, queue: Queue) -> None:
        """Tell the device by its doorbell register that the queue has new chains."""
        self.write(QUEUE_NOTIFY, queue.number | (queue.notice() << 16 if self.notify else 0))


class EchoDriver(VirtioDriver):
    """A virtio device whose far side sends every message back.

    With `guessable` the descriptors that it sends with follow one another. Otherwise each is
    neither the one before nor the one behind it."""

    def __init__(
        self,
        client: RestingClient,
        page: int,
        notify: bool,
        size: int,
        buffer_bytes: int,
        guessable: bool = True,
        packed: bool = False,
    ):
        super().__init__(client, page, notify, size, buffer_bytes, packed)
        self.rest = client.rest
        self.stride = 1 if guessable else STRIDE

    def echo(self, *messages: bytes) -> None:
        """Send messages with one notification, and wait until the card has no more work. There may
        be as many as the queue has entries, but for two. Raise TestFailed if an answer differs.

        The buffers are ready for the next messages then."""
        receive, transmit = self.queues
        self.rest()
        # `ask` with this index asks for an interrupt only when the whole ring was sent once more.
        transmit.ask(transmit.index - 2)
        receive.ask(receive.seen)
        for data in map(self.sent, messages):
            head = transmit.index * self.stride % transmit.size
            place = transmit.offset(head)
            transmit.data[place : place + len(data)] = data
            transmit.describe(head, len(data))
            transmit.offer(head)
        self.ring(transmit)
        self.rest()
        self._collect(b"".join(map(self.answer, messages)))
        while transmit.take() is not None:
            pass
        if transmit.seen != transmit.index:
            missing = transmit.index - transmit.seen & 0xFFFF
            raise TestFailed(f"the device left {missing} of {len(messages)} messages in its queue")

    def sent(self, message: bytes) -> bytes:
        """Return what a buffer of the transmit queue has for a message."""
        return message

    def answer(self, message: bytes) -> bytes:
        """Return what must come to the receive queue for a message."""
        return message

    def _collect(self, message: bytes) -> None:
        """Take the answer, of which a stream may bring any parts, and give its buffers back."""
        receive, answer = self.queues[RECEIVE], b""
        try:
            os.eventfd_read(self.eventfd)
        except BlockingIOError:
            raise TestFailed(f"no interrupt for {len(message)} bytes") from None
        wanted = False
        while (used := receive.take()) is not None:
            head, size = used
            place = receive.offset(head)
            answer += receive.data[place : place + size]
            wanted |= receive.offer(head)
        if wanted:
            self.ring(receive)
        if answer != message:
            raise TestFailed(f"{len(message)} bytes came back changed")
