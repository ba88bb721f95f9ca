# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Blocks of pcapng for tests, in either byte order: "<" (little endian) or ">" (big endian)."""

import struct


def block(order, kind, body):
    """Return a pcapng block in the byte order `order`, "<" or ">"."""
    body += bytes(-len(body) % 4)
    length = struct.pack(order + "I", len(body) + 12)
    return struct.pack(order + "I", kind) + length + body + length


def option(order, code, data):
    return struct.pack(order + "HH", code, len(data)) + data + bytes(-len(data) % 4)


def section(order):
    return block(order, 0x0A0D0D0A, struct.pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1))


def interface(order, resolution=None, link=1):
    options = b"" if resolution is None else option(order, 9, bytes([resolution]))
    return block(order, 1, struct.pack(order + "HHI", link, 0, 0) + options)


def packet(order, time, data, number=0, options=b"", original=None):
    """Return the block of a packet with `data`, which had `original` bytes before it was cut."""
    halves = time >> 32, time & 0xFFFF_FFFF
    length = len(data) if original is None else original
    head = struct.pack(order + "5I", number, *halves, len(data), length)
    return block(order, 6, head + data + bytes(-len(data) % 4) + options)
