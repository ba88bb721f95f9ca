# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The card's counters of its four TLP streams, and the difference of two readings."""

from __future__ import annotations

from dataclasses import dataclass

from lanebox_host._library import CountersFields, StreamFields, field_names

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
        """Make the counts of the library's structure into those of Python."""
        return cls(*(getattr(fields, name) for name in field_names(fields)))

    def __sub__(self, earlier: Stream) -> Stream:
        """Return the counts since `earlier`. `first` and `last` stay those of the later reading."""
        return Stream(
            self.beats - earlier.beats,
            self.stalls - earlier.stalls,
            self.tlps - earlier.tlps,
            self.payload_bytes - earlier.payload_bytes,
            self.first,
            self.last,
        )


@dataclass(frozen=True)
class Counters:
    """The counts of the four streams at one clock edge. `time` is device time in ticks of `tick_ps`
    picoseconds.
    """

    time: int
    cq: Stream
    cc: Stream
    rq: Stream
    rc: Stream
    tick_ps: int

    @classmethod
    def of(cls, fields: CountersFields, tick_ps: int) -> Counters:
        """Make the library's counters into those of Python. `tick_ps`: a tick's length in ps."""
        streams = {name: Stream.of(getattr(fields, name)) for name in NAMES}
        return cls(time=fields.time, tick_ps=tick_ps, **streams)

    def __sub__(self, earlier: Counters) -> Counters:
        """Return the counts since `earlier`. `time` of the result is a duration."""
        streams = {name: getattr(self, name) - getattr(earlier, name) for name in NAMES}
        return Counters(time=self.time - earlier.time, tick_ps=self.tick_ps, **streams)

    @property
    def seconds(self) -> float:
        """The device time `time` in seconds."""
        return self.time * self.tick_ps * 1e-12

    def rate(self, name: str) -> float:
        """Return the payload rate of one stream in GB/s over `time`. Call this on a difference of
        two readings.
        """
        return getattr(self, name).payload_bytes / self.seconds / 1e9 if self.time else 0.0
