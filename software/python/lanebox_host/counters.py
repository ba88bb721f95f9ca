# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The card's counters of its four TLP streams, and the difference of two readings."""

from __future__ import annotations

from dataclasses import dataclass

from lanebox_host._library import CountersFields, StreamFields

NAMES = ("cq", "cc", "rq", "rc")


@dataclass(frozen=True)
class Stream:
    """Counts of one stream; `first` and `last` are device times in ticks."""

    beats: int
    stalls: int
    tlps: int
    payload_bytes: int
    first: int
    last: int

    @classmethod
    def of(cls, fields: StreamFields) -> Stream:
        return cls(*(getattr(fields, name) for name, _ in fields._fields_))

    def __sub__(self, earlier: Stream) -> Stream:
        """Counts since `earlier`. `first` and `last` stay those of the later reading."""
        return Stream(
            self.beats - earlier.beats, self.stalls - earlier.stalls, self.tlps - earlier.tlps,
            self.payload_bytes - earlier.payload_bytes, self.first, self.last,
        )  # fmt: skip


@dataclass(frozen=True)
class Counters:
    """The four streams at one clock edge: device time `time`, in ticks of `tick_ps` picoseconds."""

    time: int
    cq: Stream
    cc: Stream
    rq: Stream
    rc: Stream
    tick_ps: int

    @classmethod
    def of(cls, fields: CountersFields, tick_ps: int) -> Counters:
        return cls(fields.time, *(Stream.of(getattr(fields, name)) for name in NAMES), tick_ps)

    def __sub__(self, earlier: Counters) -> Counters:
        """Counts since `earlier`. `time` of the result is a duration."""
        return Counters(
            self.time - earlier.time,
            *(getattr(self, name) - getattr(earlier, name) for name in NAMES),
            self.tick_ps,
        )

    @property
    def seconds(self) -> float:
        """Device time in seconds."""
        return self.time * self.tick_ps * 1e-12

    def rate(self, name: str) -> float:
        """Payload of one stream in GB/s over `time`. Call it on a difference of two readings."""
        return getattr(self, name).payload_bytes / self.seconds / 1e9 if self.time else 0.0
