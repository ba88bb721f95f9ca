# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""A trace as the board's own text: time, interface, packet, for completions their latency."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TextIO

from sim.trace.tlp import Tlp, matched


def write(tlps: Iterable[Tlp], out: TextIO) -> None:
    """A line for each TLP."""
    for tlp, _ in matched(tlps):
        interface = "RQ" if tlp.interface == "MSI" else tlp.interface
        out.write(f"{tlp.ns:12.3f} ns {interface} {tlp}\n")
