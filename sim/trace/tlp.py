# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Decodes TLPs from their bytes on the wire, and matches the reads of a trace with completions.

Promises: fields are decoded by PCI Express Base Specification 2.2, and kinds are named as in the
board's text log. Prefixes, digests and the fields of messages are not decoded.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from sim.trace import pcapng

MEM_READ, MEM_WRITE, COMPLETION = {0x00, 0x20}, {0x40, 0x60}, {0x0A, 0x4A}
FOUR_DWORDS, WITH_DATA, MESSAGE = 0x20, 0x40, 0x30
# The side, card or host, that makes the requests whose TLPs pass on each interface.
SIDES = {"CQ": "host", "CC": "host", "RQ": "card", "RC": "card", "MSI": "card"}


@dataclass(frozen=True)
class Tlp:
    """A TLP of a trace. Fields that its kind of TLP does not have are 0."""

    ns: int
    # The interface of the hard block on which the TLP passed: CQ, CC, RQ, RC or MSI.
    interface: str
    kind: str  # kind of TLP: MRd, MWr, Cpl, CplD or other
    dwords: int
    tag: int
    requester: int
    address: int = 0  # byte address of a request; the lower address of a completion
    first_be: int = 0
    last_be: int = 0
    completer: int = 0
    status: int = 0
    byte_count: int = 0
    poisoned: bool = False
    payload: bytes = b""
    # The ns since the request. Only a completion whose request is known has a latency.
    latency: int | None = None
    # Time in ns from the appearance of the TLP's first beat to the end of its last one. None: it
    # was no longer than the beats take.
    span: int | None = None

    @property
    def side(self) -> str:
        """Return the side that made this request, or whose request this completion answers."""
        return SIDES[self.interface]

    @property
    def is_completion(self) -> bool:
        """Return whether this TLP is a completion."""
        return self.kind.startswith("Cpl")

    def __str__(self) -> str:
        """Return the TLP in the form of the board's text log."""
        span = "" if self.span is None else f" pins {self.span:.3f} ns"
        if self.is_completion:
            latency = "" if self.latency is None else f" latency {self.latency:.3f} ns"
            return (
                f"{self.kind} low 0x{self.address:03x} {self.dwords} dw bc {self.byte_count} "
                f"tag {self.tag} status {self.status}{latency}{span}"
            )
        msi = "MSI " if self.interface == "MSI" else ""
        return (
            f"{msi}{self.kind} 0x{self.address:x} {self.dwords} dw "
            f"be {self.first_be:x}/{self.last_be:x} tag {self.tag}{span}"
        )


def decode(interface: str, ns: int, data: bytes, span: int | None = None) -> Tlp:
    """Return the TLP of one packet of a trace.

    `data` is the TLP's header and payload. Raises TraceError if `data` is shorter than a header.
    """
    dwords = struct.unpack_from(f">{min(len(data) // 4, 4)}I", data)
    if len(dwords) < 3 or len(dwords) < 3 + bool(data[0] & FOUR_DWORDS):
        raise pcapng.TraceError(f"a packet on {interface} at {ns} ns is shorter than a header")
    kind, length = data[0], dwords[0] & 0x3FF
    if not length and (kind & WITH_DATA or not (kind in COMPLETION or kind & 0x38 == MESSAGE)):
        length = 1024
    common = {"ns": ns, "interface": interface, "dwords": length, "span": span}
    common["poisoned"] = bool(dwords[0] & 1 << 14)
    if kind in COMPLETION:
        return Tlp(
            kind="CplD" if kind & WITH_DATA else "Cpl",
            tag=dwords[2] >> 8 & 0xFF,
            requester=dwords[2] >> 16,
            completer=dwords[1] >> 16,
            status=dwords[1] >> 13 & 7,
            byte_count=(dwords[1] & 0xFFF) or 4096,
            address=dwords[2] & 0x7F,
            payload=data[12:],
            **common,
        )
    four = bool(kind & FOUR_DWORDS)
    return Tlp(
        kind="MRd" if kind in MEM_READ else "MWr" if kind in MEM_WRITE else "other",
        tag=dwords[1] >> 8 & 0xFF,
        requester=dwords[1] >> 16,
        last_be=dwords[1] >> 4 & 0xF,
        first_be=dwords[1] & 0xF,
        address=(dwords[2] << 32 | dwords[3] if four else dwords[2]) & ~3,
        payload=data[16 if four else 12 :],
        **common,
    )


@dataclass
class Read:
    """A read and its completions, in order. `done` is set when the last completion has come."""

    request: Tlp
    completions: list[Tlp] = field(default_factory=list)
    done: bool = False


def matched(tlps: Iterable[Tlp]) -> Iterator[tuple[Tlp, Read | None]]:
    """Yield every TLP with the read that it requests or answers, or with None.

    Completions get their latency. If a tag is used again before its read has ended, that read stays
    unfinished.
    """
    open_reads: dict[tuple[str, int], Read] = {}
    for tlp in tlps:
        key = tlp.side, tlp.tag
        if tlp.kind == "MRd":
            read = open_reads[key] = Read(tlp)
            yield tlp, read
        elif tlp.is_completion and key in open_reads:
            read = open_reads[key]
            tlp = replace(tlp, latency=tlp.ns - read.request.ns)
            read.completions.append(tlp)
            read.done = bool(tlp.status) or tlp.byte_count <= 4 * tlp.dwords - tlp.address % 4
            if read.done:
                del open_reads[key]
            yield tlp, read
        else:
            yield tlp, None


def load(path: Path) -> Iterator[Tlp]:
    """Yield the TLPs of a trace, in the order in which they passed the pins."""
    for packet in pcapng.packets(path):
        yield decode(*packet)
