# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Lists the PCIe endpoints that gateware can be built with, and what a measurement must know."""

from __future__ import annotations

from dataclasses import dataclass

from gateware import numbers


@dataclass(frozen=True)
class Endpoint:
    """Facts about one PCIe endpoint that the benchmarks need.

    `prefix` stands before the ids of its rows in the table of results. `rules` is the value of the
    board's option --rules with this endpoint.
    """

    name: str
    prefix: str
    tags: int  # the most reads that the endpoint may have in flight
    straddle: bool  # With straddle, two read completions may share a beat on RC.
    rules: str


ENDPOINTS = {
    entry.name: entry
    for entry in (
        Endpoint("lanebox", "", tags=numbers.READ_TAGS, straddle=True, rules="fatal"),
        # LitePCIe's endpoint breaks some rules of the hard block, so its board only warns of them.
        Endpoint("litepcie", "stock/", tags=numbers.STOCK_READ_TAGS, straddle=False, rules="warn"),
    )
}
DEFAULT = "lanebox"
