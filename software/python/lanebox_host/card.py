# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Describe and use a card: its properties, registers, BARs, counters, interrupts, streams and
captures.
"""

from __future__ import annotations

import ctypes
import errno
import os
from collections.abc import Iterator
from ctypes import byref
from dataclasses import dataclass
from typing import Any, NoReturn, Unpack

import numpy as np

from lanebox_host import _headers
from lanebox_host._headers import (
    CardFields,
    ConditionsFields,
    CountersFields,
    PatternFields,
    RegisterFields,
    SlotFields,
)
from lanebox_host._library import WAYS, Handle
from lanebox_host._seconds import TIMEOUT, milliseconds
from lanebox_host._sized import field_names, unsigned
from lanebox_host.block import WithBlock
from lanebox_host.capture import Capture, CaptureOptions
from lanebox_host.counters import Counters
from lanebox_host.dma import Loopback, Options, Receive, ReceiveOptions, Send
from lanebox_host.errors import NotOnCard, WaitTimeout

# name of each feature of a card -> its flag in the library's features
_FEATURES = {
    name.removeprefix("HAS_").lower(): flag
    for name, flag in vars(_headers).items()
    if name.startswith("HAS_")
}


@dataclass(frozen=True)
class Info:
    """The build of the card's gateware, as its capability table describes it.

    Widths are in bits. `tick_ps` is the length of a tick of device time in picoseconds.
    """

    target: str
    digest: str
    identifier: str
    endpoint: str
    channels: int
    data_width: int
    address_width: int
    table_depth: int
    read_tags: int
    clock_hz: int
    tick_ps: int


@dataclass(frozen=True)
class Conditions:
    """The state of the card's PCIe link and the settings that the host has made, as the card sees
    them.

    `mps` is the largest payload of a write TLP, and `mrrs` the largest size that a read request of
    the card may ask for, both in bytes. `msi` says whether the host has enabled MSI.
    """

    mps: int
    mrrs: int
    link_up: bool
    link_gen: int
    link_lanes: int
    msi: bool


@dataclass(frozen=True)
class Pattern:
    """The result of the card's pattern checker, counted in beats of 32 bytes.

    `beats` is the number of compared beats, `errors` the number of those with a wrong dword, and
    `first_error` the number of the first of them, counted from 0.
    """

    beats: int
    errors: int
    first_error: int


@dataclass(frozen=True)
class SlotSide:
    """The state and counts of one stream of the user slot, the place of the user's logic.

    The counts begin with the card's reset and wrap at 2^48. `valid` and `ready` are the stream's
    handshake signals: data moves in a clock cycle with both. `since` is the device time in seconds
    at which one of them last changed. A stall is a clock cycle with valid and without ready. In
    h2c the user's logic causes the stalls, and in c2h the DMA does.
    """

    valid: bool
    ready: bool
    since: float
    beats: int
    packets: int
    stalls: int


@dataclass(frozen=True)
class Slot:
    """The state and counts of the two streams of the user slot: the sink of its logic (h2c) and the
    source of its logic (c2h).

    `time` is the device time of the reading in seconds.
    """

    time: float
    h2c: SlotSide
    c2h: SlotSide


def _fields(structure: ctypes.Structure) -> dict[str, Any]:
    values = {name: getattr(structure, name) for name in field_names(structure)}
    return {n: v.decode() if isinstance(v, bytes) else v for n, v in values.items()}


class Registers:
    """The card's registers by name: `registers["ctrl_scratch"] = 1` writes, and
    `registers["ctrl_scratch"]` reads.

    A read of a register may change the card: a read of a FIFO takes a word out. So a program must
    not read all registers by accident. For this reason the class is no Mapping, and
    `dict(registers)` raises TypeError before it reads anything. A loop over this object yields the
    names of the registers that the library knows.
    """

    def __init__(self, handle: Handle) -> None:
        self._handle = handle

    def load(self, path: str | os.PathLike[str]) -> None:
        """Add the register names of the csr.json at `path`, which LiteX has written when it built
        the card's gateware.

        The file names all registers, also those of the user's own logic.
        """
        self._handle.call("csr_load", os.fsencode(path))

    def __getitem__(self, name: str) -> int:
        value = ctypes.c_uint64()
        self._handle.call("register_read", name.encode(), byref(value))
        return value.value

    def __setitem__(self, name: str, value: int) -> None:
        self._handle.call("register_write", name.encode(), unsigned(name, value, 64))

    def keys(self) -> NoReturn:
        """Raise TypeError: dict() calls keys(), and would read all registers, which may change the
        card.
        """
        raise TypeError(
            "not all registers of a card may be read: choose names, like "
            "{name: registers[name] for name in registers if name.startswith('ctrl_')}"
        )

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names of the registers that the library knows, in the order of their
        offsets in BAR0.
        """
        found, number = RegisterFields(), 0
        while True:
            try:
                self._handle.call("register", number, byref(found))
            except NotOnCard:
                return
            yield found.name.decode()
            number += 1

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __contains__(self, name: object) -> bool:
        try:
            self.offset(str(name))
        except NotOnCard:
            return False
        return True

    def offset(self, name: str) -> int:
        """Return the offset in BAR0 of the register `name`, in bytes.

        Raises NotOnCard if the library knows no register of this name.
        """
        found = RegisterFields()
        self._handle.call("register_find", name.encode(), byref(found))
        return int(found.offset)


class Card(WithBlock):
    """An open card, for use as `with Card("/dev/litepcie0") as card`.

    The name is that of the kernel driver's device file, or "vfio:ADDRESS" with the PCIe address of
    the card, or "sim:SOCKET" with the path of a simulation's socket. litepcie_open() of
    liblitepcie.h has the options that may follow.
    """

    def __init__(self, name: str = "/dev/litepcie0") -> None:
        self.name = name
        self._handle = Handle(name)
        self.registers = Registers(self._handle)

    def __enter__(self) -> Card:
        return self

    def _close(self) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Card({self.name!r})"

    def close(self) -> None:
        """Stop the DMA and the captures, and close the card.

        The arrays of a stream can still be used until the stream's own `with` block ends.
        """
        self._handle.close()

    def reset(self) -> None:
        """Reset the card to its state after power-on.

        Raises WayBusy if a stream of this Card runs, or if one of its captures is open.
        """
        self._handle.call("reset")

    # Description --------------------------------------------------------------------------------

    @property
    def backend(self) -> str:
        """The name of the library's back end that reaches the card: "kernel", "vfio" or "sim"."""
        return str(self._handle.plain("backend").decode())

    @property
    def info(self) -> Info:
        """The card's properties, such as its number of DMA channels, as its capability table has
        them.
        """
        fields = CardFields()
        self._handle.call("card", byref(fields))
        values = _fields(fields)
        return Info(**{name: values[name] for name in Info.__dataclass_fields__})

    @property
    def features(self) -> frozenset[str]:
        """The names of the features that the card has and that its back end can use.

        The possible names are "streams", "packets", "user_interrupt", "slot_monitor" and "bar_map".
        """
        flags = self._handle.plain("features")
        return frozenset(name for name, flag in _FEATURES.items() if flags & flag)

    @property
    def conditions(self) -> Conditions:
        """The state and settings of the card's PCIe link, such as MPS, MRRS and lanes."""
        fields = ConditionsFields()
        self._handle.call("conditions", byref(fields))
        return Conditions(**_fields(fields))

    @property
    def time(self) -> float:
        """The card's device time at this moment, in seconds."""
        ticks = ctypes.c_uint64()
        self._handle.call("time", byref(ticks))
        return ticks.value * self.info.tick_ps * 1e-12

    @property
    def counters(self) -> Counters:
        """A reading of the counters of the card's four TLP streams, all taken at one moment."""
        fields = CountersFields()
        self._handle.call("counters", byref(fields))
        return Counters.of(fields, self.info.tick_ps)

    def clear_counters(self) -> None:
        """Set the card's counters of its four TLP streams to 0. No DMA may run at that time: the
        wait for the end of h2c data may rely on the counters.
        """
        self._handle.call("counters_clear")

    @property
    def slot(self) -> Slot:
        """A reading of the state and counts of the two streams of the logic in the user slot.

        Raises NotOnCard if the card has no slot monitor.
        """
        fields, tick = SlotFields(), self.info.tick_ps * 1e-12
        self._handle.call("slot", byref(fields))
        sides = {}
        for name in WAYS:
            values = _fields(getattr(fields, name))
            lasts = (fields.time - values["since"]) % (1 << 64)
            sides[name] = SlotSide(**{**values, "since": (fields.time - lasts) * tick})
        return Slot(fields.time * tick, **sides)

    @property
    def pattern(self) -> Pattern:
        """The result of the card's pattern checker for the last h2c run with the option `pattern`,
        which may still be running.
        """
        fields = PatternFields()
        self._handle.call("pattern", byref(fields))
        return Pattern(**_fields(fields))

    # Interrupts -----------------------------------------------------------------------------------

    def enable_user(self, on: bool = True) -> None:
        """Switch the interrupts of the logic in the user slot on, or off if `on` is False.

        An interrupt that was raised before this call is forgotten.
        """
        self._handle.call("user_enable", on)

    def wait_user(self, timeout: float | None = None) -> bool:
        """Wait for an interrupt of the logic in the user slot, for at most `timeout` seconds (None:
        10).

        An interrupt that has come since enable_user(), or since this call last returned True,
        counts, too. Several interrupts count as one. Returns True. Raises WaitTimeout if no
        interrupt came in time.
        """
        longest = TIMEOUT if timeout is None else timeout
        if not self._handle.call("user_wait", milliseconds(longest)):
            raise WaitTimeout(errno.ETIMEDOUT, f"no interrupt within {longest} s")
        return True

    # Memory ---------------------------------------------------------------------------------------

    def bar_size(self, bar: int) -> int:
        """Return the size of a BAR in bytes.

        Raises LaneboxError if the card does not have this BAR, or if the library cannot reach it.
        """
        size = ctypes.c_uint64()
        self._handle.call("bar_size", unsigned("bar", bar, 32), byref(size))
        return int(size.value)

    def read(self, offset: int, size: int = 4, bar: int = 0) -> bytes:
        """Read `size` bytes (1, 2, 4, 8, 16, 32 or 64) at `offset` in a BAR with one access.

        Raises LaneboxError if the library or its back end cannot make such an access.
        """
        place = unsigned("bar", bar, 32), unsigned("offset", offset, 64)
        data = (ctypes.c_uint8 * unsigned("size", size, 32))()
        self._handle.call("bar_read", *place, data, size)
        return bytes(data)

    def write(self, offset: int, data: bytes, bar: int = 0) -> None:
        """Write `data` at `offset` in a BAR with one access, which is as wide as the data.

        The data has 1, 2, 4, 8, 16, 32 or 64 bytes. Raises LaneboxError if the library or its back
        end cannot make such an access.
        """
        place = unsigned("bar", bar, 32), unsigned("offset", offset, 64)
        memory = (ctypes.c_uint8 * len(data)).from_buffer_copy(data)
        self._handle.call("bar_write", *place, memory, len(data))

    # Streams --------------------------------------------------------------------------------------

    @property
    def ring(self) -> tuple[int, int]:
        """The size of a DMA buffer in bytes, and the number of buffers of a DMA ring.

        A new value is for streams that are opened later. An assignment raises LaneboxError if the
        library refuses the value, or if a stream of this card is open.
        """
        self._handle.plain("features")  # this call raises ValueError if the card is closed
        return self._handle.shape

    @ring.setter
    def ring(self, shape: tuple[int, int]) -> None:
        before, self._handle.shape = self._handle.shape, shape
        try:
            for way in WAYS.values():
                self._handle.try_stream(way)
        except BaseException:
            self._handle.shape = before
            raise

    def place(self, way: str, memory: Any) -> None:
        """Put the ring of `way`, "h2c" or "c2h", into your own memory, from the next run on.

        The memory is any writable buffer that begins at a page boundary and is at least as large as
        the ring, like mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE). With `memory` None the ring does
        not lie in your memory any more, from the next run on. With the kernel driver each DMA
        buffer must lie in one page: use huge pages, or DMA buffers of 4 KiB. Raises LaneboxError if
        the library refuses the memory, or if the stream of this direction is open.
        """
        if way not in WAYS:
            raise ValueError(f"{way}: choose h2c or c2h")
        places = self._handle.places
        if memory is None:
            places.pop(WAYS[way], None)
            return
        place = np.frombuffer(memory, np.uint8)
        if not place.flags.writeable:
            raise ValueError("a ring's place must be memory that can be written to")
        before = places.get(WAYS[way])
        places[WAYS[way]] = place
        try:
            self._handle.try_stream(WAYS[way])
        except BaseException:
            places[WAYS[way]] = before
            raise

    def receive(self, **options: Unpack[ReceiveOptions]) -> Receive:
        """Return a stream from the card to the host, for use in a `with` block.

        The options are those of dma.Options and dma.ReceiveOptions.
        """
        return Receive(self._handle, **options)

    def send(self, **options: Unpack[Options]) -> Send:
        """Return a stream from the host to the card, for use in a `with` block.

        The options are those of dma.Options.
        """
        return Send(self._handle, **options)

    def loopback(self, *, inside: bool = True, **options: Unpack[ReceiveOptions]) -> Loopback:
        """Return a stream from the host to the card and back, for use in a `with` block.

        The data goes through the DMA's own loopback, or with `inside=False` through the logic in
        the user slot. The options are those of dma.Options and dma.ReceiveOptions.
        """
        return Loopback(self._handle, inside=inside, **options)

    def capture(self, **options: Unpack[CaptureOptions]) -> Capture:
        """Return a capture of frames. A loop over it yields blocks, parts of its ring with frames.

        The options are those of capture.CaptureOptions. The card needs the capture block.
        """
        return Capture(self._handle, **options)
