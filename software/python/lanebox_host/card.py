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

from lanebox_host._library import (
    CardFields,
    ConditionsFields,
    CountersFields,
    Handle,
    PatternFields,
    RegisterFields,
    milliseconds,
)
from lanebox_host.counters import Counters
from lanebox_host.dma import Loopback, Receive, Send
from lanebox_host.errors import NotOnCard


@dataclass(frozen=True)
class Info:
    """What the card says of itself."""

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
    """What host and card have agreed upon; sizes in bytes."""

    mps: int
    mrrs: int
    link_up: bool
    link_gen: int
    link_lanes: int
    msi: bool


@dataclass(frozen=True)
class Pattern:
    """What the card's checker found; `first_error` is the number of a beat of 32 bytes."""

    beats: int
    errors: int
    first_error: int


def _fields(structure: ctypes.Structure) -> dict:
    values = {name: getattr(structure, name) for name, _ in structure._fields_}
    return {n: v.decode() if isinstance(v, bytes) else v for n, v in values.items()}


class Registers(Mapping):
    """The card's registers by name, as a mapping that can be written to."""

    def __init__(self, handle: Handle) -> None:
        self._handle = handle

    def load(self, path: str | os.PathLike) -> None:
        """Learn the names of a build's csr.json, those of your own registers among them."""
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
        """In the order of their places."""
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
        """Its place in BAR0."""
        found = RegisterFields()
        self._handle.call("register_find", name.encode(), byref(found))
        return found.offset


class Card:
    """`with Card("/dev/litepcie0") as card`; also "vfio:ADDRESS" and "sim:SOCKET"."""

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
        """Stop what runs and let go. Arrays of its rings stay memory, with anything in it."""
        self._handle.close()

    def reset(self) -> None:
        """As after power-on; no DMA may run."""
        self._handle.call("reset")

    # What it is -----------------------------------------------------------------------------------

    @property
    def backend(self) -> str:
        """How it is reached: "kernel", "vfio" or "sim"."""
        return self._handle.plain("backend").decode()

    @property
    def info(self) -> Info:
        """What it says of itself."""
        fields = CardFields()
        self._handle.plain("card", byref(fields))
        values = _fields(fields)
        return Info(**{name: values[name] for name in Info.__dataclass_fields__})

    @property
    def conditions(self) -> Conditions:
        """What was negotiated."""
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
        """The counters of its TLP streams, now."""
        fields = CountersFields()
        self._handle.call("counters", byref(fields))
        return Counters.of(fields, self.info.tick_ps)

    def clear_counters(self) -> None:
        """Back to 0; not while DMA runs."""
        self._handle.call("counters_clear")

    @property
    def pattern(self) -> Pattern:
        """What its checker found in the last stream that was sent with `pattern=True`."""
        fields = PatternFields()
        self._handle.call("pattern", byref(fields))
        return Pattern(**_fields(fields))

    # Interrupts -----------------------------------------------------------------------------------

    def enable_user(self, on: bool = True) -> None:
        """Let interrupts of the logic in the user slot through, or no more."""
        self._handle.call("user_enable", on)

    def wait_user(self, timeout: float = 10.0) -> bool:
        """Whether that logic raised one within so many seconds, or has since the last True.

        A negative time-out waits for ever.
        """
        return bool(self._handle.call("user_wait", milliseconds(timeout)))

    # Memory ---------------------------------------------------------------------------------------

    def bar_size(self, bar: int) -> int:
        """Bytes, 0: it has none there."""
        return self._handle.plain("bar_size", bar)

    def read(self, offset: int, size: int = 4, bar: int = 0) -> bytes:
        """One access of 1, 2, 4, 8, 16, 32 or 64 bytes."""
        data = (ctypes.c_uint8 * size)()
        self._handle.call("bar_read", bar, offset, data, size)
        return bytes(data)

    def write(self, offset: int, data: bytes, bar: int = 0) -> None:
        """One access as wide as the data."""
        memory = (ctypes.c_uint8 * len(data)).from_buffer_copy(data)
        self._handle.call("bar_write", bar, offset, memory, len(data))

    # Streams --------------------------------------------------------------------------------------

    @property
    def ring(self) -> tuple[int, int]:
        """Bytes of a buffer, and how many there are each way."""
        return (self._handle.plain("buffer_size"), self._handle.plain("buffer_count"))

    @ring.setter
    def ring(self, shape: tuple[int, int]) -> None:
        self._handle.call("ring_setup", *shape)

    def receive(self, **options) -> Receive:
        """The card's stream to the host. Options: pattern, limit (buffers), interrupt_every,
        batch, timeout (seconds; negative: for ever)."""
        return Receive(self._handle, **options)

    def send(self, **options) -> Send:
        """A stream to the card; the same options."""
        return Send(self._handle, **options)

    def loopback(self, **options) -> Loopback:
        """There and back; `inside=False` goes through the logic in the user slot."""
        return Loopback(self._handle, **options)
