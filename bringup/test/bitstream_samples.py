# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Make short bitstreams for tests: the packets of a real bitstream around a few frames of noise."""

import random

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
