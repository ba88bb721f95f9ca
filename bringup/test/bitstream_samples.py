# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Make short bitstreams for tests: the packets of a real bitstream around a few frames of noise."""

import random

from gateware import numbers

KU5P, KU3P = 0x04A62093, 0x04A63093
# The IDCODE of a real KU5P. Its upper four bits are the revision, which is 1.
REVISION_1 = 0x14A62093
PART = "xcku5p-ffvb676-2-i"
FRAME = 93  # A configuration frame of an UltraScale+ part has this many 32-bit words.


def words(*values):
    return b"".join(value.to_bytes(4, "big") for value in values)


def configuration(idcode=KU5P, frames=4, seed=0):
    """Return a configuration for the part `idcode`, with `frames` configuration frames of noise.

    Around the noise are pads, bus width, sync word, IDCODE, start and DESYNC, as in a real
    bitstream.
    """
    count = FRAME * frames
    noise = random.Random(seed).randbytes(4 * count)
    return b"".join(
        [
            b"\xff" * 32,
            words(0x000000BB, 0x11220044),
            b"\xff" * 8,
            words(0xAA995566, 0x20000000),
            # The packet writes the command "reset the CRC" to register CMD.
            words(0x30008001, 0x00000007),
            words(0x30018001, idcode),
            # The packet writes the address of the first configuration frame to register FAR.
            words(0x30002001, 0),
            # The packet writes the command "write configuration frames" to register CMD.
            words(0x30008001, 0x00000001),
            words(0x30004000, 0x50000000 | count),
            noise,
            words(0x30008001, 0x00000005),  # The packet writes the command START to register CMD.
            words(0x30008001, 0x0000000D),  # The packet writes the command DESYNC to register CMD.
            words(*[0x20000000] * 16),
        ]
    )


def crc_step(crc, register, word):
    """Return the CRC of a configuration after `word` was written to a register: CRC-32C, lowest bit
    first, over the 32 bits of the word and then the 5 bits of the register's number.
    """
    bits = register << 32 | word
    for n in range(37):
        crc = crc >> 1 ^ (0x82F63B78 if (crc ^ bits >> n) & 1 else 0)
    return crc


class Packets:
    """The register writes of a configuration, with their running CRC."""

    def __init__(self):
        self.data, self.crc = b"", 0

    def write(self, register, *values):
        head = 0x30000000 | register << 13
        long = len(values) > 0x7FF
        self.data += words(*((head, 0x50000000 | len(values)) if long else (head | len(values),)))
        self.data += words(*values)
        for value in values:
            self.crc = crc_step(self.crc, register, value)

    def reset_crc(self):
        self.write(CMD, 7)
        self.crc = 0


CRC_REGISTER, FDRI, WBSTAR, TIMER = 0, 2, 16, 17
CMD, IDCODE = numbers.BITSTREAM_REG_COMMAND, numbers.BITSTREAM_REG_IDCODE
AXSS = numbers.BITSTREAM_REG_USER_ID
# Values of TIMER: a golden image lets the part search 128 KiB for the application's header.
SEARCH, WATCH_IMAGE = 1 << 30 | 1 << 20, 1 << 31


def image(user_id, payload=(), idcode=KU5P, warm_boot=None, timer=0):
    """Return a bitstream for the part `idcode`, with the right CRC, so that the part starts from
    it.

    `user_id` is the value of register AXSS, `timer` that of register TIMER, and `payload` are the
    words of the configuration frames. With `warm_boot`, a flash address, the bitstream first sends
    the part to the bitstream at that address, as a golden image does.
    """
    packets = Packets()
    packets.write(TIMER, timer if warm_boot is None else SEARCH)
    if warm_boot is not None:
        packets.write(WBSTAR, warm_boot >> 8)
        packets.write(CMD, 15)
    packets.reset_crc()
    packets.write(IDCODE, idcode)
    packets.write(AXSS, user_id)
    packets.write(CMD, 1)
    packets.write(FDRI, *(payload or range(FRAME)))
    packets.write(CRC_REGISTER, packets.crc)
    packets.crc = 0
    packets.write(CMD, 5)
    packets.write(CRC_REGISTER, packets.crc)
    packets.write(CMD, 13)
    head = b"\xff" * 32 + words(0x000000BB, 0x11220044) + b"\xff" * 8
    return head + words(0xAA995566, 0x20000000) + packets.data + words(*[0x20000000] * 16)


def bit_file(data, part=PART):
    """Return a .bit file: a header that names the part `part`, then the configuration `data`."""

    def field(letter, text):
        return letter + (len(text) + 1).to_bytes(2, "big") + text.encode() + b"\0"

    return b"".join(
        [
            bytes.fromhex("00090ff00ff00ff00ff0000001"),
            field(b"a", "lanebox;UserID=0XFFFFFFFF;Version=2023.1"),
            field(b"b", part),
            field(b"c", "2026/01/01"),
            field(b"d", "12:00:00"),
            b"e",
            len(data).to_bytes(4, "big"),
            data,
        ]
    )
