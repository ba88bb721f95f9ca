# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The other end of a wire for tests: a UNIX socket with the framing of QEMU's `-netdev stream`, and
how long frames take on a line."""

from __future__ import annotations

import socket
import struct
from fractions import Fraction

from gateware.numbers import ETHERNET_BYTES, TICK_NS, VIRTIO_MTU

LONGEST = VIRTIO_MTU + ETHERNET_BYTES  # bytes of the longest frame that the wire carries
# Bytes beside the frame that take time on a line: preamble, FCS, gap.
PREAMBLE, FCS, GAP = 8, 4, 12
SHORTEST = 60


def framed(*frames: bytes) -> bytes:
    """Return Ethernet frames as they are on the socket: each behind its length in bytes."""
    return b"".join(struct.pack(">I", len(frame)) + frame for frame in frames)


def line_cycles(size: int, count: int, gigabits: int) -> Fraction:
    """Return for how many cycles of the card (4 ns) `count` frames of `size` bytes, without FCS,
    are on a line of `gigabits` Gbit/s. Preambles, FCS and the gaps between frames count, and short
    frames are padded."""
    each = PREAMBLE + max(size, SHORTEST) + FCS + GAP
    return Fraction((each * count - GAP) * 8, gigabits * TICK_NS)


class End:
    """One end of the wire: a connected socket that sends and receives Ethernet frames."""

    def __init__(self, connection: socket.socket, seconds: float = 60):
        self.connection = connection
        self.connection.settimeout(seconds)
        self.rest = b""

    @classmethod
    def called(cls, path) -> End:
        """Connect to a socket on which a board listens."""
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(str(path))
        return cls(connection)

    def send(self, *frames: bytes) -> None:
        self.connection.sendall(framed(*frames))

    def receive(self) -> bytes | None:
        """Return the next Ethernet frame, or None if the other side has closed the socket."""
        while len(self.rest) < 4 or len(self.rest) < 4 + struct.unpack(">I", self.rest[:4])[0]:
            more = self.connection.recv(1 << 16)
            if not more:
                assert not self.rest, "the socket was closed in the middle of a frame"
                return None
            self.rest += more
        (size,) = struct.unpack(">I", self.rest[:4])
        frame, self.rest = self.rest[4 : 4 + size], self.rest[4 + size :]
        return frame

    def close(self) -> None:
        self.connection.close()
