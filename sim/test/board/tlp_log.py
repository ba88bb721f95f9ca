# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Reads the board's log of TLPs (option --tlp-log) and gives each TLP as an object.

The time of a TLP is the time of its last beat on RQ and CC, and of its first beat on CQ and RC.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

LINE = re.compile(
    r"\s*(?P<ns>[\d.]+) ns (?P<interface>CQ|CC|RQ|RC) (?P<rest>.*?)(?: pins (?P<span>[\d.]+) ns)?"
)
REQUEST = re.compile(
    r"(?P<msi>MSI )?(?P<kind>MRd|MWr|other) 0x(?P<address>[0-9a-f]+) (?P<dwords>\d+) dw "
    r"be (?P<first_be>[0-9a-f])/(?P<last_be>[0-9a-f]) tag (?P<tag>\d+)"
)
COMPLETION = re.compile(
    r"(?P<kind>CplD?) low 0x(?P<address>[0-9a-f]+) (?P<dwords>\d+) dw "
    r"bc (?P<byte_count>\d+) tag (?P<tag>\d+) status (?P<status>\d+)"
    r"(?: latency (?P<latency>[\d.]+) ns)?"
)


@dataclass(frozen=True)
class Tlp:
    ns: float
    interface: str  # stream of the hard block on which the TLP passed: CQ, CC, RQ or RC
    kind: str  # type of the TLP: MRd, MWr, MSI, Cpl, CplD or other
    address: int  # bus address; for a completion only the low bits that a completion carries
    dwords: int
    tag: int
    first_be: int = 0
    last_be: int = 0
    byte_count: int = 0
    status: int = 0
    # ns from a completion's request to the completion; None for any other TLP
    latency: float | None = None
    # ns from the TLP's first to its last beat; None if no stall lengthened that time
    span: float | None = None

    @property
    def enables(self):
        return self.first_be, self.last_be


def parse(line):
    head = LINE.fullmatch(line)
    assert head, f"no line of a TLP log: {line!r}"
    found = REQUEST.fullmatch(head["rest"]) or COMPLETION.fullmatch(head["rest"])
    assert found, f"no TLP: {line!r}"
    fields = found.groupdict()
    numbers = {
        name: int(fields[name], 16 if name in ("address", "first_be", "last_be") else 10)
        for name in fields
        if name not in ("kind", "msi", "latency")
    }
    kind = "MSI" if fields.get("msi") else fields["kind"]
    latency = float(fields["latency"]) if fields.get("latency") else None
    return Tlp(
        float(head["ns"]),
        head["interface"],
        kind,
        **numbers,
        latency=latency,
        span=float(head["span"]) if head["span"] else None,
    )


class TlpLog:
    """Holds the TLPs of one run of the board, in the order in which they passed the hard block's
    pins."""

    def __init__(self, path: Path):
        self.tlps = [parse(line) for line in path.read_text().splitlines()]

    def on(self, interface, kind=None):
        """Return the TLPs on one interface (CQ, CC, RQ or RC). With `kind` return only those of
        that kind."""
        return [t for t in self.tlps if t.interface == interface and kind in (None, t.kind)]
