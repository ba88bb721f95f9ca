# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""A vfio-user client that uses only the standard library, strict enough to test a server with.

Every reply is matched by its message number, because the reply to a BAR read may come after that to
a later message. Requests from the server are served whenever the client waits. The client is not
made for speed."""

from __future__ import annotations

import json
import os
import select
import socket
import struct
import time

from tools import c_header

_WIRE = c_header.read(c_header.VFIO_USER)
_numbers = _WIRE.numbers
VERSION, DMA_MAP, DMA_UNMAP = (_numbers[f"CMD_{n}"] for n in ("VERSION", "DMA_MAP", "DMA_UNMAP"))
DEVICE_INFO, REGION_INFO = _numbers["CMD_GET_INFO"], _numbers["CMD_GET_REGION_INFO"]
IRQ_INFO, SET_IRQS = _numbers["CMD_GET_IRQ_INFO"], _numbers["CMD_SET_IRQS"]
REGION_READ, REGION_WRITE = _numbers["CMD_REGION_READ"], _numbers["CMD_REGION_WRITE"]
REGION_WRITE_MULTI = _numbers["CMD_REGION_WRITE_MULTI"]
DMA_READ, DEVICE_RESET = _numbers["CMD_DMA_READ"], _numbers["CMD_DEVICE_RESET"]

FLAG_REPLY, FLAG_NO_REPLY = _numbers["TYPE_REPLY"], _numbers["FLAG_NO_REPLY"]
FLAG_ERROR = _numbers["FLAG_ERROR"]
BAR0, CONFIG = 0, _numbers["REGION_CONFIG"]
MSI = _numbers["IRQ_MSI"]
READABLE, WRITABLE = _numbers["DMA_READABLE"], _numbers["DMA_WRITABLE"]
UNMAP_ALL = _numbers["DMA_UNMAP_ALL"]
IRQ_DATA_NONE, IRQ_DATA_EVENTFD = _numbers["IRQ_DATA_NONE"], _numbers["IRQ_DATA_EVENTFD"]
IRQ_ACTION_TRIGGER = _numbers["IRQ_ACTION_TRIGGER"]

# The layouts of vfio-user messages' bodies, by the name of their C structure.
LAYOUTS = _WIRE.layouts
HEADER = LAYOUTS["header"]  # the fields of a message header: id, command, size, flags, error
ACCESS = LAYOUTS["region_access"]  # the fields of a region access: offset, region, count
# The fields of PCI Express's Device Control that have the sizes of TLPs: MPS and MRRS.
SIZE_FIELDS = 0x70E0
TIMEOUT = 20  # A board that does not answer within this many seconds of wall time is broken.


class VfioClient:
    """A connection to a board as its vfio-user client.

    `memory_of(address, count)` answers the server's request DMA_READ. Without it the client does
    not announce that the server may ask for its memory."""

    def __init__(self, path, memory_of=None, greet=True):
        self.socket = socket.socket(socket.AF_UNIX)
        # connect() waits while the queue of the board's socket is full.
        self.socket.connect(str(path))
        self.socket.settimeout(TIMEOUT)
        self.memory_of = memory_of
        self.asked = 0  # the number of DMA_READ requests of the board that this client has answered
        self.capabilities = None
        self._number = 0
        self._replies = {}
        if greet:
            self.greet()

    def close(self):
        """Close the connection. The board then forgets all mappings of this client."""
        self.socket.close()

    # Messages of vfio-user in general ----------------------------------------------------------

    def send(self, command, body=b"", fds=(), flags=0, size=None):
        """Send a request and return its message number.

        `size` overrides the size in the header."""
        self._number = (self._number + 1) & 0x7FFF
        size = HEADER.size + len(body) if size is None else size
        message = HEADER.pack(self._number, command, size, flags, 0) + body
        if fds:
            socket.send_fds(self.socket, [message], fds)
        else:
            self.socket.sendall(message)
        return self._number

    def reply(self, number):
        """Wait for the reply to request `number`, and return the reply's body.

        An error in the reply is raised as OSError."""
        while number not in self._replies:
            self._receive()
        flags, error, body = self._replies.pop(number)
        assert flags & FLAG_REPLY, f"message {number}: flags {flags:#x} of a reply lack its type"
        if flags & FLAG_ERROR:
            raise OSError(error, os.strerror(error))
        return body

    def call(self, command, body=b"", fds=()):
        """Send a request and return the body of its reply.

        Raises OSError with the reply's error."""
        return self.reply(self.send(command, body, fds))

    def _receive_exactly(self, count):
        data = b""
        while len(data) < count:
            more = self.socket.recv(count - len(data))
            if not more:
                raise ConnectionError("the board closed the connection")
            data += more
        return data

    def _receive(self):
        number, command, size, flags, error = HEADER.unpack(self._receive_exactly(HEADER.size))
        body = self._receive_exactly(size - HEADER.size)
        if flags & 0xF == FLAG_REPLY:
            self._replies[number] = (flags, error, body)
        else:
            self._serve(number, command, body)

    def _serve(self, number, command, body):
        assert command == DMA_READ and self.memory_of, f"unexpected request {command} of the board"
        address, count = LAYOUTS["memory_access"].unpack(body)
        answer = body + self.memory_of(address, count)
        self.asked += 1
        header = HEADER.pack(number, command, HEADER.size + len(answer), FLAG_REPLY, 0)
        self.socket.sendall(header + answer)

    def serve_for(self, seconds):
        """Answer the board's requests until the board has sent none for `seconds`."""
        while select.select([self.socket], [], [], seconds)[0]:
            self._receive()

    def closed_within(self, seconds):
        """Return whether the board ends the connection within `seconds`.

        Replies that are still in the socket are read first."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if not select.select([self.socket], [], [], 0.05)[0]:
                continue
            try:
                self._receive()
            except ConnectionError:
                return True
        return False

    # Requests of the client to the board -------------------------------------------------------

    def greet(self, capabilities=None):
        """Agree with the board on the protocol's version and on the capabilities.

        Without `capabilities` the client announces its usual ones."""
        if capabilities is None:
            capabilities = {"max_msg_fds": 8}
            if self.memory_of:
                capabilities["max_data_xfer_size"] = 1 << 20
        text = json.dumps({"capabilities": capabilities}).encode() + b"\0"
        body = self.call(VERSION, struct.pack("<HH", 0, 1) + text)
        self.capabilities = json.loads(body[4:].rstrip(b"\0"))["capabilities"]

    def device_info(self):
        """Return what the device says about itself: (flags, number of regions, number of interrupt
        kinds)."""
        info = LAYOUTS["device_info"]
        return info.unpack(self.call(DEVICE_INFO, info.pack(info.size, 0, 0, 0)))[1:]

    def region_info(self, index):
        """Return (flags, size in bytes) of the device's region `index`."""
        info = LAYOUTS["region_info"]
        body = self.call(REGION_INFO, info.pack(info.size, 0, index, 0, 0, 0))
        _, flags, _, _, size, _ = info.unpack(body)
        return flags, size

    def irq_count(self, index):
        """Return how many interrupts of kind `index` the device has."""
        info = LAYOUTS["irq_info"]
        return info.unpack(self.call(IRQ_INFO, info.pack(info.size, 0, index, 0)))[3]

    def read(self, region, offset, count):
        """Return `count` bytes of the device's region from `offset` on."""
        return self.reply(self.send_read(region, offset, count))[ACCESS.size :]

    def send_read(self, region, offset, count):
        """Send a read of a region, and do not wait for its reply. Return the message number that
        reply() needs."""
        return self.send(REGION_READ, ACCESS.pack(offset, region, count))

    def read_many(self, region, offsets, count):
        """Send a read of `count` bytes for each offset, as fast as the board takes them.

        Returns the data of the reads, in order."""
        numbers = []
        for offset in offsets:
            # Replies that have arrived are read before the next request, so that the socket has
            # room for more.
            while select.select([self.socket], [], [], 0)[0]:
                self._receive()
            numbers.append(self.send_read(region, offset, count))
        return [self.reply(number)[ACCESS.size :] for number in numbers]

    def write(self, region, offset, data, posted=False):
        """Write bytes to a region.

        A posted write has no reply, so the client does not see its errors."""
        body = ACCESS.pack(offset, region, len(data)) + data
        if posted:
            self.send(REGION_WRITE, body, flags=FLAG_NO_REPLY)
        else:
            self.call(REGION_WRITE, body)

    def write_multi(self, writes):
        """Send several writes to BAR0 in one message.

        `writes` is [(offset, data), ...], where data has at most 8 bytes."""
        body = struct.pack("<Q", len(writes))
        for offset, data in writes:
            body += ACCESS.pack(offset, BAR0, len(data)) + data.ljust(8, b"\0")
        self.call(REGION_WRITE_MULTI, body)

    def map(self, address, size, fd=None, offset=0, flags=READABLE | WRITABLE):
        """Let the device reach `size` bytes of memory at a bus address.

        The memory is that of the file `fd` from `offset` on. Without a file the device could reach
        it by messages only."""
        body = LAYOUTS["dma_map"].pack(32, flags, offset, address, size)
        self.call(DMA_MAP, body, [] if fd is None else [fd])

    def unmap(self, address, size, flags=0):
        """Unmap `size` bytes at a bus address, so that the device can no longer reach them."""
        self.call(DMA_UNMAP, LAYOUTS["dma_unmap"].pack(24, flags, address, size))

    def set_eventfd(self, fd, index=MSI, start=0, count=1):
        """Let an interrupt signal the eventfd `fd`. If `fd` is None, take the eventfd away."""
        flags = IRQ_DATA_EVENTFD | IRQ_ACTION_TRIGGER
        fds = [] if fd is None else [fd]
        self.call(SET_IRQS, LAYOUTS["irq_set"].pack(20, flags, index, start, count), fds)

    def reset(self):
        """Reset the device. The board does it by a function level reset if the card offers one."""
        self.call(DEVICE_RESET)
