# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Ask the logic in the user slot 64 bytes at a time, and time it: python request.py DEVICE [COUNT]

The default gateware's logic answers with the request. Time is this machine's, software included: on
a simulated board it says nothing of a card.
"""

import argparse
import secrets
import sys
import time

import numpy as np
from lanebox_host import Card


def ask(device: str, count: int) -> None:
    took = []
    with Card(device) as card, card.loopback(
        inside=False, packets=True, interrupt_every=1
    ) as stream:
        for number in range(count):
            request, began = secrets.token_bytes(64), time.perf_counter()
            if stream.ask(request) != request:
                sys.exit(f"request: answer {number} is another one")
            took.append(time.perf_counter() - began)
    median, late = np.percentile(took, (50, 99)) * 1e6
    print(f"{count} answers, all right: {median:.0f} us in the median, 99 % within {late:.0f} us")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition(":")[0])
    parser.add_argument("device", help="as for litepcie_util -d")
    parser.add_argument("count", nargs="?", type=int, default=1000, help="requests (1000)")
    args = parser.parse_args()
    try:
        ask(args.device, args.count)
    except OSError as error:  # the card's errors are such, each with its sentence
        sys.exit(f"request: {error}")
