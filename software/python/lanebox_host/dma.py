# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The card's streams as NumPy arrays that lie in the DMA's own rings: nothing is copied.

The card may write to an array again when the loop goes on, or when the `with` block ends, so copy()
data that is needed for longer. An array stays valid memory as long as it exists, even after the
card is closed. But its contents are undefined then: old data, or that of a later run.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Iterator
from types import TracebackType
from typing import NoReturn

import numpy as np

from lanebox_host._library import (
    C2H,
    H2C,
    RECORD_ERROR,
    RECORD_FLUSHED,
    RECORD_LAST,
    WAYS,
    WHY_SIZE,
    DmaConfigFields,
    Handle,
    RecordFields,
    Ring,
    StatsFields,
    milliseconds,
)
from lanebox_host.errors import BadPacket, WaitTimeout

TIMEOUT = 10.0  # longest wait for a buffer, in seconds


class Run:
    """A run of one or both directions, from the beginning to the end of its `with` block.

    Card.receive(), Card.send() and Card.loopback() make it.
    """

    directions = 0

    def __init__(
        self,
        handle: Handle,
        *,
        pattern: bool = False,
        limit: int = 0,
        interrupt_every: int = 0,
        batch: int = 0,
        packets: bool = False,
        flush: float = 0,
        poll: float = 0,
        adaptive: bool = False,
        timeout: float = TIMEOUT,
    ) -> None:
        """With `packets` each h2c buffer is a packet, and the end of a packet ends a c2h buffer.

        flush     seconds without data after which a c2h buffer with some data ends; 0: never
        poll      seconds between two polls of the card, in place of interrupts; 0: interrupts
        adaptive  polling begins with an interrupt, and ends when a poll finds nothing
        """
        self._handle = handle
        self._timeout = timeout
        self._config = DmaConfigFields(
            directions=self.directions, pattern=pattern, c2h_limit=limit,
            interrupt_every=interrupt_every, batch=batch, packets=packets,
            flush_us=math.ceil(flush * 1e6), poll_us=round(poll * 1e6), adaptive=adaptive,
        )  # fmt: skip
        self._running = False

    def __enter__(self):
        self._handle.call("dma_start", ctypes.byref(self._config))
        self._running = True
        self._parts: list[bytes] = []  # parts of a packet whose end has not come yet
        # The rings' addresses are known only after the start. Each buffer's view is made once.
        self._views = {
            way: list(np.asarray(Ring(self._handle, way)))
            for way in (H2C, C2H) if self.directions & way
        }  # fmt: skip
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:  # fmt: skip
        self._running = False
        try:
            self._handle.call("dma_stop")
        except (OSError, ValueError):
            if error is None:  # the first error has already said that the card is gone
                raise

    def _look(self, call: str, timeout: float | None) -> tuple[int, int]:
        """Wait for a buffer; a negative timeout waits for ever.

        Returns how many buffers the program may use, and the number of the first of them.
        """
        first = ctypes.c_uint64()
        longest = milliseconds(self._timeout if timeout is None else timeout)
        if not self._running:
            raise ValueError("the DMA does not run: use it inside its `with` block")
        return self._handle.call(call, ctypes.byref(first), longest), first.value

    def diagnose(self) -> str:
        """What the run waits for, as a sentence: buffers that wait, and the user slot's state."""
        text = ctypes.create_string_buffer(WHY_SIZE)
        self._handle.plain("diagnose", self.directions, text, WHY_SIZE)
        return text.value.decode(errors="replace")

    def _late(self, what: str) -> NoReturn:
        raise WaitTimeout(0, f"{what} in time. {self.diagnose()}")

    def export(self, way: str) -> int:
        """A file descriptor of the "h2c" or "c2h" ring, for mmap() by another process.

        The caller closes the descriptor, which outlives the run. With the kernel driver it is a
        dma-buf, so other devices can use the ring as well.
        """
        descriptor = ctypes.c_int()
        self._handle.call("ring_export", WAYS.get(way, 0), ctypes.byref(descriptor))
        return descriptor.value

    @property
    def stats(self) -> dict[str, int]:
        """The library's counts since the start, by name. They stay after the end of the run."""
        fields = StatsFields()
        self._handle.plain("stats", ctypes.byref(fields))
        return {name: getattr(fields, name) for name, _ in fields._fields_}


class Receive(Run):
    """The card's stream to the host: `for buffer in stream` gives a uint8 array for each buffer."""

    directions = C2H

    def take(self, timeout: float | None = None) -> list[np.ndarray]:
        """Wait for a filled buffer, and return all of them. release() gives them back.

        Raises WaitTimeout if none comes in `timeout` seconds.
        """
        count, first = self._look("c2h_peek", timeout)
        if not count:
            self._late("the card filled no buffer")
        ring = self._views[C2H]
        return [ring[(first + i) % len(ring)] for i in range(count)]

    def release(self, count: int) -> None:
        """Give the oldest `count` buffers back to the card."""
        self._handle.call("c2h_release", count)

    def receive_packet(self, timeout: float | None = None) -> bytes:
        """The next packet of a run with `packets`, which may span several buffers.

        Raises BadPacket if the logic has marked it as bad. After a WaitTimeout nothing is lost: the
        next call continues with the same packet.
        """
        flags = 0
        while not flags & (RECORD_LAST | RECORD_FLUSHED):
            count, first = self._look("c2h_peek", timeout)
            if not count:
                self._late("no packet came to its end")
            flags = self._take_part(first)
        packet, self._parts = b"".join(self._parts), []
        if flags & RECORD_ERROR:
            raise BadPacket(packet)
        return packet

    def _take_part(self, number: int) -> int:
        """Copy a buffer's data, release the buffer, and return the flags of its record."""
        record, ring = RecordFields(), self._views[C2H]
        self._handle.call("c2h_record", number, ctypes.byref(record))
        self._parts.append(ring[number % len(ring)][: record.bytes].tobytes())
        self.release(1)
        return record.flags

    def __iter__(self) -> Iterator[np.ndarray]:
        """All buffers up to the limit, if any. Each is released when the loop goes on."""
        limit, taken = self._config.c2h_limit, 0
        while not limit or taken < limit:
            for buffer in self.take():
                yield buffer
                self._handle.call("c2h_release", 1)
                taken += 1


def _bytes_of(data: np.ndarray | bytes) -> np.ndarray:
    if isinstance(data, (bytes, bytearray)):
        return np.frombuffer(data, np.uint8)
    return np.ascontiguousarray(data).view(np.uint8).reshape(-1)


class Send(Run):
    """A stream to the card: `stream.send(data)`, or fill buffers of `stream.free()` in place."""

    directions = H2C

    def free(self, timeout: float | None = None) -> list[np.ndarray]:
        """Wait for a free buffer, and return all of them. submit() sends them.

        Raises WaitTimeout if none is free in `timeout` seconds.
        """
        count, first = self._look("h2c_get", timeout)
        if not count:
            self._late("the card fetched no buffer")
        ring = self._views[H2C]
        return [ring[(first + i) % len(ring)] for i in range(count)]

    def submit(self, count: int) -> None:
        """Send the oldest `count` buffers."""
        self._handle.call("h2c_submit", count)

    def send(self, data: np.ndarray | bytes) -> int:
        """Copy data into buffers and send these, the last one filled up with zeros.

        Returns the number of buffers.
        """
        rest, sent = _bytes_of(data), 0
        while rest.size:
            buffer = self.free()[0]
            part, rest = rest[: buffer.size], rest[buffer.size :]
            buffer[: part.size] = part
            buffer[part.size :] = 0
            self.submit(1)
            sent += 1
        return sent

    def send_packet(self, data: np.ndarray | bytes) -> None:
        """Copy data into a buffer and send it as a packet. The run must have `packets`."""
        part, buffer = _bytes_of(data), self.free()[0]
        if part.size > buffer.size:
            raise ValueError(f"a packet of {part.size} bytes: a buffer has {buffer.size}")
        buffer[: part.size] = part
        self._handle.call("h2c_send", part.size)

    def drain(self, timeout: float | None = None) -> None:
        """Wait until the card has received all that was submitted."""
        self._handle.call("dma_flush", self.directions)
        longest = milliseconds(self._timeout if timeout is None else timeout)
        self._handle.call("h2c_drain", longest)


class Loopback(Receive, Send):
    """Both directions, through the DMA's own loopback (`inside`) or the logic in the user slot."""

    directions = H2C | C2H

    def __init__(self, handle: Handle, *, inside: bool = True, **options) -> None:
        super().__init__(handle, **options)
        self._config.loopback = inside

    def ask(self, request: np.ndarray | bytes, timeout: float | None = None) -> bytes:
        """Send a packet, and return the next packet that comes back."""
        self.send_packet(request)
        return self.receive_packet(timeout)
