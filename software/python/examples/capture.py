# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Capture buffers of the card's stream into a file: python capture.py DEVICE FILE [BUFFERS]

The card's own pattern stands in for data of yours: without `pattern=True` it is your logic's.
"""

import sys

from lanebox_host import Card


def main() -> int:
    device, path = sys.argv[1:3]
    buffers = int(sys.argv[3]) if len(sys.argv) > 3 else 256
    with Card(device) as card, open(path, "wb") as file:
        card.ring = (65536, 64)
        before = card.counters
        with card.receive(pattern=True, limit=buffers, batch=8) as stream:
            for buffer in stream:
                file.write(buffer)
        rate = (card.counters - before).rate("rq")
    print(f"{buffers} buffers of 64 KiB in {path}; the card sent {rate:.2f} GB/s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
