# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Draws captured frames: records in GB/s and frames in millions a second against the frame's size,
over the limits of link, pins and record builder, and a table with what became of all frames."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from html import escape

from sim.report.svg import Axis, Plot, linear, number, powers
from sim.report.throughput import SHAPES, legend, note
from sim.rows import limits

SIZES = (64, 128, 256, 512, 1024, 1518)
FINE = range(64, 1519, 2)
# The styles of the measured points by MPS, and the curves of the limits that are drawn.
MARKS = {256: "ours", 128: "stock", 512: "ideal"}
CURVES = {256: "wire", 128: "interface"}
RATE = re.compile(r"capture/c2h/(\d+)(?:/mps(\d+))?")
LOSS = re.compile(r"capture/(line|stall|both)/.*")
FATES = {
    "delivered": "delivered",
    "bad": "bad",
    "lost_ring": "lost: ring full",
    "lost_staging": "lost: staging full",
}


def section(rows: list[dict]) -> str:
    """Return HTML with both figures and the table of losses. Returns "" if no row has a value."""
    rates = [(match, row) for row in rows if row["value"] and (match := RATE.fullmatch(row["id"]))]
    losses = [row for row in rows if row["value"] is not None and LOSS.fullmatch(row["id"])]
    figures = ""
    if rates:
        points = [(int(m.group(1)), int(m.group(2) or 256), row) for m, row in rates]
        figures = (
            '<div class="figures">'
            + _figure("Records into the ring", linear("GB/s", 8), points, lambda size: 1.0)
            + _figure("Frames into the ring", linear("M frames/s", 80), points, _million)
            + "</div>"
        )
    return figures + (_accounts(losses) if losses else "")


def _million(size: float) -> float:
    """Return by what number a rate of records in GB/s must be multiplied to get millions of frames
    a second. The frames have `size` bytes."""
    return 1e3 / limits.capture_record(int(size))


def _figure(
    title: str,
    y: Axis,
    points: Iterable[tuple[int, int, dict]],
    scale: Callable[[float], float],
) -> str:
    """Return HTML with one figure of captured frames over their size: a curve of the limit for each
    MPS, and a mark for each row.

    `points` are (bytes of a frame, MPS, row). A row's value in GB/s is multiplied by scale(bytes of
    a frame).
    """
    plot = Plot(title, powers("bytes of a frame", SIZES), y)
    for mps, style in CURVES.items():
        curve = [(size, limits.capture(size, mps).value * scale(size)) for size in FINE]
        plot.line([(size, min(value, y.high)) for size, value in curve], style)
    for size, mps, row in points:
        style = MARKS[mps]
        plot.mark(size, row["value"] * scale(size), style, SHAPES[style], note(row))
    curves = [(style, f"limit at MPS {mps}") for mps, style in CURVES.items()]
    keys = legend(curves, [(style, f"MPS {mps}") for mps, style in MARKS.items()])
    words = ", ".join(
        f"{number(size)}: <b>{row['value'] * scale(size):.2f}</b>"
        for size, mps, row in points
        if mps == 256
    )
    return (
        f'<figure><figcaption><b>{escape(title)}</b> <span class="quiet">pcapng, from the card\'s '
        f"generator</span></figcaption>{plot.render()}{keys}"
        f'<p class="points">{words} {escape(y.label)} at MPS 256</p></figure>'
    )


def _accounts(rows: list[dict]) -> str:
    """Return a table with what became of the frames of each row, by the card's own accounts.

    The last column says whether the fates together are all frames.
    """
    head = ["", "frames", "device ms", "M frames/s", *FATES.values(), "all"]
    lines = []
    for row in rows:
        found = row["conditions"]
        fates = [found.get(fate, 0) for fate in FATES]
        cells = [
            number(found["frames"]),
            f"{found['device_ms']:.2f}",
            f"{found['mpps']:.1f}",
            *map(number, fates),
            "=" if sum(fates) == found["frames"] else "&ne;",
        ]
        body = "".join(f'<td class="number">{cell}</td>' for cell in cells)
        lines.append(f'<tr><th scope="row"><code>{escape(row["id"])}</code></th>{body}</tr>')
    titles = "".join(f'<th scope="col" class="number">{escape(title)}</th>' for title in head)
    return (
        '<p>Frames at the line rate of four ports of 10G, and what became of each.</p><div class="'
        f'scroll"><table><thead><tr>{titles}</tr></thead><tbody>{"".join(lines)}</tbody></table>'
        "</div>"
    )
