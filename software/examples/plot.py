# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Draw 16-bit samples of the card's stream into a picture, a PNG.

The dwords of the card's pattern count up, so the picture of their lower 16 bits
is a sawtooth. The PNG is made here with zlib, so that no plotting library is
needed.
"""

import struct
import zlib

import numpy as np
from lanebox_host import Card

from example import options, run

WIDTH, HEIGHT = 1024, 256


def draw(samples: np.ndarray) -> np.ndarray:
    """Return a picture of the samples.

    Each column of the picture stands for several samples, and is drawn from
    their smallest to their largest value.
    """
    picture = np.full((HEIGHT, WIDTH), 255, np.uint8)
    rows = HEIGHT - 1 - samples.astype(np.int64) * HEIGHT // 65536
    for x, part in enumerate(np.array_split(rows, WIDTH)):
        picture[part.min() : part.max() + 1, x] = 40
    return picture


def png(picture: np.ndarray) -> bytes:
    """Return the bytes of a PNG file of `picture`, an array of 8-bit greys."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data))
            + kind
            + data
            + struct.pack(">I", zlib.crc32(kind + data))
        )

    # In a PNG each row of pixels begins with the number of its filter type; 0
    # means none.
    lines = np.insert(picture, 0, 0, axis=1).tobytes()
    head = struct.pack(">IIBBBBB", *picture.shape[::-1], 8, 0, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", head)
        + chunk(b"IDAT", zlib.compress(lines))
        + chunk(b"IEND", b"")
    )


def plot(args) -> None:
    with Card(args.device) as card:
        with card.receive(pattern=True, limit=96) as stream:
            parts = [buffer.view(np.uint32).copy() for buffer in stream]
    dwords = np.concatenate(parts)
    with open(args.file, "wb") as file:
        file.write(png(draw(dwords & 0xFFFF)))
    print(f"{len(dwords)} samples in {args.file}")


if __name__ == "__main__":
    parser = options(__doc__)
    parser.add_argument("file", metavar="FILE.png")
    run(plot, parser)
