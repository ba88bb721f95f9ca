# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Sorts measured times into the bins of a histogram."""

from __future__ import annotations

from gateware.numbers import TICK_NS as CYCLE_NS

BINS = 24

Bin = tuple[float, float, int]  # A bin of a histogram: (from, to, count), with times in ns.


def binned(times: list[int]) -> list[Bin]:
    """Sort times in ns into at most BINS + 1 bins of equal width, and return the bins.

    The width is a whole number of clock cycles of 4 ns.
    """
    low, high = min(times), max(times)
    cycles = max(1, -(-(high - low + CYCLE_NS) // (BINS * CYCLE_NS)))
    width = cycles * CYCLE_NS
    counts = [0] * ((high - low) // width + 1)
    for time in times:
        counts[(time - low) // width] += 1
    return [(low + i * width, low + (i + 1) * width, count) for i, count in enumerate(counts)]
