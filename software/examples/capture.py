# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Capture the card's stream into a file, without a copy.

The file is opened with O_DIRECT, so the disk reads the buffers from the memory
to which the card has written them. The data is the card's own pattern. Without
`pattern=True` the data is that of the logic in the user slot.
"""

import os

from lanebox_host import Card

from example import count, options, run

BUFFER = 256 << 10


def direct(path: str):
    """Open a file for writing, such that its data bypasses the page cache."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_DIRECT
    return os.fdopen(os.open(path, flags, 0o666), "wb", 0)


def write_all(file, data: memoryview) -> None:
    """Write all data to the file.

    If the disk is almost full, one write takes only a part of the data, and the
    next write fails.
    """
    while data:
        data = data[file.write(data) :]


def capture(args) -> None:
    limit = (args.n << 20) // BUFFER
    with Card(args.device) as card, direct(args.file) as file:
        card.ring = (BUFFER, 16)
        with card.receive(pattern=True, limit=limit) as stream:
            for buffer in stream:
                write_all(file, buffer.data)
        os.fsync(file)
    print(f"{args.n} MiB in {args.file}")


if __name__ == "__main__":
    parser = options(__doc__)
    parser.add_argument(
        "-n",
        metavar="MIB",
        type=count,
        default=64,
        help="how much (%(default)s)",
    )
    parser.add_argument("file", metavar="FILE")
    run(capture, parser)
