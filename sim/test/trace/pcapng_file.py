# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Reads and writes pcapng for tests. The reader shares no code with sim/trace, and the writer makes
crafted files."""

from __future__ import annotations

import struct

NAMES = ("CQ", "CC", "RQ", "RC", "MSI")


def read(data: bytes):
    """Parse a pcapng file. Returns (options by interface name, [(interface, ticks, flags, bytes)]).

    Fails where a block does not have the form of the pcapng specification.
    """
    interfaces, packets, at = [], [], 0
    while at < len(data):
        kind, length = struct.unpack_from("<II", data, at)
        assert length % 4 == 0 and length >= 12, f"block length {length} at {at}"
        assert data[at + length - 4 : at + length] == struct.pack("<I", length), f"end at {at}"
        body = data[at + 8 : at + length - 4]
        at += length
        if kind == 0x0A0D0D0A:
            assert body[:8] == struct.pack("<IHH", 0x1A2B3C4D, 1, 0)
        elif kind == 1:
            link, reserved, snap = struct.unpack_from("<HHI", body)
            interfaces.append({"link": link, "snap": snap, **options(body[8:])})
            assert reserved == 0
        else:
            assert kind == 6, f"block type {kind:#x}"
            number, high, low, captured, original = struct.unpack_from("<5I", body)
            assert captured == original
            packet, rest = body[20 : 20 + captured], body[20 + -(-captured // 4) * 4 :]
            (flags,) = struct.unpack("<I", options(rest)[2])
            packets.append((interfaces[number][2].decode(), high << 32 | low, flags, packet))
    return {each[2].decode(): each for each in interfaces}, packets


def options(data: bytes) -> dict[int, bytes]:
    found = {}
    while data:
        code, length = struct.unpack_from("<HH", data)
        if code == 0:
            assert length == 0 and len(data) == 4
            break
        found[code] = data[4 : 4 + length]
        data = data[4 + -(-length // 4) * 4 :]
    return found


def block(kind: int, body: bytes, order: str = "<") -> bytes:
    size = struct.pack(order + "I", len(body) + 12)
    return struct.pack(order + "I", kind) + size + body + size


def option(code: int, value: bytes, order: str = "<") -> bytes:
    return struct.pack(order + "HH", code, len(value)) + value + bytes(-len(value) % 4)


def write(packets, order="<", link=147, resolution=9) -> bytes:
    """Return a pcapng file with packets [(interface, ticks, bytes)]. `order` is the byte order as
    in struct. A tick is 10 to the power of -`resolution` seconds."""
    section = struct.pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1)
    data = block(0x0A0D0D0A, section, order)
    for name in NAMES:
        fields = option(2, name.encode(), order) + option(9, bytes([resolution]), order)
        data += block(1, struct.pack(order + "HHI", link, 0, 0) + fields + bytes(4), order)
    for name, ticks, packet in packets:
        head = (NAMES.index(name), ticks >> 32, ticks & 0xFFFF_FFFF, len(packet), len(packet))
        data += block(6, struct.pack(order + "5I", *head) + packet + bytes(-len(packet) % 4), order)
    return data


def dwords(*values: int, payload: bytes = b"") -> bytes:
    """Return the bytes of a TLP, made from the dwords of its header and its payload."""
    return struct.pack(f">{len(values)}I", *values) + payload
