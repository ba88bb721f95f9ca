# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The card's streams as NumPy arrays that lie in the DMA's own rings: nothing is copied.

An array is the card's again when the loop goes on, or when its block ends: copy() what is kept for
longer. It stays valid memory for as long as it is there, also when the card is closed, but what it
shows then is anything: nothing, old data, or that of a later run.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Iterator
from types import TracebackType

import numpy as np

from lanebox_host._library import (
    C2H,
    H2C,
    RECORD_ERROR,
    RECORD_FLUSHED,
    RECORD_LAST,
    DmaConfigFields,
    Handle,
    RecordFields,
    Ring,
    StatsFields,
    milliseconds,
)
from lanebox_host.errors import BadPacket, WaitTimeout

TIMEOUT = 10.0  # seconds without a buffer


class Run:
    """Directions that run while the block lasts. Made by Card.receive(), send() and loopback()."""

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
        timeout: float = TIMEOUT,
    ) -> None:
        """With `packets` a buffer of h2c is a packet, and the end of one ends a buffer of c2h.

        flush  seconds without data after which a c2h buffer that has some ends as well; 0: never
        """
        self._handle = handle
        self._timeout = timeout
        self._config = DmaConfigFields(
            directions=self.directions, pattern=pattern, c2h_limit=limit,
            interrupt_every=interrupt_every, batch=batch, packets=packets,
            flush_us=math.ceil(flush * 1e6),
        )  # fmt: skip
        self._running = False

    def __enter__(self):
        self._handle.call("dma_start", ctypes.byref(self._config))
        self._running = True
        self._parts: list[bytes] = []  # of a packet that has not come to its end
        # Where they are is known from the start on; a view for each, made once.
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
            if error is None:  # a card that is gone has been told of by the first error
                raise

    def _look(self, call: str, timeout: float | None) -> tuple[int, int]:
        """How many buffers are ours, and the first of them; waits for one, for ever if negative."""
        first = ctypes.c_uint64()
        longest = milliseconds(self._timeout if timeout is None else timeout)
        if not self._running:
            raise ValueError("the DMA does not run: use it inside its `with` block")
        return self._handle.call(call, ctypes.byref(first), longest), first.value

    @property
    def stats(self) -> dict[str, int]:
        """The library's counts since the start, by name; they stay after the end."""
        fields = StatsFields()
        self._handle.plain("stats", ctypes.byref(fields))
        return {name: getattr(fields, name) for name, _ in fields._fields_}


class Receive(Run):
    """`for buffer in stream`: the card's stream, a uint8 array at a time."""

    directions = C2H

    def take(self, timeout: float | None = None) -> list[np.ndarray]:
        """All buffers that are filled, at least one; release() gives them back."""
        count, first = self._look("c2h_peek", timeout)
        if not count:
            raise WaitTimeout(0, "the card filled no buffer in time")
        ring = self._views[C2H]
        return [ring[(first + i) % len(ring)] for i in range(count)]

    def release(self, count: int) -> None:
        """Give the oldest `count` back to the card."""
        self._handle.call("c2h_release", count)

    def receive_packet(self, timeout: float | None = None) -> bytes:
        """The next packet, of a run with `packets`, however many buffers it took.

        BadPacket: it came with an error. A WaitTimeout loses nothing: the next call goes on.
        """
        flags = 0
        while not flags & (RECORD_LAST | RECORD_FLUSHED):
            count, first = self._look("c2h_peek", timeout)
            if not count:
                raise WaitTimeout(0, "no packet came to its end in time")
            flags = self._take_part(first)
        packet, self._parts = b"".join(self._parts), []
        if flags & RECORD_ERROR:
            raise BadPacket(packet)
        return packet

    def _take_part(self, number: int) -> int:
        """Copy what a buffer has, give it back, and return how it has ended."""
        record, ring = RecordFields(), self._views[C2H]
        self._handle.call("c2h_record", number, ctypes.byref(record))
        self._parts.append(ring[number % len(ring)][: record.bytes].tobytes())
        self.release(1)
        return record.flags

    def __iter__(self) -> Iterator[np.ndarray]:
        """Until the limit, if the run has one; each buffer goes back when the loop goes on."""
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
    """`stream.send(data)`, or fill buffers in place: `for buffer in stream.free(): ...`."""

    directions = H2C

    def free(self, timeout: float | None = None) -> list[np.ndarray]:
        """All buffers that may be filled, at least one; submit() sends them."""
        count, first = self._look("h2c_get", timeout)
        if not count:
            raise WaitTimeout(0, "the card fetched no buffer in time")
        ring = self._views[H2C]
        return [ring[(first + i) % len(ring)] for i in range(count)]

    def submit(self, count: int) -> None:
        """Send the oldest `count`."""
        self._handle.call("h2c_submit", count)

    def send(self, data: np.ndarray | bytes) -> int:
        """Copy data into buffers and send them; the last is filled up with zeros. Returns them."""
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
        """Copy data into a buffer and send it as a packet, of a run with `packets`."""
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
    """Both ways; with `inside` the DMA's own loopback, else through the logic in the user slot."""

    directions = H2C | C2H

    def __init__(self, handle: Handle, *, inside: bool = True, **options) -> None:
        super().__init__(handle, **options)
        self._config.loopback = inside

    def ask(self, request: np.ndarray | bytes, timeout: float | None = None) -> bytes:
        """Send a packet, and return the next one that comes."""
        self.send_packet(request)
        return self.receive_packet(timeout)
