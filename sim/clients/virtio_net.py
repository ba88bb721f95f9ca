# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""A driver for the card's net device, whose far side is the echo of gateware/port: it sends
datagrams of UDP, one echo at a time."""

from __future__ import annotations

import struct

from gateware import numbers
from sim.clients.virtio import EchoDriver

# The header in front of a frame (VirtIO 1.2, 5.1.6): what a driver sends, and what it receives,
# where the field num_buffers is 1.
SENT, RECEIVED = bytes(12), bytes(10) + b"\x01\x00"
# Station and host addresses of the driver and of the echo.
MAC, ECHO_MAC = bytes([2, 0, 0, 0, 0, 1]), numbers.ECHO_MAC.to_bytes(6, "big")
HOST, ECHO_HOST = bytes([10, 0, 0, 1]), bytes([10, 0, 0, 2])
PORT, ECHO_PORT = 4000, 7


def datagram(payload: bytes, back: bool = False) -> bytes:
    """Return the Ethernet frame with a datagram of UDP from the driver to the echo, or with its
    answer. The checksums are 0, since the echo neither checks nor changes them."""
    ends = ((MAC, HOST, PORT), (ECHO_MAC, ECHO_HOST, ECHO_PORT))
    source, target = reversed(ends) if back else ends
    udp = struct.pack(">4H", source[2], target[2], 8 + len(payload), 0) + payload
    ip = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(udp), 0, 0, 64, 17, 0) + source[1] + target[1]
    return target[0] + source[0] + b"\x08\x00" + ip + udp


class NetEchoDriver(EchoDriver):
    """The net device of the card. Its messages are the payloads of datagrams, at least 18 bytes
    each, since a shorter frame would be padded. They come back with sender and receiver
    exchanged."""

    def sent(self, message: bytes) -> bytes:
        """Return what a buffer of the transmit queue has for a message."""
        return SENT + datagram(message)

    def answer(self, message: bytes) -> bytes:
        """Return what must come to the receive queue for a message."""
        return RECEIVED + datagram(message, back=True)
