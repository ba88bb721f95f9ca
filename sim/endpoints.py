# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The PCIe endpoints that gateware can be built with, and the facts that a measurement needs."""

from __future__ import annotations

from dataclasses import dataclass

from gateware import numbers


@dataclass(frozen=True)
class Endpoint:
    """A PCIe endpoint.

    `prefix` begins the ids of its rows; `rules` is its board's --rules option.
    """

    name: str
    prefix: str
    tags: int  # the number of reads that may be in flight
    straddle: bool  # two read completions may share a beat on RC
    rules: str


ENDPOINTS = {
    entry.name: entry
    for entry in (
        Endpoint("lanebox", "", tags=numbers.READ_TAGS, straddle=True, rules="fatal"),
        # The stock endpoint breaks some rules, so its board only warns.
        Endpoint("litepcie", "stock/", tags=numbers.STOCK_READ_TAGS, straddle=False, rules="warn"),
    )
}
DEFAULT = "lanebox"
