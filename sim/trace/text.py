# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Writes a trace in the form of the board's text log: time, interface, packet, latency."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TextIO

from sim.trace.tlp import Tlp, matched


def write(tlps: Iterable[Tlp], out: TextIO) -> None:
    """Write a line of text for each TLP of a trace."""
    for tlp, _ in matched(tlps):
        interface = "RQ" if tlp.interface == "MSI" else tlp.interface
        out.write(f"{tlp.ns:12.3f} ns {interface} {tlp}\n")
