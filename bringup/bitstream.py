# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Read a bitstream of an UltraScale+ part, and check it before any of it reaches a JTAG cable.

A .bit file is Vivado's form, with a header that names the part and the length. A .bin file has only
the configuration. Both are read packet by packet (UG570, "Configuration packets") up to the DESYNC
command at the end, so a file that was truncated anywhere is found. This module needs only Python's
standard library.

The numbers of the format are those of gateware/numbers.py. As a program this module writes them as
a C header for litepcie_util, which checks bitstreams in the same way:

    python -m bringup.bitstream > software/tools/litepcie_util/card/bitstream_format.h
"""

from dataclasses import dataclass
from pathlib import Path

from gateware import numbers
from gateware.numbers import IDCODES

REVISION = numbers.BITSTREAM_REVISION

PREAMBLE = bytes.fromhex("0009 0ff00ff00ff00ff000 0001")
SYNC     = numbers.BITSTREAM_SYNC.to_bytes(4, "big")
WORD     = 4

# Fields of configuration packets. A packet of type 1 names a register; one of type 2 has more words
# for the same register.
WRITE        = numbers.BITSTREAM_WRITE
REG_COMMAND  = numbers.BITSTREAM_REG_COMMAND
REG_IDCODE   = numbers.BITSTREAM_REG_IDCODE
REG_USER_ID  = numbers.BITSTREAM_REG_USER_ID
CMD_DESYNC   = numbers.BITSTREAM_CMD_DESYNC

class BitstreamError(ValueError):
    """Raised if a bitstream file cannot be loaded. The text says why, and what to do."""

@dataclass
class Bitstream:
    """The contents of a bitstream file.

    `data` are the bytes that the part gets. `part` is the name of the FPGA part in the file's
    header; "" if there is no header.
    """
    name:   str
    part:   str
    idcode: int
    data:   bytes

# Header of a .bit file ----------------------------------------------------------------------------

def _fields(name, raw):
    """Return the text fields of a .bit file's header as a dictionary by letter, the offset of the
    configuration in the file, and its length, both in bytes.
    """
    fields, at = {}, len(PREAMBLE)
    while True:
        letter, size = raw[at:at + 1], (4 if raw[at:at + 1] == b"e" else 2)
        length = int.from_bytes(raw[at + 1:at + 1 + size], "big")
        at += 1 + size
        if letter not in (b"a", b"b", b"c", b"d", b"e") or at > len(raw):
            raise BitstreamError(f"{name}: the header of this .bit file ends in the middle: the "
                "file is truncated or damaged; build or copy it again")
        if letter == b"e":
            return fields, at, length
        fields[letter.decode()] = raw[at:at + length].rstrip(b"\0").decode("latin-1")
        at += length

def _split(name, raw):
    """Split a bitstream file's bytes into (part's name, configuration)."""
    if not raw.startswith(PREAMBLE):
        return "", raw
    fields, at, length = _fields(name, raw)
    if len(raw) - at < length:
        raise BitstreamError(f"{name}: truncated: its header promises {length} bytes, and "
            f"{len(raw) - at} are there; build or copy it again")
    return fields.get("b", ""), raw[at:at + length]

# Configuration packets ----------------------------------------------------------------------------

def _writes(name, data):
    """Yield each register write in the configuration, as (number of the register, first word).

    Raise BitstreamError if the configuration has no end or a damaged packet.
    """
    at = data.find(SYNC) + WORD
    register = None
    while at + WORD <= len(data):
        word  = int.from_bytes(data[at:at + WORD], "big")
        at   += WORD
        kind, operation = word >> 29, word >> 27 & 3
        if kind == 1:
            register, count = word >> 13 & 0x1f, word & 0x7ff
        elif kind == 2:
            count = word & 0x7ffffff
        else:
            raise BitstreamError(f"{name}: damaged: {word:#010x} at byte {at - WORD} of the "
                "configuration is no packet; build or copy it again")
        if operation != WRITE or not count:
            continue
        first = int.from_bytes(data[at:at + WORD], "big")
        yield register, first
        if (register, first) == (REG_COMMAND, CMD_DESYNC):
            return
        at += WORD*count
    raise BitstreamError(f"{name}: truncated: it ends before the command that ends a "
        "configuration; build or copy it again")

def read_bitstream(filename):
    """Return the Bitstream in a file. Raise BitstreamError if the file is incomplete or is no
    bitstream.
    """
    name = str(filename)
    try:
        raw = Path(filename).read_bytes()
    except OSError as error:
        raise BitstreamError(f"{name}: {error.strerror}") from None
    part, data = _split(name, raw)
    if SYNC not in data:
        raise BitstreamError(f"{name}: not a bitstream: there is no synchronisation word "
            f"({SYNC.hex()}) in it. `--build` writes vivado/lanebox.bit")
    idcode = None
    for register, first in _writes(name, data):
        if register == REG_IDCODE:
            idcode = first
    if idcode is None:
        raise BitstreamError(f"{name}: does not say which part it is for (no IDCODE); it is not a "
            "full configuration")
    return Bitstream(name, part, idcode, data)

def part_name(idcode):
    """Return the text for an IDCODE in a message: hexadecimal, with the part's name if IDCODES has
    it.
    """
    found = [part for part, known in IDCODES.items() if known == idcode & ~REVISION]
    return f"{idcode:#010x} ({found[0] if found else 'a part that no board here has'})"

def check_part(bitstream, board):
    """Raise BitstreamError unless the bitstream is for the board's part in its package."""
    device = "-".join(board.device.split("-")[:2])
    if (bitstream.idcode ^ IDCODES[board.part]) & ~REVISION:
        raise BitstreamError(f"{bitstream.name}: for another part: its IDCODE is "
            f"{part_name(bitstream.idcode)}, and {board.title} has {board.part}")
    if bitstream.part and not bitstream.part.startswith(device):
        raise BitstreamError(f"{bitstream.name}: for another part: {bitstream.part}, and "
            f"{board.title} has {device}")

# Order of a bitstream's bits in a JTAG scan -------------------------------------------------------

_MIRRORED = bytes(int(f"{value:08b}"[::-1], 2) for value in range(256))

def scan_value(data):
    """Return `data` as a hexadecimal number for an OpenOCD scan.

    Its lowest bit, the first that a scan shifts into the part, is the highest bit of the first
    byte.
    """
    return f"0x{data.translate(_MIRRORED)[::-1].hex()}"

# C header with the numbers of this module ---------------------------------------------------------

HEAD = """\
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The numbers of a bitstream's format (UG570), and the parts whose bitstreams are known. Generated
 * by bringup/bitstream.py: do not edit.
 */
#ifndef LITEPCIE_UTIL_BITSTREAM_FORMAT_H
#define LITEPCIE_UTIL_BITSTREAM_FORMAT_H
"""

def c_header():
    """Return the text of the C header with the numbers of this module."""
    values = {
        "PREAMBLE": f'"{"".join(f"{chr(92)}x{byte:02x}" for byte in PREAMBLE)}"',
        "PREAMBLE_SIZE": len(PREAMBLE), "SYNC": f"0x{SYNC.hex()}u", "REVISION": f"{REVISION:#x}u",
        "WRITE": WRITE, "REG_COMMAND": REG_COMMAND, "REG_IDCODE": REG_IDCODE,
        "REG_USER_ID": REG_USER_ID, "CMD_DESYNC": CMD_DESYNC,
    }
    lines  = [f"#define BITSTREAM_{name.ljust(14)} {value}" for name, value in values.items()]
    parts  = [f'\tP({code:#010x}u, "{part}")' for part, code in IDCODES.items()]
    return "\n".join([HEAD, *lines, "", "/* P(IDCODE without its revision, part) */",
        "#define BITSTREAM_PARTS(P) \\", " \\\n".join(parts), "",
        "#endif /* LITEPCIE_UTIL_BITSTREAM_FORMAT_H */"]) + "\n"

if __name__ == "__main__":
    print(c_header(), end="")
