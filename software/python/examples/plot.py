# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Draw 16-bit samples of the card's stream into a picture: python plot.py DEVICE FILE.png

The pattern's dwords count up, so the picture of its lower halves is a sawtooth. PNG needs no more
than zlib; what you plot with may as well be Matplotlib.
"""

import argparse
import struct
import sys
import zlib

import numpy as np
from lanebox_host import Card

WIDTH, HEIGHT = 1024, 256


def draw(samples: np.ndarray) -> np.ndarray:
    """One column for each stretch of samples, dark from its least to its largest."""
    picture = np.full((HEIGHT, WIDTH), 255, np.uint8)
    for x, part in enumerate(np.array_split(samples.astype(np.int64), WIDTH)):
        low, high = (HEIGHT - 1 - part[[part.argmin(), part.argmax()]] * HEIGHT // 65536).tolist()
        picture[high : low + 1, x] = 40
    return picture


def png(picture: np.ndarray) -> bytes:
    """An 8-bit greyscale PNG."""
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(
            ">I", zlib.crc32(kind + data))  # fmt: skip

    lines = np.insert(picture, 0, 0, axis=1).tobytes()  # each begins with "no filter"
    head = struct.pack(">IIBBBBB", picture.shape[1], picture.shape[0], 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(
        b"IDAT", zlib.compress(lines)) + chunk(b"IEND", b"")  # fmt: skip


def plot(device: str, path: str) -> None:
    with Card(device) as card, card.receive(pattern=True, limit=96) as stream:
        dwords = np.concatenate([buffer.view(np.uint32).copy() for buffer in stream])
    with open(path, "wb") as file:
        file.write(png(draw(dwords & 0xFFFF)))
    print(f"{len(dwords)} samples in {path}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition(":")[0])
    parser.add_argument("device", help="as for litepcie_util -d")
    parser.add_argument("file", help="of the picture, a PNG")
    args = parser.parse_args()
    try:
        plot(args.device, args.file)
    except OSError as error:
        sys.exit(f"plot: {error}")
