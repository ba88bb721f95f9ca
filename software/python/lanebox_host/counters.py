# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Keep readings of the card's counters of its four TLP streams, and subtract two readings."""

from __future__ import annotations

from dataclasses import dataclass

from lanebox_host._headers import CountersFields, TlpStreamFields
from lanebox_host._sized import field_names

NAMES = ("cq", "cc", "rq", "rc")


@dataclass(frozen=True)
class Stream:
    """The card's counts of one of its TLP streams (cq, cc, rq, rc).

    `first` and `last` are the device times of the first and the last beat that was counted, in
    ticks.
    """

    beats: int
    stalls: int
    tlps: int
    payload_bytes: int
    first: int
    last: int

    @classmethod
    def of(cls, fields: TlpStreamFields) -> Stream:
        """Make a Stream from the C library's structure of the counts of one TLP stream."""
        return cls(*(getattr(fields, name) for name in field_names(fields)))

    def __sub__(self, earlier: Stream) -> Stream:
        """Return the counts since `earlier`, an earlier reading of the same TLP stream.

        `first` and `last` of the result are those of the later reading.
        """
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
    """The counts of the card's four TLP streams at one clock edge, or the differences of two such
    readings.

    `time` is the device time of that edge, or the time between the two, in ticks of `tick_ps`
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
        """Make Counters from the C library's structure.

        `tick_ps` is the length of a tick in picoseconds.
        """
        streams = {name: Stream.of(getattr(fields, name)) for name in NAMES}
        return cls(time=fields.time, tick_ps=tick_ps, **streams)

    def __sub__(self, earlier: Counters) -> Counters:
        """Return the counts of all TLP streams from the reading `earlier` to this reading.

        `time` of the result is the device time between the two readings, in ticks.
        """
        streams = {name: getattr(self, name) - getattr(earlier, name) for name in NAMES}
        return Counters(time=self.time - earlier.time, tick_ps=self.tick_ps, **streams)

    @property
    def seconds(self) -> float:
        """The device time of this reading, or between two subtracted readings, in seconds."""
        return self.time * self.tick_ps * 1e-12

    def rate(self, name: str) -> float:
        """Return the payload rate of the TLP stream `name` ("cq", "cc", "rq" or "rc") in GB/s.

        The rate is the payload divided by `time`, so use a difference of two readings. If no device
        time has passed between the two, the rate is 0.
        """
        return getattr(self, name).payload_bytes / self.seconds / 1e9 if self.time else 0.0
