# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Send random data through the logic in the user slot and compare: python stream.py DEVICE [MIB]

Two directions at once from one thread: what is free is filled, what came back is compared.
"""

import sys

import numpy as np
from lanebox_host import Card


def main() -> int:
    device, mib = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 4
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
                        print(f"buffer {compared} came back wrong", file=sys.stderr)
                        return 1
                    compared += 1
                stream.release(len(back))
    print(f"{mib} MiB went through the user slot and came back the same")
    return 0


if __name__ == "__main__":
    sys.exit(main())
