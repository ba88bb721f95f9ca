#!/usr/bin/env python3
# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Client of the sensor: captures its frames, checks each sample in place, and can write a file.

Exit status 0: all was right, 1: something failed, 2: usage.
"""

import argparse
import os
import sys
from pathlib import Path

import numpy as np
from lanebox_host import Block, Card, LaneboxError

FRAMES = 500
SAMPLES = 20
STEP = 97
USER0 = 147  # link type of the frames: LINKTYPE_USER0, the first for private use
WAIT = 10.0  # seconds that the card may take for a frame

FRAME = np.dtype([("number", "<u4"), ("samples", "<u2", SAMPLES)])


def check(block: Block, number: int) -> int:
    """Compare the frames of a block of the capture with the sawtooth, from frame `number` on.

    Returns the number of the frame after the block. Ends the program at the first wrong frame.
    """
    for frame in block:
        (found,) = frame.view(FRAME)
        wanted = (np.arange(SAMPLES) + number * SAMPLES) * STEP % (1 << 16)
        if found["number"] != number or (found["samples"] != wanted).any():
            sys.exit(f"client: frame {number} is {found}, its samples should be {wanted}")
        number += 1
    return number


def run(device: str, csr: str, file: Path) -> None:
    """Capture frames of the sensor from the card `device` and check them, until FRAMES have come.

    The frames are also written to `file`. `csr` is the path of the build's csr.json.
    """
    with Card(device) as card, file.open("wb") as out:
        card.registers.load(csr)
        number = 0
        with card.capture(ring=1 << 20, link=USER0, timeout=WAIT) as capture:
            out.write(capture.header)
            card.registers["user_run"] = 1
            for block in capture:
                out.write(block.data)
                number = check(block, number)
                if number >= FRAMES:
                    card.registers["user_run"] = 0
                    capture.stop()
        missed = card.registers["user_missed"]
    print(f"{number} frames of {SAMPLES} samples right, {missed} missed")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-d", "--device", default="/dev/litepcie0",
        help="the card: /dev/litepcieN, vfio:ADDRESS or sim:SOCKET")
    parser.add_argument("-c", "--csr", default=os.environ.get("LANEBOX_CSR", "csr.json"),
        help="csr.json of the card's build, which has the names of its registers")
    parser.add_argument("file", nargs="?", type=Path, default=Path(os.devnull),
        help="the recording to write; without a name the frames are only checked")
    args = parser.parse_args()
    try:
        run(args.device, args.csr, args.file)
    except LaneboxError as error:
        sys.exit(f"client: {error}")
