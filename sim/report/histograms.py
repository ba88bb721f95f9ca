# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Latency histograms: those that rows carry, and how long the card's reads took in a trace."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from sim.report.svg import Axis, Plot, linear
from sim.trace.tlp import Tlp, matched

BINS = 24
CYCLE_NS = 4  # what the card's clock can tell apart
# Rows of time that are worth a picture, and what they are called.
ROWS = {
    "mmio_read/4": "The host reads a register, 4 B",
    "mmio_read/8": "The host reads a register, 8 B",
    "latency/interrupt/64": "Doorbell to interrupt, 64 B there and back",
    "latency/interrupt/4096": "Doorbell to interrupt, 4096 B there and back",
    "latency/dma/64": "DMA there and back, 64 B",
    "latency/dma/4096": "DMA there and back, 4096 B",
}

Bin = tuple[float, float, int]  # from, to, count


def read_times(tlps: Iterable[Tlp]) -> list[int]:
    """ns from each of the card's read requests to its first completion."""
    return [
        tlp.latency or 0
        for tlp, read in matched(tlps)
        if read is not None and tlp.interface == "RC" and tlp is read.completions[0]
    ]


def binned(times: list[int]) -> list[Bin]:
    """Equal bins of whole clock cycles over all values."""
    low, high = min(times), max(times)
    cycles = max(1, -(-(high - low + CYCLE_NS) // (BINS * CYCLE_NS)))
    width = cycles * CYCLE_NS
    counts = [0] * ((high - low) // width + 1)
    for time in times:
        counts[(time - low) // width] += 1
    return [(low + i * width, low + (i + 1) * width, count) for i, count in enumerate(counts)]


def draw(title: str, text: str, bins: list[Bin], marks: list[tuple[str, str, float]]) -> str:
    """One figure; `marks` are (style, name, ns), drawn as upright lines."""
    bins = [widened(entry) for entry in bins]
    low = min([bins[0][0], *(x for _, _, x in marks)])
    high = max([bins[-1][1], *(x for _, _, x in marks)])
    pad = max((high - low) * 0.04, 4)
    total = sum(count for _, _, count in bins)
    x = _ns_axis(low - pad, high + pad)
    plot = Plot(title, x, linear("% of accesses", max(c for _, _, c in bins) / total * 100))
    for start, end, count in bins:
        if count:
            share = count / total * 100
            plot.bar(start, end, share, "ours", f"{start:g} to {end:g} ns: {count} ({share:.1f} %)")
    for style, name, at in marks:
        plot.upright(at, style, f"{name}: {at:.0f} ns")
    key = "".join(
        f'<li><svg viewBox="0 0 22 12" class="key"><line class="line {style}" x1="1" x2="21" '
        f'y1="6" y2="6"/></svg>{escape(name)} <b>{at:,.0f} ns</b></li>'
        for style, name, at in marks
    )
    return (
        f'<figure><figcaption><b>{escape(title)}</b> <span class="quiet">{escape(text)}</span>'
        f'</figcaption>{plot.render()}<ul class="legend">{key}</ul></figure>'
    )


def widened(entry: Bin) -> Bin:
    """A bin that all values share has no width of its own: it gets a clock cycle."""
    low, high, count = entry
    return (low, high, count) if high > low else (low - CYCLE_NS / 2, low + CYCLE_NS / 2, count)


def _ns_axis(low: float, high: float) -> Axis:
    """Not from zero: what differs is at the far end."""
    axis = linear("ns", high, low)
    ticks = [tick for tick in axis.ticks if low <= tick <= high]
    return Axis("ns, by the card's 4 ns clock", low, high, ticks)


def of_row(row: dict) -> str:
    """The figure of one row."""
    bins = [(b["from_ns"], b["to_ns"], b["count"]) for b in row["histogram"]]
    count = sum(b[2] for b in bins)
    marks = [("median", "median", row["value"])]
    if row["p99"]:
        marks.append(("tail", "99 %", row["p99"]))
    if row["limit"]:
        marks.append(("limit", f"limit ({row['binds']})", row["limit"]))
    host = row["conditions"].get("host", "client")
    return draw(ROWS[row["id"]], f"{row['id']}, {count:,} accesses, {host}.", bins, marks)


def of_reads(tlps: Iterable[Tlp], latency_ns: int) -> str:
    """The figure of the card's reads in a trace."""
    times = sorted(read_times(tlps))
    if not times:
        return ""
    marks = [
        ("median", "median", times[len(times) // 2]),
        ("tail", "99 %", times[int(0.99 * (len(times) - 1))]),
        ("limit", "host memory alone", latency_ns),
    ]
    text = f"Request to first completion at the pins, {len(times):,} reads under full load."
    return draw("The card reads host memory", text, binned(times), marks)


def section(rows: list[dict], tlps: Iterable[Tlp], latency_ns: int) -> str:
    """All histograms; a sentence where there are none."""
    by_id = {row["id"]: row for row in rows}
    with_bins = [by_id[name] for name in ROWS if by_id.get(name, {}).get("histogram")]
    figures = "".join(of_row(row) for row in with_bins) + of_reads(tlps, latency_ns)
    if not figures:
        return '<p class="quiet">No latency was measured yet: <code>make sim</code> does.</p>'
    return f'<div class="figures">{figures}</div>'
