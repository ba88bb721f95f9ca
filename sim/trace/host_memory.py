# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Derives the contents of host memory when a trace began, from the card's reads and writes.

Promises: the contents, in pages, have every byte that the card read before it wrote that byte. All
other bytes are zero. A trace in which the host changed such a byte later is refused, since the time
of a host's own write to memory cannot be seen on the link.
"""

from __future__ import annotations

from collections.abc import Iterable

from sim.trace.pcapng import TraceError
from sim.trace.tlp import Read, Tlp, matched

PAGE = 4096


class Page:
    """A page of 4096 bytes of host memory.

    `initial` has its contents when the trace began, `now` those at the present TLP. `known` is 1
    for each byte that the card has read or written.
    """

    def __init__(self) -> None:
        self.initial, self.now, self.known = bytearray(PAGE), bytearray(PAGE), bytearray(PAGE)


class HostMemory:
    """Host memory as a trace of TLPs shows it: everything that the card read from it or wrote to
    it."""

    def __init__(self, tlps: Iterable[Tlp]):
        self.pages: dict[int, Page] = {}  # the pages of host memory by their bus address
        for tlp, read in matched(tlps):
            if tlp.interface == "RQ" and tlp.kind == "MWr":
                self._written(tlp)
            elif tlp.interface == "RC" and read is not None and tlp.kind == "CplD":
                self._read(tlp, read)

    def _pieces(self, address: int, data: bytes) -> Iterable[tuple[Page, int, bytes]]:
        """Yield the parts of the data that lie in one page: (page, offset in the page, bytes).

        A TLP that breaks a rule may cross pages.
        """
        while data:
            at = address % PAGE
            part, data = data[: PAGE - at], data[PAGE - at :]
            yield self.pages.setdefault(address - at, Page()), at, part
            address += len(part)

    def _written(self, tlp: Tlp) -> None:
        enabled = bytearray(b"\1" * len(tlp.payload))
        for i in range(4):
            enabled[i] = tlp.first_be >> i & 1
            if tlp.dwords > 1:
                enabled[i - 4] = tlp.last_be >> i & 1
        for page, at, part in self._pieces(tlp.address, tlp.payload):
            for i, byte in enumerate(part):
                if enabled[i]:
                    page.now[at + i] = byte
                    page.known[at + i] = 1
            enabled = enabled[len(part) :]

    def _read(self, tlp: Tlp, read: Read) -> None:
        before = sum(len(c.payload) for c in read.completions) - len(tlp.payload)
        address = read.request.address + before
        for page, at, part in self._pieces(address, tlp.payload):
            for i, byte in enumerate(part, at):
                if not page.known[i]:
                    page.initial[i] = page.now[i] = byte
                    page.known[i] = 1
            if page.now[at : at + len(part)] != part:
                raise TraceError(
                    f"at {tlp.ns} ns the card read other bytes at 0x{address:x} than were there: "
                    "the host rewrote its memory, and when it did is not in a trace of TLPs; "
                    "record a run that fills each buffer once"
                )

    def regions(self) -> Iterable[tuple[int, bytes]]:
        """Yield (bus address, contents before the trace) of each stretch of adjacent pages."""
        stretch: list[int] = []
        for address in [*sorted(self.pages), None]:
            if stretch and address != stretch[-1] + PAGE:
                yield stretch[0], b"".join(bytes(self.pages[each].initial) for each in stretch)
                stretch = []
            if address is not None:
                stretch.append(address)
