# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Rows `model/STREAM/BYTES`: the rate that ideal user logic reaches on the model of the hard block.

Each rate is compared with its limit, which shows that the model is neither faster nor slower than
the link. The model computes the time on the wire from events, and the limit is a formula. The two
share no constant.
"""

from __future__ import annotations

from collections.abc import Iterator

from sim.board.ideal import build
from sim.rows import limits
from sim.rows.results import Row, row


def rows() -> Iterator[Row]:
    """Measure each stream of the hard block's model at each payload size, and yield its row."""
    for stream, by_size in build.rates().items():
        for size, found in by_size.items():
            yield row(
                f"model/{stream}/{size}",
                found["gb_per_s"],
                "GB/s",
                limit(stream, int(size), found["mps"]),
                violations=found["violations"],
                bytes=found["bytes"],
                cycles=found["cycles"],
                conditions={"endpoint": "ideal user", "mps": found["mps"]},
            )


def limit(stream: str, size: int, mps: int) -> limits.Limit:
    """Return the limit of one stream for TLPs of `size` bytes.

    For RC the number of reads in flight is taken not to limit the rate.
    """
    return {
        "rq": lambda: limits.c2h(size, mps),
        "rc": lambda: limits.h2c(size, mps, tags=0, mrrs=0, rtt_ns=0),
        "rc_straddle": lambda: limits.h2c(size, mps, tags=0, mrrs=0, rtt_ns=0, straddle=True),
        "cc": lambda: limits.cc(size, mps),
        "cq": lambda: limits.mmio_write(size, mps),
    }[stream]()
