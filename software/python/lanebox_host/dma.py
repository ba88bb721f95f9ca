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
from collections.abc import Iterator
from types import TracebackType

import numpy as np

from lanebox_host._library import (
    C2H,
    H2C,
    DmaConfigFields,
    Handle,
    Ring,
    StatsFields,
    milliseconds,
)
from lanebox_host.errors import WaitTimeout

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
        timeout: float = TIMEOUT,
    ) -> None:
        self._handle = handle
        self._timeout = timeout
        self._config = DmaConfigFields(
            directions=self.directions, pattern=pattern, c2h_limit=limit,
            interrupt_every=interrupt_every, batch=batch,
        )  # fmt: skip
        self._running = False

    def __enter__(self):
        self._handle.call("dma_start", ctypes.byref(self._config))
        self._running = True
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

    def __iter__(self) -> Iterator[np.ndarray]:
        """Until the limit, if the run has one; each buffer goes back when the loop goes on."""
        limit, taken = self._config.c2h_limit, 0
        while not limit or taken < limit:
            for buffer in self.take():
                yield buffer
                self._handle.call("c2h_release", 1)
                taken += 1


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
        rest = np.frombuffer(data, np.uint8) if isinstance(data, (bytes, bytearray)) \
            else np.ascontiguousarray(data).view(np.uint8).reshape(-1)  # fmt: skip
        sent = 0
        while rest.size:
            buffer = self.free()[0]
            part, rest = rest[: buffer.size], rest[buffer.size :]
            buffer[: part.size] = part
            buffer[part.size :] = 0
            self.submit(1)
            sent += 1
        return sent

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
