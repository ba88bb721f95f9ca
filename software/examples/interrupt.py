# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Wait for the interrupts of the logic in the user slot.

The logic raises interrupts by its signal `irq`. SlowMemoryOnAxi, of the module
gateware.user.axi_memory, raises one for each write to its memory. With such a
card and -w 2:0x100000 this program makes one such write before each wait.
"""

from lanebox_host import Card

from example import count, options, run


def place(text: str) -> tuple[int, int]:
    bar, offset = text.split(":")
    return int(bar), int(offset, 0)


def wait(args) -> None:
    with Card(args.device) as card:
        card.enable_user()
        for number in range(1, args.n + 1):
            if args.w:
                bar, offset = args.w
                card.write(offset, b"\1\0\0\0", bar)
            card.wait_user(args.t)
            print(f"interrupt {number}", flush=True)


if __name__ == "__main__":
    parser = options(__doc__)
    parser.add_argument(
        "-n",
        metavar="COUNT",
        type=count,
        default=1,
        help="how many (%(default)s)",
    )
    parser.add_argument(
        "-t",
        metavar="SECONDS",
        type=count,
        default=10,
        help="the longest wait for one (%(default)s)",
    )
    parser.add_argument(
        "-w",
        metavar="BAR:OFFSET",
        type=place,
        help="write there before each wait",
    )
    run(wait, parser)
