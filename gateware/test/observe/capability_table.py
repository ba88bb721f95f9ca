# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Read the capability table of a built gateware from the initial contents of its memory."""

import struct
import zlib
from typing import NamedTuple

from gateware.observe import capability


class Entry(NamedTuple):
    """One decoded entry of the capability table. It describes one block of the gateware."""

    kind: int
    version: int
    bar: int
    index: int
    offset: int
    size: int
    parameters: tuple


def decode(words):
    """Decode a capability table, given as 32-bit words, without the code that makes it.

    Return the fields of its header, and its entries.
    """
    raw = struct.pack(f"<{len(words)}I", *words)
    magic, minor, major, size, crc, count, reserved = struct.unpack_from("<4sHHIIII", raw)
    assert magic == b"LBOX"
    assert zlib.crc32(raw[:12] + bytes(4) + raw[16:size]) == crc
    entries, at = [], 88
    for _ in range(count):
        kind, version, length, bar, index, offset, block_size = struct.unpack_from(
            "<HHHBBII", raw, at
        )
        assert length % 8 == 0 and length >= 16
        parameters = struct.unpack_from(f"<{length // 4 - 4}I", raw, at + 16)
        entries.append(Entry(kind, version, bar, index, offset, block_size, parameters))
        at += length
    assert at == size
    return {
        "version": (major, minor),
        "digest": raw[24:56].hex(),
        "target": raw[56:88].rstrip(b"\0").decode(),
    }, entries


def contents(path):
    return [int(word, 16) for word in path.read_text().split()]


def memories(folder):
    """Yield the initial 32-bit words of every memory of a build.

    Each memory of the MMIO bridge has eight files, one for each lane of 32 bits.
    """
    for first in folder.glob("*.init"):
        if "_lane0" in first.name:
            lanes = [first.with_name(first.name.replace("_lane0", f"_lane{n}")) for n in range(8)]
            yield [word for row in zip(*map(contents, lanes)) for word in row]
        elif "_lane" not in first.name:
            yield contents(first)


def table_of(build):
    """Return the decoded capability table of a build. The build must have exactly one memory with
    such a table.
    """
    tables = [words for words in memories(build / "gateware") if words[0] == capability.MAGIC]
    assert len(tables) == 1
    return decode(tables[0])
