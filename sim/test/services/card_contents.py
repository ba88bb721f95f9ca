# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Contents for the card services of a simulated card: images for its flash, and modules for its
cages."""

import hashlib
import random
import struct

from bringup.test.bitstream_samples import image
from gateware import numbers

APPLICATION = numbers.FLASH_LAYOUT["application"]
TEXT = 16  # bytes of a text, for example the vendor's name, in a module's memory
# The optical power of each lane in mW.
RECEIVE, TRANSMIT = (0.5, 0.6, 0.7, 0.8), (0.9, 0.9001, 0.9002, 0.9003)


def digest(name):
    return hashlib.sha256(name.encode()).hexdigest()


# The word that an image has behind its digest if it has a defect (sim/board/card/identity.hpp).
NO_LINK, NO_FIRMWARE = (int.from_bytes(text, "big") for text in (b"NOLK", b"NOFW"))


def sample(name, pages=3, defect=None, **options):
    """Return an FPGA image for the simulated flash. A card that runs the image reports the digest
    of `name`, and has the defect `defect` if one is given."""
    text = digest(name)
    words = list(struct.unpack("<8I", bytes.fromhex(text)))
    words += [defect] if defect else []
    noise = random.Random(name).choices(range(1 << 32), k=64 * pages)
    return image(int(text[:8], 16), [*words, *noise], **options)


def flash_file(path, golden=True, application="old"):
    """Write the contents of a flash with a golden image, and an application if it has a name."""
    raw = bytearray(b"\xff" * (APPLICATION + (1 << 16)))
    for at, data in (
        (0, sample("golden", warm_boot=APPLICATION) if golden else b""),
        (APPLICATION, sample(application) if application else b""),
    ):
        raw[at : at + len(data)] = data
    path.write_bytes(raw)
    return path


def qsfp28(hot=False):
    """Return the memory of a QSFP28 module by SFF-8636, lower memory and upper page 00."""
    lower, upper = bytearray(128), bytearray(128)
    lower[0] = 0x11
    lower[3] = 0x21  # receiver of lane 1 and transmitter of lane 2 have no signal
    lower[6] = 0x80 if hot else 0
    struct.pack_into(">h", lower, 22, int(41.5 * 256))
    struct.pack_into(">H", lower, 26, 32950)
    struct.pack_into(">4H", lower, 34, *(round(mw * 1e4) for mw in RECEIVE))
    struct.pack_into(">4H", lower, 50, *(round(mw * 1e4) for mw in TRANSMIT))
    for offset, text in ((148, "LANEBOX OPTICS"), (168, "LB-100G-SR4"), (196, "SN0012345")):
        upper[offset - 128 : offset - 128 + TEXT] = text.ljust(TEXT).encode()
    return bytes(lower + upper)


def built_firmware(board):
    """Return the image of the management CPU that is built into the program `board`."""
    (init,) = board.parent.glob("*firmware*.init")
    words = [int(word, 16) for word in init.read_text().split()]
    return b"".join(word.to_bytes(4, "little") for word in words[: words[2] // 4])
