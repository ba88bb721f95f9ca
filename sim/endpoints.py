# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The PCIe endpoints that gateware can be built with, and the facts that a measurement needs."""

from __future__ import annotations

from dataclasses import dataclass

from lanebox import layouts


@dataclass(frozen=True)
class Endpoint:
    """One endpoint. `prefix` begins the ids of its rows; `rules` is its board's --rules option."""

    name: str
    prefix: str
    tags: int  # reads in flight
    straddle: bool  # two read completions may share a beat on RC
    rules: str


ENDPOINTS = {
    entry.name: entry
    for entry in (
        Endpoint("lanebox", "", tags=layouts.READ_TAGS, straddle=True, rules="fatal"),
        # The stock endpoint breaks some rules.
        Endpoint("litepcie", "stock/", tags=layouts.STOCK_READ_TAGS, straddle=False, rules="warn"),
    )
}
DEFAULT = "lanebox"
