# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Give access to the frames that the card captures, as NumPy arrays that lie in the capture's ring.

for block in card.capture():
    print(len(block), block.times[0], block.lengths.sum(), bytes(block[0]))

A block is a part of the ring with whole frames, or now and then with none. Its tables (times,
ports, lengths, offsets) are copies. Its frames and its bytes are NumPy arrays in the ring, so they
are not copied. A block stays valid while the loop handles it and the next block with frames. If an
array of the block still exists after that, the loop raises BufferError: copy() frames that are
needed for longer.
"""

from __future__ import annotations

import ctypes
import errno
import math
import time
import weakref
from collections import deque
from collections.abc import Iterator, Sequence
from ctypes import byref
from dataclasses import dataclass
from typing import Any, TypeAlias, TypedDict

import numpy as np
import numpy.typing as npt

from lanebox_host._headers import (
    CAPTURE_AT_ONCE,
    CAPTURE_HEADER_BYTES,
    CAPTURE_QUEUES,
    CAPTURE_RULES,
    CAPTURE_SPREAD,
    CLOCK_AUTO,
    CLOCK_CARD,
    CLOCK_HOST,
    PCAPNG_RECORD_LEAST,
    CaptureConfigFields,
    CaptureStatsFields,
    DiscardsFields,
    GeneratorFields,
    PacketFields,
    PortAccountsFields,
    SortingFields,
    SpanFields,
)
from lanebox_host._library import HANDLE, Handle
from lanebox_host._seconds import FOR_EVER, milliseconds, whole
from lanebox_host._sized import field_names
from lanebox_host.block import WithBlock
from lanebox_host.errors import LaneboxError, WaitTimeout, fail

# Longest wait of Capture.take() inside one call of the library, in seconds. Between two calls
# take() notices that another thread has stopped the capture or closed the card.
SLICE = 0.2

# The values of the option `clock` of a capture, as the library has them.
CLOCKS = {"auto": CLOCK_AUTO, "card": CLOCK_CARD, "host": CLOCK_HOST}

Memory: TypeAlias = ctypes.Array[ctypes.c_uint8]
PACKET: np.dtype[Any] = np.dtype(PacketFields)


class CaptureOptions(TypedDict, total=False):
    """The options of a capture, each with its default.

    ring      64 MiB: bytes of the ring in host memory, a power of two
    mbuf      1 MiB, or a quarter of the ring if that is less: bytes of an MBUF, a part of the ring
              whose ends no record crosses, a power of two
    snap      0: most bytes to keep of each frame; 0: as many as fit into an MBUF
    wait      1e-6: most seconds for which the card collects records before it writes them; 0: it
              writes records at once
    keep_bad  False; True: frames that their source has marked as bad are captured, too
    lossless  False; True: a frame for which there is no room waits for room, or until the capture
              of queue 0 is stopped. It holds up its source and the frames of all queues
    newest    False; True: in a full ring the card writes over the oldest frames. If it has done so
              to a block that the program still had, the loop raises Overwritten when it gives that
              block back. A further loop in the same `with` block goes on with newer blocks
    net       False; True: what the card's net device receives and sends is captured, too. Behind
              the driver that needs CAP_NET_RAW
    clock     "auto"; "host": the start of queue 0 sets the card's clock, by which frames have their
              times, to the host's time in UTC; "card": the clock goes on as it is, from the card's
              reset on or from what it was set to; "auto": "host", or "card" on a simulated card and
              with gateware or a driver that is too old to set the clock
    staging   0: most bytes of the card's staging memory that the queue uses at once, a multiple of
              4096 from 32768 to 1048576; 0: an equal part for each queue of the card
    link      1: link type of the frames in a file; 1: Ethernet, 147 to 162: for private use
    queue     0: number of the card's queue. Start all other queues before queue 0
    rules     (): texts of up to 16 rules, as litepcie_capture_rule(3) has them; of queue 0 only
    spread    (): up to 128 queue numbers, from which the card takes the queue of a frame that no
              rule sends to a queue or discards; of queue 0 only. Without rules and spread all
              frames go to queue 0
    by_port   False; True: a frame's port selects its entry of `spread`; False: a hash of its
              addresses and ports does
    timeout   -1: longest wait for a frame in seconds (see the package's docstring)
    rest      0: longest time in seconds of each wait until the card has come to rest, has copied
              its counts, or has sent the last frame of its generator; 0: LITEPCIE_CAPTURE_REST_MS
              of litepcie_capture.h, negative: for ever. Behind the kernel driver only the wait for
              the generator has this limit; for the others the driver has limits of its own
    """

    ring: int
    mbuf: int
    snap: int
    wait: float
    keep_bad: bool
    lossless: bool
    newest: bool
    net: bool
    clock: str
    staging: int
    link: int
    queue: int
    rules: Sequence[str]
    spread: Sequence[int]
    by_port: bool
    timeout: float
    rest: float


@dataclass(frozen=True)
class Account:
    """A number of frames, and the number of bytes that these frames had at their source."""

    frames: int
    bytes: int


@dataclass(frozen=True)
class PortAccounts:
    """The frames of one port that no rule has discarded, each counted in one account.

    A frame was delivered to the ring, was dropped since its source marked it as bad, was lost since
    the ring was full, or was lost since the card's own memory was full (`lost_staging`).
    """

    delivered: Account
    bad: Account
    lost_ring: Account
    lost_staging: Account


@dataclass(frozen=True)
class CaptureStats:
    """The accounts of all ports at one moment, and a queue's counts since the capture's start.

    Four values are from the status line that the card has last written into host memory: `position`
    (bytes that the card has written to the ring), `records` (frames written), `lost` (frames lost)
    and `time_ns` (time of the card's clock in ns at which it wrote the line). `released` counts the
    bytes that the program has given back. With the option `newest`, `released` also counts
    skipped bytes, and `overwritten` counts the bytes that were skipped and that the program never
    got, since the card has overwritten them or may soon do so. `limits` counts how often the card
    was told how far it may write. `net_lost` counts the frames of the net device that were not
    copied to the capture, and that are in no account.
    """

    position: int
    records: int
    lost: int
    time_ns: int
    released: int
    overwritten: int
    limits: int
    ports: tuple[PortAccounts, ...]
    net_lost: int


class Block:
    """Whole frames in a part of the ring: `block[i]` is frame i, and a loop gives all of them.

    `position` is the number of bytes in front of the block since the capture's start. `mbuf` is the
    number of the MBUF (a part of the ring) in which the block lies, and `sealed` says that the MBUF
    ends with this block. `lost` is the number of frames that the queue had lost when the card wrote
    its last status line, which may be newer than this block.
    """

    def __init__(self, span: SpanFields) -> None:
        self._memory: Memory | None = (ctypes.c_uint8 * span.bytes).from_address(span.data)
        self._table: npt.NDArray[Any] | None = None
        self._address = span.data
        self.size: int = span.bytes
        self.position: int = span.position
        self.mbuf: int = span.mbuf
        self.sealed: bool = span.sealed
        self.lost: int = span.lost

    @property
    def data(self) -> npt.NDArray[np.uint8]:
        """The block's bytes in the ring as a read-only array: pcapng blocks, as they are in a file.

        Raises ValueError if the block was given back to the card.
        """
        if self._memory is None:
            raise ValueError(
                f"the block at position {self.position} was given back to the card: use a block "
                "before the loop asks for the next but one, or copy() its frames"
            )
        array: npt.NDArray[np.uint8] = np.frombuffer(memoryview(self._memory), np.uint8)
        array.flags.writeable = False
        return array

    @property
    def packets(self) -> npt.NDArray[Any]:
        """A table of the frames of the block, with the fields of the library's struct
        litepcie_packet.
        """
        if self._table is None:
            room = self.data.size // PCAPNG_RECORD_LEAST
            table, at = np.empty(room, PACKET), ctypes.c_size_t()
            span = SpanFields(data=self._address, bytes=self.size)
            packets = table.ctypes.data_as(ctypes.POINTER(PacketFields))
            found = Handle.free("records", byref(span), byref(at), packets, room, PACKET.itemsize)
            self._table = table[:found]
        return self._table

    @property
    def times(self) -> npt.NDArray[np.uint64]:
        """The time of each frame of the block in ns.

        It is that of the card's clock (the option `clock`), unless the card's player has given the
        frame its time in a played file.
        """
        return self.packets["time_ns"]

    @property
    def ports(self) -> npt.NDArray[np.uint32]:
        """The number of the card's port that each frame of the block came from."""
        return self.packets["port"]

    @property
    def lengths(self) -> npt.NDArray[np.uint32]:
        """The number of bytes that each frame of the block had at its source."""
        return self.packets["length"]

    @property
    def kept(self) -> npt.NDArray[np.uint32]:
        """For each frame of the block: the number of its bytes that are in the ring."""
        return self.packets["kept"]

    @property
    def offsets(self) -> npt.NDArray[np.uint64]:
        """The offset of the first byte of each frame of the block in `data`, in bytes."""
        return self.packets["data"] - np.uint64(self._address)

    @property
    def dropped(self) -> npt.NDArray[np.uint64]:
        """For each frame of the block: the number of frames of its port lost right before it."""
        return self.packets["dropped"]

    def __len__(self) -> int:
        return len(self.packets)

    def __getitem__(self, number: int) -> npt.NDArray[np.uint8]:
        packet = self.packets[number]
        begin = int(packet["data"]) - self._address
        return self.data[begin : begin + int(packet["kept"])]

    def __iter__(self) -> Iterator[npt.NDArray[np.uint8]]:
        """Yield each frame of the block, as an array in the ring that is not copied."""
        data, begins = self.data, self.offsets.astype(np.int64)
        for begin, end in zip(begins.tolist(), (begins + self.kept).tolist(), strict=True):
            yield data[begin:end]

    def _end(self) -> Memory | None:
        """Make the block invalid and return None, unless a NumPy array in the block still exists.

        If one exists, return the block's memory. All arrays in the block refer to that object, so
        it is freed with the last of them. Returns None if the block is invalid already.
        """
        if self._memory is not None:
            watch, self._memory = weakref.ref(self._memory), None
            self._memory = watch()
        return self._memory


class Capture(WithBlock):
    """A capture of frames: `for block in capture` yields blocks.

    The capture begins and ends with its `with` block. Without a `with` block it begins and ends
    with the loop. Frames that come before the beginning are not captured. A queue other than 0 gets
    frames only while the capture of queue 0 runs, which must begin after it.
    """

    def __init__(
        self,
        handle: Handle,
        *,
        ring: int = 0,
        mbuf: int = 0,
        snap: int = 0,
        wait: float = 1e-6,
        keep_bad: bool = False,
        lossless: bool = False,
        newest: bool = False,
        net: bool = False,
        clock: str = "auto",
        staging: int = 0,
        link: int = 1,
        queue: int = 0,
        rules: Sequence[str] = (),
        spread: Sequence[int] = (),
        by_port: bool = False,
        timeout: float = FOR_EVER,
        rest: float = 0,
    ) -> None:
        """Prepare a capture, without starting it. The keywords are those of CaptureOptions."""
        self._handle = handle
        self._timeout = timeout
        self._config = CaptureConfigFields(
            ring_bytes=ring,
            mbuf_bytes=mbuf,
            snap=snap,
            wait_ns=_wait_ns(wait),
            keep_bad=keep_bad,
            lossless=lossless,
            newest=newest,
            net=net,
            clock=_clock(clock),
            staging_bytes=staging,
            link_type=link,
            queue=queue,
            rest_ms=milliseconds(rest),
        )
        self._sorting = (tuple(rules), tuple(spread), by_port)
        self._capture = HANDLE()
        self._runs = False
        self._generates = False  # The card's generator was started by this capture.
        self._blocks: deque[Block] = deque()

    # Begin and end --------------------------------------------------------------------------------

    def __enter__(self) -> Capture:
        for part in list(self._handle.parts):
            if isinstance(part, Capture) and part.queue == self.queue:
                part._make_way()
        self._handle.call("capture_open", byref(self._config), byref(self._capture))
        self._handle.parts.append(self)
        try:
            self._sort(*self._sorting)
            self._call("start")
        except BaseException:
            self.close()
            raise
        self._runs = True
        return self

    def _make_way(self) -> None:
        """Close this capture, so that another one can have its queue.

        Raises WayBusy if this capture has not stopped.
        """
        if self._runs:
            fail(
                errno.EBUSY,
                f"queue {self.queue} is captured already: stop() that capture, or leave its `with` "
                "block or loop, before another one begins",
            )
        self.close()

    @property
    def queue(self) -> int:
        """The number of the card's queue that is captured."""
        return int(self._config.queue)

    def _sort(self, rules: tuple[str, ...], spread: tuple[int, ...], by_port: bool) -> None:
        """Give the card the rules and the table by which it chooses the queue of each frame.

        Without rules and spread the library is not called, and all frames go to queue 0. Raises
        ValueError if there are too many rules, or if the spread has too many entries or a queue
        number that no card has. Raises LaneboxError if the library refuses the rules or the spread,
        as when the card does not have one of the queues.
        """
        if not rules and not spread:
            return
        if len(rules) > CAPTURE_RULES or len(spread) > CAPTURE_SPREAD:
            raise ValueError(
                f"{len(rules)} rules and a spread of {len(spread)} entries: it must be at most "
                f"{CAPTURE_RULES} and {CAPTURE_SPREAD}"
            )
        for queue in spread:
            if not 0 <= queue < CAPTURE_QUEUES:
                raise ValueError(
                    f"a spread names queue {queue}: it must be from 0 to {CAPTURE_QUEUES - 1}, and "
                    "one of the card's queues"
                )
        fields = SortingFields(rules=len(rules), by_port=by_port)
        for number, text in enumerate(rules):
            self._handle.call("capture_rule", text.encode(), fields.rule[number])
        for entry in range(CAPTURE_SPREAD if spread else 0):
            fields.spread[entry] = spread[entry % len(spread)]
        self._call("sort", byref(fields))

    def _stop(self) -> None:
        self.stop()

    def _close(self) -> None:
        self.close()

    def stop(self) -> None:
        """Stop the capture of further frames. A loop over the capture yields the remaining blocks,
        then ends.
        """
        if self._runs:
            self._runs = False
            self._call("stop")

    def close(self) -> None:
        """Stop the capture and its generator, and free the ring.

        If a NumPy array in the ring still exists, the ring is not freed yet. The next close() or
        the next capture of the same queue frees it when no such array exists any more. After
        Card.close() the ring is freed with the last array. If the ring is freed already, close()
        does nothing.
        """
        if not self._capture or self._handle.closed:
            return
        self.stop()
        if self._generates:
            self._generates = False
            self._handle.plain("capture_generate_stop", of=self._capture)
        if not self._used():
            self._handle.plain("capture_close", of=self._capture)
            self._handle.parts.remove(self)
            self._capture = HANDLE()

    def leave(self) -> list[object]:
        """Give up the capture, since Card.close() has been called.

        Returns the memory of the blocks in which NumPy arrays still lie. The library's handle of
        the card must stay open as long as these arrays exist.
        """
        self._capture, self._runs = HANDLE(), False
        used: list[object] = list(self._used())
        for block in self._blocks:  # From now on only NumPy arrays keep the blocks' memory alive.
            block._memory = None
        self._blocks.clear()
        return used

    def _used(self) -> list[Memory]:
        """Make those blocks invalid in which no NumPy array lies, and return the memory of all
        others.
        """
        ended = [(block, block._end()) for block in self._blocks]
        self._blocks = deque(block for block, memory in ended if memory is not None)
        return [memory for _, memory in ended if memory is not None]

    def _call(self, name: str, *arguments: object) -> int:
        if not self._capture:
            raise ValueError("the capture does not run: use it inside its `with` block")
        return self._handle.call(f"capture_{name}", *arguments, of=self._capture)

    # Blocks ---------------------------------------------------------------------------------------

    def take(self, timeout: float | None = None) -> Block | None:
        """Wait for the next block and return it. Return None if the capture was stopped and all of
        its blocks were returned.

        The stop of queue 0 stops the captures of all queues. Before the wait, the blocks in front
        of the last returned block with frames are given back to the card. Raises WaitTimeout if no
        block comes within `timeout` seconds (None: the option `timeout`), BufferError if a NumPy
        array in a block to give back still exists, and Overwritten if the card has written over a
        block to give back, with the option `newest`.
        """
        self._give_back()
        longest = self._timeout if timeout is None else timeout
        deadline = math.inf if longest < 0 else time.monotonic() + longest
        span = SpanFields()
        while True:
            rest = max(0.0, deadline - time.monotonic())
            try:
                found = self._call("next", byref(span), milliseconds(min(rest, SLICE)))
            except LaneboxError as error:
                if error.errno != errno.EPIPE:
                    raise
                self._runs, found = False, 0  # The stop of queue 0 has ended this queue's run.
            if found:
                self._blocks.append(Block(span))
                return self._blocks[-1]
            if not self._runs:
                return None
            if rest <= 0:
                raise WaitTimeout(errno.ETIMEDOUT, f"no frame came within {longest} s")

    def _give_back(self) -> None:
        """Give the blocks in front of the last returned block with frames back to the card.

        A block may hold only fillers and the seal that ends an MBUF. Such a block has no frame, so
        the variable of a loop over frames still refers to a frame of the block before. That earlier
        block must not be given back yet.
        """
        while any(len(block) for block in list(self._blocks)[1:]):
            if self._blocks[0]._end() is not None:
                raise BufferError(
                    f"an array of the block at position {self._blocks[0].position} outlives the "
                    "block, whose memory the card is about to use again: copy() what you keep, or "
                    "del it"
                )
            self._call("release", self._blocks.popleft().size)

    def __iter__(self) -> Iterator[Block]:
        """Yield the capture's blocks until it is stopped.

        Without a `with` block the loop starts the capture, and the end of the loop ends it.
        """
        if not self._capture:
            with self:
                yield from self._loop()
        else:
            yield from self._loop()

    def _loop(self) -> Iterator[Block]:
        while (block := self.take()) is not None:
            yield block

    # Beside the frames ----------------------------------------------------------------------------

    @property
    def header(self) -> bytes:
        """The header of a pcapng file: this header and then the bytes of all blocks make a file."""
        text = (ctypes.c_uint8 * CAPTURE_HEADER_BYTES)()
        self._call("header", text, CAPTURE_HEADER_BYTES)
        return bytes(text)

    def generate(
        self, size: int, *, period: int = 0, count: int = 0, seed: int = 0, port_mask: int = 0
    ) -> None:
        """Let the card's own generator make frames of `size` bytes, from frame 0 on.

        Only the capture of queue 0 may call this. `seed` is the seed of the frames' data. `period`
        is the time from frame to frame in 1/256 of a clock cycle. `count` is the number of frames,
        and 0 means without end. Frame n comes from port `n & port_mask`.
        """
        fields = GeneratorFields(
            size=size, period=period, count=count, seed=seed, port_mask=port_mask
        )
        self._call("generate", byref(fields))
        self._generates = True

    @property
    def discarded(self) -> tuple[Account, ...]:
        """For each of the ports that a card can have: the frames that the card's rules have
        discarded.
        """
        fields = DiscardsFields()
        self._call("discards", byref(fields))
        return tuple(Account(each.frames, each.bytes) for each in fields.port)

    @property
    def stats(self) -> CaptureStats:
        """The queue's counts of captured and lost frames, as CaptureStats describes them."""
        fields = CaptureStatsFields()
        self._call("stats", byref(fields))
        values = {name: getattr(fields, name) for name in field_names(fields) if name != "port"}
        return CaptureStats(**values, ports=tuple(_port(each) for each in fields.port))


def _wait_ns(wait: float) -> int:
    """Convert the option `wait` of a capture from seconds to nanoseconds, rounded up.

    0 becomes CAPTURE_AT_ONCE, with which the library lets the card write records at once.
    Raises ValueError if the time is negative, too long or not finite.
    """
    if wait * 1e9 > CAPTURE_AT_ONCE - 1:
        raise ValueError(f"wait: {wait} s is too long: it must be below {CAPTURE_AT_ONCE / 1e9} s")
    return whole("wait", wait, 10**9) or CAPTURE_AT_ONCE


def _clock(clock: str) -> int:
    """Convert the option `clock` of a capture. Raises ValueError if it is none of CLOCKS."""
    if clock not in CLOCKS:
        raise ValueError(f"clock: {clock!r}: it must be one of {', '.join(CLOCKS)}")
    return CLOCKS[clock]


def _port(fields: PortAccountsFields) -> PortAccounts:
    accounts = {name: getattr(fields, name) for name in field_names(fields)}
    return PortAccounts(**{n: Account(each.frames, each.bytes) for n, each in accounts.items()})
