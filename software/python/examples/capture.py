# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Capture buffers of the card's stream into a file: python capture.py DEVICE FILE [BUFFERS]

The card's own pattern stands in for data of yours: without `pattern=True` it is your logic's.
"""

import argparse
import sys

from lanebox_host import Card


def capture(device: str, path: str, buffers: int) -> None:
    with Card(device) as card, open(path, "wb") as file:
        card.ring = (65536, 64)
        before = card.counters
        with card.receive(pattern=True, limit=buffers, batch=8) as stream:
            for buffer in stream:
                file.write(buffer)
        rate = (card.counters - before).rate("rq")
    print(f"{buffers} buffers of 64 KiB in {path}; the card sent {rate:.2f} GB/s")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition(":")[0])
    parser.add_argument("device", help="as for litepcie_util -d")
    parser.add_argument("file", help="to be written")
    parser.add_argument("buffers", nargs="?", type=int, default=256, help="of 64 KiB (256)")
    args = parser.parse_args()
    try:
        capture(args.device, args.file, args.buffers)
    except OSError as error:  # the card's errors are such, each with its sentence
        sys.exit(f"capture: {error}")
