# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Send packets of 64 bytes, compare and time the answers.

The logic of the default gateware answers with the request itself. The time is
measured on the host, software included. On a simulated card it says nothing
about a real card.
"""

import os
import time

from lanebox_host import Card

from example import count, fail, options, run

SIZE = 64


def ask(args) -> None:
    us = []
    with (
        Card(args.device) as card,
        card.loopback(inside=False, packets=True, interrupt_every=1) as stream,
    ):
        for number in range(args.n):
            request, began = os.urandom(SIZE), time.perf_counter()
            if stream.ask(request) != request:
                fail(f"answer {number} is another one")
            us.append(1e6 * (time.perf_counter() - began))
    us.sort()
    p50, p99, most = (us[(args.n - 1) * part // 100] for part in (50, 99, 100))
    print(
        f"{args.n} answers, all right: "
        f"p50 {p50:.1f} us, p99 {p99:.1f} us, max {most:.1f} us"
    )


if __name__ == "__main__":
    parser = options(__doc__)
    parser.add_argument(
        "-n",
        metavar="COUNT",
        type=count,
        default=1000,
        help="how many (%(default)s)",
    )
    run(ask, parser)
