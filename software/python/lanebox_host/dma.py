# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Give access to the card's streams as NumPy arrays that lie in the rings of the DMA.

The data of these arrays is not copied. In a loop over a stream the card may write to a c2h array
again once the loop asks for the next array, so copy() data that is needed for longer. After the
stream's `with` block most uses of its arrays raise ValueError (array.py says which).
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
from collections.abc import Iterator
from typing import Any, NoReturn, Self, TypedDict, TypeVar, Unpack

import numpy as np
import numpy.typing as npt

from lanebox_host._headers import (
    C2H,
    H2C,
    RECORD_ERROR,
    RECORD_FLUSHED,
    RECORD_LAST,
    WHY_SIZE,
    BufferFields,
    StatsFields,
    StreamOptionsFields,
)
from lanebox_host._library import WAYS, Handle, Ring
from lanebox_host._seconds import TIMEOUT, milliseconds, whole
from lanebox_host._sized import field_names, unsigned
from lanebox_host.array import Lease, RingArray, lease
from lanebox_host.block import WithBlock
from lanebox_host.errors import BadPacket, WaitTimeout, fail

Array = npt.NDArray[Any]
Data = npt.NDArray[Any] | bytes | bytearray
Slot = TypeVar("Slot")  # type of the elements of a list with one element for each buffer of a ring


class Options(TypedDict, total=False):
    """The options of a run of the DMA in any direction, each with its default.

    pattern          False; True: the card's pattern generator and checker replace the user's logic
    interrupt_every  0: number of buffers from one interrupt to the next; 0: 32, or half the ring if
                     that is less
    batch            0: buffers that the library hands to the card together; 0: each by itself
    packets          False; True: each h2c buffer is a packet, and a packet's end ends a c2h buffer
    poll             0: seconds between two polls of the card, in place of interrupts; 0: interrupts
    adaptive         False; True, with `poll`: an interrupt begins polling, and a poll without news
                     ends it
    timeout          10: longest wait for a buffer in seconds (see the package's docstring)
    dtype            uint8: the type of the elements of the arrays, like "<i2"
    """

    pattern: bool
    interrupt_every: int
    batch: int
    packets: bool
    poll: float
    adaptive: bool
    timeout: float
    dtype: npt.DTypeLike


class ReceiveOptions(Options, total=False):
    """The further options of a run that receives, each with its default.

    limit  0: number of buffers after which c2h ends; 0: no limit
    flush  0: seconds without data after which a c2h buffer with some data ends; 0: never. It needs
           the option packets, too
    """

    limit: int
    flush: float


class Run(WithBlock):
    """A DMA run of one or both directions, from the beginning to the end of its `with` block.

    Card.receive(), Card.send() and Card.loopback() return an object of a subclass.
    """

    directions = 0

    def __init__(
        self,
        handle: Handle,
        *,
        pattern: bool = False,
        interrupt_every: int = 0,
        batch: int = 0,
        packets: bool = False,
        poll: float = 0,
        adaptive: bool = False,
        timeout: float = TIMEOUT,
        dtype: npt.DTypeLike = np.uint8,
    ) -> None:
        """Prepare a DMA run, without starting it. The keywords are those of Options."""
        self._handle = handle
        self._dtype: np.dtype[Any] = np.dtype(dtype)
        self._timeout = timeout
        # DMA direction (H2C or C2H) -> the options with which its stream is opened.
        self._options = {
            way: StreamOptionsFields(
                pattern=pattern,
                interrupt_every=interrupt_every,
                batch=batch,
                packets=packets,
                poll_us=whole("poll", poll, 10**6),
                adaptive=adaptive,
            )
            for way in self._ways
        }
        # DMA direction (H2C or C2H) -> the library's handle of the stream that this run has opened.
        self._streams: dict[int, ctypes.c_void_p] = {}
        self._running = False
        self._reset()

    def _check_dtype(self) -> None:
        """Raise ValueError if a DMA buffer cannot be an array of the run's NumPy dtype."""
        size = self._handle.shape[0]
        if self._dtype.hasobject:
            raise ValueError(f"dtype {self._dtype} has objects of Python: the card sends bytes")
        if not self._dtype.itemsize or size % self._dtype.itemsize:
            raise ValueError(
                f"dtype {self._dtype} has {self._dtype.itemsize} bytes, and a buffer of {size} "
                "bytes is no whole number of them: set card.ring, or choose another dtype"
            )

    def __enter__(self) -> Self:
        self._check_dtype()
        if self._streams:
            fail(errno.EBUSY, "this run has begun already: it can begin again after its end")
        self._reset()
        try:
            self._start()
        except BaseException:
            self._close()
            raise
        return self

    def _reset(self) -> None:
        # Copies of the data of a c2h packet whose last buffer has not come yet, one copy for each
        # buffer that has come.
        self._parts: list[bytes] = []
        # For each direction: how many buffers were acquired and how many were released since the
        # start.
        self._acquired, self._released = {H2C: 0, C2H: 0}, {H2C: 0, C2H: 0}
        self._leases: list[Lease] = []

    def _start(self) -> None:
        """Open and start the run's streams, and make NumPy arrays of each of their buffers.

        Behind the kernel driver a ring's address is known only after the start, so the arrays are
        made after it.
        """
        for way in self._ways:
            self._streams[way] = self._handle.open_stream(way, self._options[way])
        for stream in self._streams.values():
            self._handle.call("stream_start", of=stream)
        rings = {
            way: np.asarray(Ring(self._handle, stream, self._handle.places.get(way)))
            for way, stream in self._streams.items()
        }
        leases = {way: Lease(name) for name, way in WAYS.items() if way in self._ways}
        self._leases = list(leases.values())
        self._bytes: dict[int, list[Array]] = {way: list(ring) for way, ring in rings.items()}
        self._views: dict[int, list[RingArray]] = {
            way: [lease(buffer, leases[way]) for buffer in ring.view(self._dtype)]
            for way, ring in rings.items()
        }
        # For each buffer of a ring: the structure that litepcie_stream_acquire() fills in, and a
        # reference to it for that call. Both are made once for the run, to save time.
        self._fields = {way: [BufferFields() for _ in ring] for way, ring in rings.items()}
        self._places = {way: [ctypes.byref(f) for f in ring] for way, ring in self._fields.items()}
        self._running = True

    @property
    def _ways(self) -> list[int]:
        """The directions of the run, in the order in which they are started: c2h must run before
        h2c data comes back.
        """
        return [way for way in (C2H, H2C) if self.directions & way]

    def _close(self) -> None:
        self._running = False
        for term in self._leases:
            term.end()
        while self._streams:
            self._handle.close_stream(self._streams.popitem()[1])

    def _stop(self) -> None:
        for stream in self._streams.values():
            # A ValueError says that the card is closed. Its close has stopped the stream, too.
            with contextlib.suppress(ValueError):
                self._handle.call("stream_stop", of=stream)

    def _stream(self, way: int) -> ctypes.c_void_p:
        if not self._running:
            raise ValueError("the DMA does not run: use it inside its `with` block")
        return self._streams[way]

    def _held(self, way: int, timeout: float | None) -> range:
        """Return the numbers of those buffers of direction `way` that are acquired and not released
        yet.

        If there are none, first wait for at most `timeout` seconds (negative: for ever; None: the
        option `timeout`), and acquire all buffers that are ready. If no buffer is ready in time,
        the range is empty.
        """
        first, stream = self._released[way], self._stream(way)
        if first == self._acquired[way]:
            longest = milliseconds(self._timeout if timeout is None else timeout)
            ready = self._handle.call("stream_ready", longest, of=stream)
            wanted = self._slots(self._places[way], range(first, first + ready))
            self._acquired[way] += self._handle.acquire(stream, wanted)
        return range(first, self._acquired[way])

    @staticmethod
    def _slots(ring: list[Slot], numbers: range) -> list[Slot]:
        """Return the elements of the list `ring` for the buffers with the consecutive `numbers`.

        `ring` has one element for each buffer of the ring. The numbers of buffers count on past its
        end, so they are taken modulo its length.
        """
        first = numbers.start % len(ring)
        slots = ring[first : first + len(numbers)]
        return slots + ring[: len(numbers) - len(slots)]

    def _check_packets(self) -> None:
        """Raise ValueError if the run was made without the option packets=True."""
        if not all(options.packets for options in self._options.values()):
            raise ValueError("this run has no packets: begin it with the option packets=True")

    def _release(self, way: int, count: int) -> None:
        self._handle.call("stream_release", count, of=self._stream(way))
        self._released[way] += count

    def diagnose(self) -> str:
        """Return sentences of the library about what the run's directions wait for.

        The sentences say how many buffers wait and what the logic in the user slot does, as far as
        that can be known.
        """
        text = ctypes.create_string_buffer(WHY_SIZE)
        self._handle.plain("diagnose", self.directions, text, WHY_SIZE)
        return text.value.decode(errors="replace")

    def _late(self, what: str) -> NoReturn:
        raise WaitTimeout(errno.ETIMEDOUT, f"{what} in time. {self.diagnose()}")

    def export(self, way: str) -> int:
        """Return a file descriptor of the ring of `way`, "h2c" or "c2h", for mmap() by another
        process.

        The caller closes the descriptor, which outlives the run. With the kernel driver it is a
        dma-buf, so other devices can use the ring as well. Raises LaneboxError if the ring lies in
        the program's own memory.
        """
        descriptor = ctypes.c_int()
        if WAYS.get(way, 0) not in self._ways:
            raise ValueError(f"{way} does not run: choose one of this run's directions")
        self._handle.call("stream_export", ctypes.byref(descriptor), of=self._stream(WAYS[way]))
        return descriptor.value

    @property
    def stats(self) -> dict[str, int]:
        """The library's counts of the buffers and interrupts of this card, by name.

        The start of a direction sets the counts of its own buffers and errors to 0. If the other
        direction does not run then, the start also sets the counts of interrupts, waits and
        batches, and of the other direction's errors, to 0. The end of a run keeps the counts.
        """
        fields = StatsFields()
        self._handle.call("stats", ctypes.byref(fields))
        return {name: getattr(fields, name) for name in field_names(fields)}


class Receive(Run):
    """A stream from the card to the host. A loop over it, `for buffer in stream`, yields a NumPy
    array for each c2h buffer.
    """

    directions = C2H

    def __init__(
        self, handle: Handle, *, limit: int = 0, flush: float = 0, **options: Unpack[Options]
    ) -> None:
        """Prepare a DMA run, without starting it.

        The keywords are those of ReceiveOptions and Options.
        """
        super().__init__(handle, **options)
        self._options[C2H].limit = limit
        self._options[C2H].flush_us = whole("flush", flush, 10**6)
        self._limit = limit

    def take(self, timeout: float | None = None) -> list[RingArray]:
        """Wait for a filled c2h buffer, and return arrays of all filled buffers. release() gives
        the buffers back.

        If buffers of an earlier call are not released yet, the call returns only those buffers, and
        at once. Raises WaitTimeout if no buffer is filled within `timeout` seconds (None: the
        option `timeout`).
        """
        held = self._held(C2H, timeout)
        if not held:
            self._late("the card filled no buffer")
        return self._slots(self._views[C2H], held)

    def release(self, count: int) -> None:
        """Give the oldest `count` received c2h buffers back to the card."""
        self._release(C2H, unsigned("count", count, 32))

    def receive_packet(self, timeout: float | None = None) -> bytes:
        """Return a copy of the next packet, which one or more c2h buffers have.

        A buffer that has ended by the flush time also counts as the end of a packet. Raises
        BadPacket if the logic in the card has marked the packet as bad, ValueError if the run has
        no packets, and WaitTimeout if the packet's next buffer does not come within `timeout`
        seconds (None: the option `timeout`). After a WaitTimeout no data is lost: the next call
        continues with the same packet.
        """
        self._check_packets()
        flags = 0
        while not flags & (RECORD_LAST | RECORD_FLUSHED):
            held = self._held(C2H, timeout)
            if not held:
                self._late("no packet came to its end")
            flags = self._take_part(held[0])
        packet, self._parts = b"".join(self._parts), []
        if flags & RECORD_ERROR:
            raise BadPacket(packet)
        return packet

    def _take_part(self, number: int) -> int:
        """Append a copy of the data of c2h buffer `number` to the parts of the packet, release the
        buffer, and return its flags.
        """
        ring = self._bytes[C2H]
        buffer = self._fields[C2H][number % len(ring)]
        self._parts.append(ring[number % len(ring)][: buffer.bytes].tobytes())
        self.release(1)
        return int(buffer.flags)

    def __iter__(self) -> Iterator[RingArray]:
        """Yield an array for each c2h buffer, up to the run's limit if it has one.

        Each buffer is released when the loop goes on. So a further loop over the same run begins
        with the buffer at which a `break` has ended the loop before.
        """
        while not self._limit or self._released[C2H] < self._limit:
            for buffer in self.take():
                yield buffer
                self._release(C2H, 1)


def _bytes_of(data: Data) -> npt.NDArray[np.uint8]:
    if isinstance(data, (bytes, bytearray)):
        return np.frombuffer(data, np.uint8)
    return np.ascontiguousarray(data).view(np.uint8).reshape(-1)


class Send(Run):
    """A stream from the host to the card: `stream.send(data)`, or fill arrays of `stream.free()` in
    place and submit() them.
    """

    directions = H2C

    def free(self, timeout: float | None = None) -> list[RingArray]:
        """Wait for a free h2c buffer, and return arrays of all free buffers. submit() sends the
        buffers.

        If buffers of an earlier call are not sent yet, the call returns only those buffers, and at
        once. Raises WaitTimeout if no buffer is free within `timeout` seconds (None: the option
        `timeout`).
        """
        return self._slots(self._views[H2C], self._free(timeout))

    def _free(self, timeout: float | None = None) -> range:
        held = self._held(H2C, timeout)
        if not held:
            self._late("the card fetched no buffer")
        return held

    def _next(self) -> Array:
        """Wait for a free h2c buffer, and return an array of its bytes, to be filled.

        The buffer is the one that submit(1) sends.
        """
        ring = self._bytes[H2C]
        return ring[self._free()[0] % len(ring)]

    def submit(self, count: int) -> None:
        """Send the oldest `count` free h2c buffers, which the program has filled, to the card."""
        self._release(H2C, unsigned("count", count, 32))

    def send(self, data: Data) -> int:
        """Copy `data` into as many h2c buffers as it needs, and send them. The rest of the last
        buffer is filled with zeros.

        Returns the number of buffers that were sent.
        """
        rest, sent = _bytes_of(data), 0
        while rest.size:
            buffer = self._next()
            part, rest = rest[: buffer.size], rest[buffer.size :]
            buffer[: part.size] = part
            buffer[part.size :] = 0
            self.submit(1)
            sent += 1
        return sent

    def send_packet(self, data: Data) -> None:
        """Copy `data` into one h2c buffer and send it as one packet, of at least one byte.

        Raises ValueError if the data does not fit into one buffer, or if the run has no packets.
        """
        self._check_packets()
        part, buffer = _bytes_of(data), self._next()
        if part.size > buffer.size:
            raise ValueError(f"a packet of {part.size} bytes: a buffer has {buffer.size}")
        buffer[: part.size] = part
        self._handle.call("stream_send", part.size, of=self._stream(H2C))
        self._released[H2C] += 1

    def drain(self, timeout: float | None = None) -> None:
        """Wait until the card has received all h2c data that was submitted, and the logic in the
        user slot has taken the data.

        If the card's gateware has LitePCIe's PCIe endpoint and not Lanebox's own (Info.endpoint
        says which), the logic may not have taken the last data yet when the call returns. Raises
        WaitTimeout if the wait takes longer than `timeout` seconds (None: the option `timeout`).
        """
        longest = milliseconds(self._timeout if timeout is None else timeout)
        for way in self._ways:
            self._handle.call("stream_flush", of=self._stream(way))
        self._handle.call("stream_drain", longest, of=self._stream(H2C))


class Loopback(Receive, Send):
    """A stream from the host to the card and back.

    With the option `inside` the data goes through the DMA's own loopback, and otherwise through the
    logic in the user slot.
    """

    directions = H2C | C2H

    def __init__(
        self, handle: Handle, *, inside: bool = True, **options: Unpack[ReceiveOptions]
    ) -> None:
        super().__init__(handle, **options)
        for fields in self._options.values():
            fields.loopback = inside

    def ask(self, request: Data, timeout: float | None = None) -> bytes:
        """Send `request` to the card as a packet, and return the card's next c2h packet."""
        self.send_packet(request)
        return self.receive_packet(timeout)
