# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""A card: what it is, its registers and memories, its counters, and its streams."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator, Mapping
from ctypes import byref
from dataclasses import dataclass
from types import TracebackType

import numpy as np

from lanebox_host._library import (
    WAYS,
    CardFields,
    ConditionsFields,
    CountersFields,
    Handle,
    PatternFields,
    RegisterFields,
    SlotFields,
    milliseconds,
)
from lanebox_host.counters import Counters
from lanebox_host.dma import Loopback, Receive, Send
from lanebox_host.errors import NotOnCard


@dataclass(frozen=True)
class Info:
    """The card's properties from its capability table: widths in bits, `tick_ps` in picoseconds."""

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
    """The link as negotiated: `mps` and `mrrs` in bytes, and whether the host has enabled MSI."""

    mps: int
    mrrs: int
    link_up: bool
    link_gen: int
    link_lanes: int
    msi: bool


@dataclass(frozen=True)
class Pattern:
    """Result of the card's pattern check in beats of 32 bytes; `first_error` is a beat's number."""

    beats: int
    errors: int
    first_error: int


@dataclass(frozen=True)
class SlotSide:
    """One stream of the user slot; counts since the card's reset, modulo 2^48.

    `since` is the device time in seconds at which valid and ready last changed. A stall is a cycle
    with valid and without ready: in h2c the logic holds the data up, in c2h the DMA does.
    """

    valid: bool
    ready: bool
    since: float
    beats: int
    packets: int
    stalls: int


@dataclass(frozen=True)
class Slot:
    """The user slot at device time `time`, in seconds: its sink (h2c) and its source (c2h)."""

    time: float
    h2c: SlotSide
    c2h: SlotSide


def _fields(structure: ctypes.Structure) -> dict:
    values = {name: getattr(structure, name) for name, _ in structure._fields_}
    return {n: v.decode() if isinstance(v, bytes) else v for n, v in values.items()}


class Registers(Mapping):
    """The card's registers by name, as a mapping that can be written to."""

    def __init__(self, handle: Handle) -> None:
        self._handle = handle

    def load(self, path: str | os.PathLike) -> None:
        """Take the register names from the csr.json of the card's build, which include your own."""
        self._handle.call("csr_load", os.fsencode(path))

    def __getitem__(self, name: str) -> int:
        value = ctypes.c_uint64()
        self._handle.call("register_read", name.encode(), byref(value))
        return value.value

    def __setitem__(self, name: str, value: int) -> None:
        if not 0 <= value < 1 << 64:
            raise ValueError(f"{name}: {value} does not fit into 64 bits without a sign")
        self._handle.call("register_write", name.encode(), value)

    def __iter__(self) -> Iterator[str]:
        """The registers' names, in the order of their offsets."""
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
        """Offset of a register in BAR0, in bytes. Raises NotOnCard."""
        found = RegisterFields()
        self._handle.call("register_find", name.encode(), byref(found))
        return found.offset


class Card:
    """An open card: `with Card("/dev/litepcie0") as card`. Also "vfio:ADDRESS" and "sim:SOCKET"."""

    def __init__(self, name: str = "/dev/litepcie0") -> None:
        self.name = name
        self._handle = Handle(name)
        self.registers = Registers(self._handle)

    def __enter__(self) -> Card:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:  # fmt: skip
        self.close()

    def __repr__(self) -> str:
        return f"Card({self.name!r})"

    def close(self) -> None:
        """Stop the DMA and close the card.

        Arrays of its rings stay valid memory with undefined contents.
        """
        self._handle.close()

    def reset(self) -> None:
        """Reset the card to its state after power-on. No DMA may run."""
        self._handle.call("reset")

    # What it is -----------------------------------------------------------------------------------

    @property
    def backend(self) -> str:
        """How the card is reached: "kernel", "vfio" or "sim"."""
        return self._handle.plain("backend").decode()

    @property
    def info(self) -> Info:
        """The card's properties, from its capability table."""
        fields = CardFields()
        self._handle.plain("card", byref(fields))
        values = _fields(fields)
        return Info(**{name: values[name] for name in Info.__dataclass_fields__})

    @property
    def conditions(self) -> Conditions:
        """The link as it was negotiated."""
        fields = ConditionsFields()
        self._handle.call("conditions", byref(fields))
        return Conditions(**_fields(fields))

    @property
    def time(self) -> float:
        """Device time in seconds."""
        ticks = ctypes.c_uint64()
        self._handle.call("time", byref(ticks))
        return ticks.value * self.info.tick_ps * 1e-12

    @property
    def counters(self) -> Counters:
        """The counters of the card's four TLP streams, at one moment."""
        fields = CountersFields()
        self._handle.call("counters", byref(fields))
        return Counters.of(fields, self.info.tick_ps)

    def clear_counters(self) -> None:
        """Set the counters to 0. No DMA may run."""
        self._handle.call("counters_clear")

    @property
    def slot(self) -> Slot:
        """State and counts of the user slot. Raises NotOnCard if the card has no slot monitor."""
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
        """Result of the card's pattern checker for the last stream sent with `pattern=True`."""
        fields = PatternFields()
        self._handle.call("pattern", byref(fields))
        return Pattern(**_fields(fields))

    # Interrupts -----------------------------------------------------------------------------------

    def enable_user(self, on: bool = True) -> None:
        """Enable or disable the interrupt of the logic in the user slot."""
        self._handle.call("user_enable", on)

    def wait_user(self, timeout: float = 10.0) -> bool:
        """Wait for an interrupt of the logic in the user slot, for at most `timeout` seconds.

        Returns True if one has come since the last True, False if none came. A negative timeout
        waits for ever.
        """
        return bool(self._handle.call("user_wait", milliseconds(timeout)))

    # Memory ---------------------------------------------------------------------------------------

    def bar_size(self, bar: int) -> int:
        """Size of a BAR in bytes; 0 if the card does not have it."""
        return self._handle.plain("bar_size", bar)

    def read(self, offset: int, size: int = 4, bar: int = 0) -> bytes:
        """Read with one access of 1, 2, 4, 8, 16, 32 or 64 bytes."""
        data = (ctypes.c_uint8 * size)()
        self._handle.call("bar_read", bar, offset, data, size)
        return bytes(data)

    def write(self, offset: int, data: bytes, bar: int = 0) -> None:
        """Write with one access as wide as the data."""
        memory = (ctypes.c_uint8 * len(data)).from_buffer_copy(data)
        self._handle.call("bar_write", bar, offset, memory, len(data))

    # Streams --------------------------------------------------------------------------------------

    @property
    def ring(self) -> tuple[int, int]:
        """Shape of the rings: bytes of a buffer, and buffers in each direction."""
        return (self._handle.plain("buffer_size"), self._handle.plain("buffer_count"))

    @ring.setter
    def ring(self, shape: tuple[int, int]) -> None:
        self._handle.call("ring_setup", *shape)

    def place(self, way: str, memory) -> None:
        """Put the "h2c" or "c2h" ring into your own memory from the next run on. None undoes this.

        The memory is any writable buffer that begins at a page boundary and is as large as the
        ring, like mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE). With the kernel driver each buffer
        must lie in one page: take huge pages, or buffers of 4 KiB.
        """
        if memory is None:
            self._handle.call("ring_place", WAYS.get(way, 0), None, 0)
            self._handle.places.pop(WAYS[way], None)
            return
        place = np.frombuffer(memory, np.uint8)
        if not place.flags.writeable:
            raise ValueError("a ring's place must be memory that can be written to")
        self._handle.call("ring_place", WAYS.get(way, 0), place.ctypes.data, place.nbytes)
        self._handle.places[WAYS[way]] = place

    def receive(self, **options) -> Receive:
        """The card's stream to the host, as a context manager.

        Options: pattern, limit (buffers), interrupt_every (buffers), batch (buffers), packets,
        flush (seconds), poll (seconds), adaptive, timeout (seconds; negative: for ever).
        """
        return Receive(self._handle, **options)

    def send(self, **options) -> Send:
        """A stream to the card, with the options of receive()."""
        return Send(self._handle, **options)

    def loopback(self, **options) -> Loopback:
        """A stream to the card and back, with the options of receive().

        It goes through the DMA's own loopback, or with `inside=False` through the logic in the user
        slot.
        """
        return Loopback(self._handle, **options)
