# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Send random data through the logic in the user slot, and compare.

Both directions run at once from one thread: the program fills the h2c buffers
that are free, and compares the c2h buffers that have come back with the data
that it has sent.
"""

import numpy as np
from lanebox_host import Card

from example import count, fail, options, run


def stream_through(args) -> None:
    with Card(args.device) as card:
        size, _ = card.ring
        rng = np.random.default_rng(1)
        source = rng.integers(0, 256, args.n << 20, np.uint8)
        source = source.reshape(-1, size)
        sent = compared = 0
        with card.loopback(inside=False, limit=len(source)) as stream:
            while compared < len(source):
                left = len(source) - sent
                ready = stream.free()[:left] if left else []
                for buffer in ready:
                    buffer[:] = source[sent]
                    sent += 1
                if ready:
                    stream.submit(len(ready))
                back = stream.take()
                for buffer in back:
                    if not np.array_equal(buffer, source[compared]):
                        fail(f"buffer {compared} came back wrong")
                    compared += 1
                stream.release(len(back))
    print(f"{args.n} MiB went through the user slot and came back the same")


if __name__ == "__main__":
    parser = options(__doc__)
    parser.add_argument(
        "-n",
        metavar="MIB",
        type=count,
        default=4,
        help="how much (%(default)s)",
    )
    run(stream_through, parser)
