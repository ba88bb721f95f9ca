# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Random vfio-user messages for the board's socket: correct ones, some with wrong fields, mutated
ones, and random bytes.

`Messages` makes the same messages for the same seed. None of them writes a register of the bench
card, except to start correct DMA. Other tests cover what a card may do to the model, and a card
that was told to work for ever would look as if the board's socket hung.
"""

from __future__ import annotations

import fcntl
import json
import os
import random
import socket
import struct
from contextlib import ExitStack, suppress
from typing import NamedTuple

from sim.clients.vfio import (
    ACCESS,
    BAR0,
    CONFIG,
    DEVICE_INFO,
    DEVICE_RESET,
    DMA_MAP,
    DMA_READ,
    DMA_UNMAP,
    FLAG_NO_REPLY,
    FLAG_REPLY,
    HEADER,
    IRQ_INFO,
    LAYOUTS,
    REGION_INFO,
    REGION_READ,
    REGION_WRITE,
    REGION_WRITE_MULTI,
    SET_IRQS,
    VERSION,
)
from sim.test.board.bench_card import PACKET, SEND_RQ, request

# Layouts of the bodies of DMA_MAP, DMA_UNMAP and SET_IRQS.
MAP, UNMAP, IRQ_SET = (LAYOUTS[name] for name in ("dma_map", "dma_unmap", "irq_set"))
PAGE = 4096
FILE_BYTES = 64 * PAGE
# Bus addresses at which the fuzz clients map memory. They are FILE_BYTES (256 KiB) apart.
SLOTS = [0x1_0000_0000 + i * FILE_BYTES for i in range(6)]
# The bench card has 8 MSI-X vectors. The others are BAR offsets of its MSI-X table and pending
# bits.
VECTORS, TABLE, PENDING = 8, 0x8000, 0x9000
BAR2 = 2
MESSAGES = 0xFEE0_0000  # the card raises MSI-X vector n by a write to MESSAGES + 16 n
# Messages that make the bench card start DMA have this message number. touches_registers() knows
# them by it and lets them pass.
DMA_NUMBER = 0xFFFE
REGISTERS = 0x1000  # size of the part of BAR0 that holds the bench card's registers, in bytes
# Random fields of messages are chosen from WIDE. Most of these values are at a limit of 32 or 64
# bits.
NUMBERS = [0, 1, 2, 3, 4, 7, 8, 9, 16, 0xFFF, 0x1000, 0x1001, 1 << 20, (1 << 31) - 1, 1 << 31]
WIDE = [*NUMBERS, (1 << 32) - 1, 1 << 32, 1 << 63, (1 << 64) - PAGE, (1 << 64) - 1]


class Message(NamedTuple):
    """Holds the bytes of one vfio-user message, and the file descriptors that are sent with it."""

    data: bytes
    fds: tuple[int, ...] = ()


def full_pipe() -> tuple[int, int]:
    """Return both ends of a full pipe. The board would block if it wrote to the pipe."""
    ends = os.pipe()
    os.set_blocking(ends[1], False)
    with suppress(BlockingIOError):
        while True:
            os.write(ends[1], bytes(PAGE))
    os.set_blocking(ends[1], True)
    return ends


def full_eventfd() -> int:
    """Return an eventfd with the maximum count. The board would block if it wrote to the
    eventfd."""
    fd = os.eventfd(0)
    os.eventfd_write(fd, (1 << 64) - 2)
    return fd


def sealed_file() -> int:
    """Return a memfd that is sealed against writing, so that the board cannot map it for
    writing."""
    fd = os.memfd_create("lanebox-fuzz", os.MFD_ALLOW_SEALING)
    os.ftruncate(fd, FILE_BYTES)
    fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_WRITE)
    return fd


class Descriptors:
    """File descriptors that a client might send: shared memory, eventfds, and kinds that the board
    must refuse. `with` opens all of them and closes them at its end."""

    def __init__(self):
        self._open = ExitStack()

    def __enter__(self):
        # Files of host memory. Random messages map each of them several times, and truncate() cuts
        # them.
        self.shared = [self._file() for _ in range(3)]
        ends = socket.socketpair()
        self.eventfd = self._keep(os.eventfd(0))
        self.full_eventfd = self._keep(full_eventfd())
        self.wrong = [
            *map(self._keep, (*os.pipe(), *full_pipe(), sealed_file())),
            *(self._keep(end.detach()) for end in ends),
            self._keep(os.open("/dev/null", os.O_RDWR)),
            self._keep(os.open(__file__, os.O_RDONLY)),
            self._keep(os.open("/", os.O_RDONLY)),
        ]
        return self

    def _keep(self, fd):
        self._open.callback(os.close, fd)
        return fd

    def _file(self):
        fd = self._keep(os.memfd_create("lanebox-fuzz"))
        os.ftruncate(fd, FILE_BYTES)
        return fd

    def __exit__(self, *_):
        self._open.close()


class Messages:
    """Makes the random messages of one client. next() returns one message, or several that belong
    together."""

    def __init__(self, seed: str, descriptors: Descriptors):
        self.rng = random.Random(seed)
        self.fds = descriptors
        self.number = 0
        self.kinds = [
            self.version,
            self.map,
            self.map,
            self.map,
            self.unmap,
            self.info,
            self.set_irqs,
            self.set_irqs,
            self.read,
            self.read,
            self.write,
            self.write_multi,
            self.dma,
            self.dma,
            self.enable,
            self.truncate,
            self.reply,
            self.reset,
            self.nonsense,
        ]
        self.weights = [2, 5, 5, 5, 5, 6, 6, 6, 8, 8, 7, 5, 7, 7, 8, 4, 3, 1, 3]

    def next(self) -> list[Message]:
        [kind] = self.rng.choices(self.kinds, self.weights)
        return [message for message in kind() if not touches_registers(message.data)]

    def prepare(self) -> list[Message]:
        """Return messages that set the card up as a driver would: they map memory at all of SLOTS,
        enable the card and set its MSI-X vectors."""
        for fd in self.fds.shared:
            os.ftruncate(fd, FILE_BYTES)
        size = HEADER.size + MAP.size
        maps = [
            Message(
                HEADER.pack(3, DMA_MAP, size, 0, 0) + MAP.pack(MAP.size, 3, 0, slot, FILE_BYTES),
                (self.rng.choice(self.fds.shared),),
            )
            for slot in SLOTS
        ]
        vectors = IRQ_SET.pack(IRQ_SET.size, 36, 2, 0, VECTORS)
        listen = Message(
            HEADER.pack(4, SET_IRQS, HEADER.size + len(vectors), 0, 0) + vectors,
            (self.fds.eventfd,) * VECTORS,
        )
        return [*maps, *self.enable(), listen]

    def some(self, *choices):
        return self.rng.choice(choices)

    def wide(self):
        return self.rng.choice(WIDE) if self.rng.random() < 0.8 else self.rng.getrandbits(64)

    def narrow(self):
        return self.wide() & 0xFFFF_FFFF

    # Whole vfio-user messages ------------------------------------------------------------------

    def message(self, command, body=b"", fds=(), flags=None) -> Message:
        """Return a message with this command and body. One message in eight has a mutated body:
        other bytes, too long or too short."""
        rng = self.rng
        self.number = (self.number + 1) & 0x7FFF
        if flags is None:
            flags = rng.choices([0, FLAG_NO_REPLY, 2, rng.getrandbits(32)], [80, 15, 2, 1])[0]
        if rng.random() < 0.125:
            body = self.mutated(body)
        return Message(
            HEADER.pack(self.number, command, HEADER.size + len(body), flags, 0) + body, tuple(fds)
        )

    def mutated(self, body: bytes) -> bytes:
        rng = self.rng
        kind = rng.randrange(4)
        if kind == 0:
            return body[: rng.randrange(len(body) + 1)]
        if kind == 1:
            return body + rng.randbytes(rng.randrange(64))
        data = bytearray(body)
        for _ in range(rng.randrange(1, 4) if data else 0):
            place = rng.randrange(len(data))
            data[place] = rng.randrange(256) if kind == 2 else data[place] ^ 1 << rng.randrange(8)
        return bytes(data)

    def nonsense(self):
        body = self.rng.randbytes(self.some(0, 4, 16, 24, 32, 200))
        command = self.some(*range(18), self.rng.getrandbits(16))
        return [self.message(command, body, self.any_fds(self.rng.randrange(3)))]

    def torn(self) -> bytes:
        """Return half a message, or a header with an impossible size. After these bytes the client
        can send no more, since the board no longer knows where a message begins."""
        whole = self.next() or [self.message(DEVICE_INFO, bytes(16))]
        if self.rng.random() < 0.5:
            return whole[0].data[: self.rng.randrange(1, len(whole[0].data))]
        return HEADER.pack(1, self.rng.randrange(16), self.narrow(), 0, 0) + self.rng.randbytes(8)

    # Messages for each vfio-user command -------------------------------------------------------

    def version(self):
        text = self.some(
            b"",
            b"{}\0",
            b"{",
            b'{"capabilities":{"max_data_xfer_size":1048576}}\0',
            json.dumps({"x": "y" * self.rng.randrange(3000)}).encode(),
            self.rng.randbytes(40),
        )
        return [self.message(VERSION, struct.pack("<HH", self.some(0, 0, 0, 0, 1), 1) + text)]

    def info(self):
        command, layout, rest = self.some(
            (DEVICE_INFO, LAYOUTS["device_info"], ()),
            (REGION_INFO, LAYOUTS["region_info"], (0, 0)),
            (IRQ_INFO, LAYOUTS["irq_info"], ()),
        )
        body = [self.some(16, 32, self.narrow()), 0, self.some(*range(10), self.narrow()), 0]
        return [self.message(command, layout.pack(*body, *rest))]

    def window(self):
        """Return a random (bus address, size in bytes), in most cases within the memory at
        SLOTS."""
        if self.rng.random() < 0.85:
            pages = self.some(1, 2, 16, 64)
            return self.rng.choice(SLOTS) + PAGE * self.rng.randrange(4), PAGE * pages
        return self.wide(), self.wide()

    def map(self):
        address, size = self.window()
        offset = self.some(0, 0, PAGE, 32 * PAGE, self.wide())
        flags = self.some(1, 2, 3, 3, 3, 0, self.narrow())
        body = MAP.pack(MAP.size, flags, offset, address, size)
        chance = self.rng.random()
        if chance < 0.6:
            return [self.message(DMA_MAP, body, [self.rng.choice(self.fds.shared)])]
        if chance < 0.7:
            return [self.message(DMA_MAP, body)]
        return [self.message(DMA_MAP, body, self.any_fds(self.some(1, 1, 1, 2, 16)))]

    def unmap(self):
        address, size = self.window()
        flags = self.some(0, 0, 0, 0, 2, self.narrow())
        return [self.message(DMA_UNMAP, UNMAP.pack(UNMAP.size, flags, address, size))]

    def any_fds(self, count):
        return [
            self.some(self.fds.eventfd, self.fds.full_eventfd, *self.fds.shared, *self.fds.wrong)
            for _ in range(count)
        ]

    def set_irqs(self):
        count = self.some(0, 1, 1, 2, VECTORS, self.narrow())
        start = self.some(0, 0, 0, 1, VECTORS - 1, self.narrow())
        flags = self.some(36, 36, 36, 33, 33, 33, 34, 32, 37, self.narrow())
        fds = []
        if flags & 4 and count <= VECTORS and self.rng.random() < 0.8:
            good = (self.fds.eventfd, self.fds.full_eventfd)
            fds = [self.some(*good) for _ in range(count)]
        elif self.rng.random() < 0.5:
            fds = self.any_fds(self.rng.randrange(17))
        index = self.some(0, 1, 1, 2, 2, 2, 5)
        body = IRQ_SET.pack(IRQ_SET.size, flags, index, start, count)
        return [self.message(SET_IRQS, body, fds)]

    def access(self):
        """Return a random (region, offset, count of bytes) for an access, in most cases inside the
        region."""
        region, size = self.some((BAR0, 0x20000), (BAR2, 0x10000), (CONFIG, 4096), (CONFIG, 256))
        count = self.some(1, 2, 3, 4, 4, 8, 64, 0, self.rng.randrange(300), 4096, 4097)
        if self.rng.random() < 0.9:
            return region, self.rng.randrange(size), count
        return self.some(*range(10), self.narrow()), self.wide(), self.narrow()

    def read(self):
        region, offset, count = self.access()
        return [self.message(REGION_READ, ACCESS.pack(offset, region, count))]

    def write(self):
        region, offset, count = self.access()
        data = self.rng.randbytes(count if count <= PAGE else 8)
        flags = self.some(None, FLAG_NO_REPLY)
        return [self.message(REGION_WRITE, ACCESS.pack(offset, region, count) + data, flags=flags)]

    def write_multi(self):
        entries = b""
        count = self.some(0, 1, 2, 10, self.rng.randrange(40))
        for _ in range(count):
            region, offset, _ = self.access()
            size = self.some(1, 2, 4, 8, 9)
            entries += ACCESS.pack(offset, region, size) + self.rng.randbytes(8)
        count = self.some(count, count, count, self.wide())
        return [self.message(REGION_WRITE_MULTI, struct.pack("<Q", count) + entries)]

    def dma(self):
        """Return one message that makes the card write or read the memory at SLOTS, or raise an
        MSI-X vector."""
        address = self.rng.choice(SLOTS) + 4 * self.rng.randrange(16 * PAGE)
        kind = self.rng.randrange(3)
        if kind == 0:
            vector = self.rng.randrange(VECTORS + 1)
            return [dma_message(request(MESSAGES + 16 * vector, 1, write=True) + [vector])]
        dwords = self.some(1, 8, 30)
        # The random TLP is cut, because a TLP must not cross a 4 KiB boundary.
        dwords = min(dwords, (PAGE - address % PAGE) // 4)
        if kind == 1:
            data = [self.rng.getrandbits(32) for _ in range(dwords)]
            return [dma_message(request(address, dwords, write=True) + data)]
        return [dma_message(request(address, dwords), dwords)]

    def enable(self):
        """Return messages that set BAR0 and write the Command register. In most cases they enable
        memory space and bus master, else they disable one or both."""
        return [config_write(0x10, 0xE000_0000), config_write(0x04, self.some(6, 6, 6, 6, 2, 0), 2)]

    def truncate(self):
        """Change the length of a file that the client may have mapped. This happens at once, so the
        returned list has no message."""
        os.ftruncate(self.rng.choice(self.fds.shared), self.some(0, PAGE, *[FILE_BYTES] * 4))
        return []

    def reset(self):
        return [self.message(DEVICE_RESET)]

    def reply(self, number=None, body=None):
        """Return an answer, right or wrong, to a DMA_READ that the board may have sent to the
        client."""
        number = 0xFFFF if number is None else number
        body = self.rng.randbytes(16 + self.some(0, 63, 64, 64, 64, 100)) if body is None else body
        flags = self.some(FLAG_REPLY, FLAG_REPLY, FLAG_REPLY, 0x21)
        size = HEADER.size + len(body)
        return [Message(HEADER.pack(number, DMA_READ, size, flags, 0) + body)]


def config_write(offset, value, count=4) -> Message:
    """Return a message that writes `value` to `count` bytes of configuration space at `offset`."""
    body = ACCESS.pack(offset, CONFIG, count) + value.to_bytes(count, "little")
    return Message(HEADER.pack(1, REGION_WRITE, HEADER.size + len(body), 0, 0) + body)


def dma_message(packet, dwords=None) -> Message:
    """Return one message that makes the bench card send `packet`, a list of dwords, on RQ.

    `dwords` is the length of a read. For a write it is left out, and the payload's length counts.
    """
    count = len(packet) - 4 if dwords is None else dwords
    go = len(packet) | 0xF00 | (0xF000 if count > 1 else 0)
    words = [*((PACKET + 4 * i, dword) for i, dword in enumerate(packet)), (SEND_RQ, go)]
    body = struct.pack("<Q", len(words))
    for offset, word in words:
        body += LAYOUTS["multi_write"].pack(offset, BAR0, 4, word & 0xFFFF_FFFF)
    header = HEADER.pack(DMA_NUMBER, REGION_WRITE_MULTI, HEADER.size + len(body), FLAG_NO_REPLY, 0)
    return Message(header + body)


def touches_registers(data: bytes) -> bool:
    """Return whether the board would take the message `data` for a write to the bench card's
    registers. Messages that start DMA do not count."""
    number, command, _, flags, _ = HEADER.unpack_from(data)
    body = data[HEADER.size :]
    if flags & 0xF == FLAG_REPLY or (command, number) == (REGION_WRITE_MULTI, DMA_NUMBER):
        return False
    if command == REGION_WRITE:
        starts = [0]
    elif command == REGION_WRITE_MULTI:
        starts = range(8, len(body) - 23, 24)
    else:
        return False
    for start in starts:
        if len(body) >= start + ACCESS.size:
            offset, region, _ = ACCESS.unpack_from(body, start)
            if region == BAR0 and offset < REGISTERS:
                return True
    return False
