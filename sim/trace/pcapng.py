# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Reads pcapng files that the board has written or that Wireshark has saved again.

Promises: both byte orders and any time resolution in powers of ten are read. A file whose end is
cut off (the board was killed) yields the packets before the cut. Compressed files are not read.
"""

from __future__ import annotations

import re
import struct
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from gateware import numbers
from sim.errors import SimError

BYTE_ORDER = {struct.pack(order + "I", numbers.PCAPNG_ORDER_MAGIC): order for order in "<>"}
LINK_TYPE_USER0 = 147
OPTION_COMMENT = 1
SPAN = re.compile(rb"pins (\d+) ns")
MICROSECONDS = 6  # An interface without the option for it has time stamps in units of 10^-6 s.


class TraceError(SimError):
    """The file is not a trace of TLPs. The text says why, and what to do next."""


@dataclass(frozen=True)
class Interface:
    """An interface of a pcapng file, as its Interface Description Block has it."""

    name: str
    link_type: int
    resolution: int  # The time stamps of this interface are in units of 10^-resolution s.


def packets(path: Path) -> Iterator[tuple[str, int, bytes, int | None]]:
    """Yield every packet as (interface's name, ns, bytes, span), in the order of the file.

    `span` is the TLP's time at the pins in ns. It is None if the TLP was there no longer than its
    beats take.
    """
    interfaces: list[Interface] = []
    for kind, order, body in _blocks(path):
        if kind == numbers.PCAPNG_SECTION:
            interfaces = []
        elif kind == numbers.PCAPNG_INTERFACE:
            interfaces.append(_interface(path, body, order))
        elif kind == numbers.PCAPNG_RECORD:
            number, high, low, captured = struct.unpack_from(order + "IIII", body)
            interface = interfaces[number]
            ticks = high << 32 | low
            shift = 9 - interface.resolution
            ns = ticks * 10**shift if shift >= 0 else ticks // 10**-shift
            options = dict(_options(body[20 + (captured + 3) // 4 * 4 :], order))
            span = SPAN.fullmatch(options.get(OPTION_COMMENT, b""))
            yield interface.name, ns, body[20 : 20 + captured], span and int(span[1])


def _blocks(path: Path) -> Iterator[tuple[int, str, bytes]]:
    """Yield every block of the pcapng file as (type, byte order, the bytes between its two length
    fields).
    """
    order = ""
    with open(path, "rb") as file:
        while head := file.read(12):
            if head[:4] == b"\x0a\x0d\x0d\x0a":
                order = BYTE_ORDER.get(head[8:12], "")
            if not order:
                raise TraceError(
                    f"{path} is no pcapng: record a trace with --tlp-log NAME.pcapng "
                    "(make sim TLP_LOG=NAME.pcapng)"
                )
            rest = b""
            if len(head) == 12:
                kind, length = struct.unpack_from(order + "II", head)
                rest = file.read(length - 12)
            if len(head) < 12 or len(rest) < length - 12:
                print(f"{path}: the end is cut off inside a block", file=sys.stderr)
                return
            yield kind, order, (head[8:] + rest)[:-4]


def _interface(path: Path, body: bytes, order: str) -> Interface:
    (link_type,) = struct.unpack_from(order + "H", body)
    options = dict(_options(body[8:], order))
    name = options.get(numbers.PCAPNG_NAME, b"").decode(errors="replace")
    if link_type != LINK_TYPE_USER0:
        raise TraceError(
            f"{path}: interface {name!r} has link type {link_type}, and a trace of TLPs has "
            f"{LINK_TYPE_USER0} (USER0): this capture is not from the board"
        )
    resolution = options.get(numbers.PCAPNG_TSRESOL, bytes([MICROSECONDS]))[0]
    if resolution & 0x80:
        raise TraceError(f"{path}: times of interface {name!r} are in powers of two, not of ten")
    return Interface(name, link_type, resolution)


def _options(data: bytes, order: str) -> Iterator[tuple[int, bytes]]:
    at = 0
    while at + 4 <= len(data):
        code, length = struct.unpack_from(order + "HH", data, at)
        if code == 0:
            return
        yield code, data[at + 4 : at + 4 + length]
        at += 4 + (length + 3) // 4 * 4
