# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Send random data through the logic in the user slot and compare: python stream.py DEVICE [MIB]

Two directions at once from one thread: what is free is filled, what came back is compared.
"""

import argparse
import sys

import numpy as np
from lanebox_host import Card


def stream_through(device: str, mib: int) -> None:
    with Card(device) as card:
        size, _ = card.ring
        source = np.random.default_rng(1).integers(0, 256, mib << 20, np.uint8).reshape(-1, size)
        sent = compared = 0
        with card.loopback(inside=False, limit=len(source)) as stream:
            while compared < len(source):
                ready = stream.free()[: len(source) - sent] if sent < len(source) else []
                for buffer in ready:
                    buffer[:] = source[sent]
                    sent += 1
                if ready:
                    stream.submit(len(ready))
                back = stream.take()
                for buffer in back:
                    if not np.array_equal(buffer, source[compared]):
                        sys.exit(f"stream: buffer {compared} came back wrong")
                    compared += 1
                stream.release(len(back))
    print(f"{mib} MiB went through the user slot and came back the same")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition(":")[0])
    parser.add_argument("device", help="as for litepcie_util -d")
    parser.add_argument("mib", nargs="?", type=int, default=4, help="MiB to send (4)")
    args = parser.parse_args()
    try:
        stream_through(args.device, args.mib)
    except OSError as error:
        sys.exit(f"stream: {error}")
