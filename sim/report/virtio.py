# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Draws seed 002's tables: what a message through a virtio device takes, with the figures of the
paper beside it (Bandara et al., "Performance Evaluation of VirtIO Device Drivers for Host-FPGA PCIe
Communication", Table I)."""

from __future__ import annotations

import re
from html import escape

# The titles of the tables, by the beginning of their rows' ids. The paper's device is a net device.
TITLES = {
    "virtio/net": "Payload of a UDP datagram through the net device",
    "virtio/echo": "Message through the console",
}
SHARES = ("95", "99", "99.9")
# Round trips in us in Table I of Bandara et al., by payload bytes. Each has a pair (virtio, XDMA)
# for the percentiles 95, 99 and 99.9.
PAPER = {
    64: ((35.1, 51.3), (44.8, 70.1), (66.5, 85.8)),
    128: ((33.6, 51.4), (48.1, 60.0), (88.4, 88.2)),
    256: ((39.6, 51.5), (53.8, 57.5), (75.1, 70.6)),
    512: ((44.1, 59.1), (57.4, 64.5), (82.1, 87.5)),
    1024: ((57.8, 72.8), (65.9, 76.7), (99.6, 97.3)),
}
DIFFERS = (
    "`here` is the card's part alone, by its own clock: from the doorbell at its pins to its "
    "interrupt message. No program, system call or driver is in it. The host is simulated: its "
    "reads take 400 to 800 ns, and one in a hundred 5 us more. Behind each device is an echo in "
    "the card. The paper's figures are round trips of a program in user space through its "
    "kernel, by the clock of the host: an Artix-7 at Gen2 x2, Fedora 37, virtio_net. The columns "
    "stand beside each other, and their quotient says nothing."
)


def lines(rows: list[dict], begin: str) -> list[list[str]]:
    """Return the cells of a table in us, a list for each row `BEGIN/SIZE` with a value.

    The cells are the size, the median measured here, and for each percentile of SHARES three
    values: measured here, and of the paper for virtio and for XDMA.
    """
    found = []
    for row in rows:
        match = re.fullmatch(rf"{begin}/(\d+)", row["id"])
        if not match or row["value"] is None or int(match.group(1)) not in PAPER:
            continue
        ns = row["conditions"]["ns"]
        cells = [match.group(1), f"{ns['p50'] / 1e3:.2f}"]
        for share, paper in zip(SHARES, PAPER[int(match.group(1))]):
            cells += [f"{ns[f'p{share}'] / 1e3:.2f}", *(f"{value:.1f}" for value in paper)]
        found.append(cells)
    return sorted(found, key=lambda cells: int(cells[0]))


def text(rows: list[dict]) -> str:
    """Return the tables of echoes for a terminal: for each message size the percentiles in us
    measured here, beside those of the paper."""
    first = "".join(f"{f'p{share}':<22}" for share in SHARES)
    head = [f"{'':5}  {'p50':>5}  {first}".rstrip()]
    head.append(f"{'bytes':5}  {'here':>5}" + f"  {'here':>5} {'virtio':>6} {'XDMA':>6}" * 3)
    widths = (5, 7, *(7, 7, 7) * 3)
    tables = [
        [title, *head, *("".join(c.rjust(w) for c, w in zip(cells, widths)) for cells in found)]
        for title, found in _tables(rows)
    ]
    return "\n\n".join("\n".join(table) for table in tables)


def section(rows: list[dict]) -> str:
    """Return HTML with the tables and what differs. Returns "" if no row has a value."""
    tables = _tables(rows)
    if not tables:
        return ""
    names = [f"{share} % {who}" for share in SHARES for who in ("here", "virtio", "XDMA")]
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in ["bytes", "median", *names])
    drawn = "".join(
        f'<div class="scroll"><table><caption>{escape(title)}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{_body(found)}</tbody></table></div>"
        for title, found in tables
    )
    return f'{drawn}<p class="quiet">All in us. {escape(DIFFERS)}</p>'


def _tables(rows: list[dict]) -> list[tuple[str, list[list[str]]]]:
    """Return the title and the cells of each table that has any."""
    tables = [(title, lines(rows, begin)) for begin, title in TITLES.items()]
    return [(title, found) for title, found in tables if found]


def _body(found: list[list[str]]) -> str:
    return "".join(
        "<tr>" + "".join(f'<td class="number">{cell}</td>' for cell in cells) + "</tr>"
        for cells in found
    )
