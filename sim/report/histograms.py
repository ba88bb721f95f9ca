# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Draws latencies as percentile curves: of the rows' histograms, and of the card's reads in a
trace.

A curve shows the percentage of accesses that took no longer than a time. Transfers by size have two
figures: one with a curve for each size, and one with median, 99 % and limit over the size."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from sim.bins import CYCLE_NS, Bin, binned
from sim.report.svg import Axis, Plot, linear, powers
from sim.trace.tlp import Tlp, matched

TOGETHER = "% took no longer"
# The styles of the curves in a figure, whose colours are in page.css.
CURVES = ("ours", "stock", "interface", "write", "interrupt", "ideal", "wire")
ENDS = {"interrupt": "Doorbell to interrupt", "dma": "DMA there and back"}
# The ids of benchmark rows that are times and get a histogram of their own, and the title of it.
ROWS = {
    "mmio_read/4": "The host reads a register, 4 B",
    "mmio_read/8": "The host reads a register, 8 B",
    "latency/interrupt/64": "Doorbell to interrupt, 64 B there and back",
    "latency/dma/64": "DMA there and back, 64 B",
    "virtio/echo/64": "Doorbell to interrupt, 64 B through the VirtIO console",
    "virtio/net/64": "Doorbell to interrupt, 64 B of UDP through the VirtIO net device",
}


def read_times(tlps: Iterable[Tlp]) -> list[int]:
    """Return, for each read by the card in a trace, the time in ns from its request to its first
    completion."""
    return [
        tlp.latency or 0
        for tlp, read in matched(tlps)
        if read is not None and tlp.interface == "RC" and tlp is read.completions[0]
    ]


def curve(bins: list[Bin]) -> list[tuple[float, float]]:
    """Return the points (ns, percentage of accesses that took no longer) of the curve of a
    histogram's bins.

    Within a bin the curve is a straight line.
    """
    total = sum(count for _, _, count in bins)
    points, done = [(bins[0][0], 0.0)], 0
    for low, high, count in bins:
        points.append((low, done / total * 100))
        done += count
        points.append((high, done / total * 100))
    return points


def draw(title: str, text: str, bins: list[Bin], marks: list[tuple[str, str, float]]) -> str:
    """Return one figure with the curve of `bins` as HTML.

    `marks` are (style, name, ns). They are drawn as vertical lines."""
    x = _ns_axis([bins[0][0], bins[-1][1], *(at for _, _, at in marks)])
    plot = Plot(title, x, linear(TOGETHER, 100))
    for style, name, at in marks:
        plot.upright(at, style, f"{name}: {at:.0f} ns")
    plot.line(curve(bins), "ours")
    total, done = sum(count for _, _, count in bins), 0
    for start, end, count in bins:
        done += count
        if count:
            share = count / total * 100
            note = f"{start:g} to {end:g} ns: {count} ({share:.1f} %)"
            plot.mark(end, done / total * 100, "ours", "circle", note)
    key = "".join(
        f'<li><svg viewBox="0 0 22 12" class="key"><line class="line {style}" x1="1" x2="21" '
        f'y1="6" y2="6"/></svg>{escape(name)} <b>{at:,.0f} ns</b></li>'
        for style, name, at in marks
    )
    return (
        f'<figure><figcaption><b>{escape(title)}</b> <span class="quiet">{escape(text)}</span>'
        f'</figcaption>{plot.render()}<ul class="legend">{key}</ul></figure>'
    )


def of_sizes(end: str, title: str, rows: list[dict]) -> str:
    """Return one figure with a curve for each of the rows latency/END/SIZE as HTML.

    If fewer than two such rows have a histogram, the result is ""."""
    found = {}
    for row in rows:
        size = row["id"].removeprefix(f"latency/{end}/")
        if size != row["id"] and row.get("histogram"):
            found[int(size)] = _bins(row)
    if len(found) < 2:
        return ""
    plot = Plot(
        title,
        _ns_axis([ns for bins in found.values() for b in bins for ns in b[:2]]),
        linear(TOGETHER, 100),
    )
    key = ""
    for (size, bins), style in zip(sorted(found.items()), CURVES):
        plot.line(curve(bins), style)
        key += (
            f'<li><svg viewBox="0 0 22 12" class="key"><line class="line {style}" x1="1" x2="21" '
            f'y1="6" y2="6"/></svg>{size} B</li>'
        )
    return (
        f'<figure><figcaption><b>{escape(title)}</b> <span class="quiet">by size of the transfer, '
        f'one at a time.</span></figcaption>{plot.render()}<ul class="legend">{key}</ul></figure>'
    )


def by_size(end: str, title: str, rows: list[dict]) -> str:
    """Return one figure of the rows latency/END/SIZE as HTML: median, 99 % and limit over the size.

    If fewer than two such rows have a value, the result is ""."""
    found = {}
    for row in rows:
        size = row["id"].removeprefix(f"latency/{end}/")
        if size != row["id"] and row["value"]:
            found[int(size)] = row
    if len(found) < 2:
        return ""
    sizes = sorted(found)
    lines = {
        "median": [(size, found[size]["value"]) for size in sizes],
        "tail": [(size, found[size]["p99"]) for size in sizes if found[size]["p99"]],
        "limit": [(size, found[size]["limit"]) for size in sizes if found[size]["limit"]],
    }
    high = max(ns for points in lines.values() for _, ns in points)
    plot = Plot(title, powers("bytes each way", sizes), linear("ns", high))
    names = {"median": "median", "tail": "99 %", "limit": "limit"}
    key = ""
    for style, points in lines.items():
        if points:
            plot.line(points, style)
            key += (
                f'<li><svg viewBox="0 0 22 12" class="key"><line class="line {style}" x1="1" '
                f'x2="21" y1="6" y2="6"/></svg>{names[style]}</li>'
            )
    for size, ns in lines["median"]:
        plot.mark(size, ns, "ours", "circle", f"{size} B: median {ns:.0f} ns")
    return (
        f'<figure><figcaption><b>{escape(title)}</b> <span class="quiet">median and 99 % over the '
        f"size of the transfer.</span></figcaption>{plot.render()}"
        f'<ul class="legend">{key}</ul></figure>'
    )


def _bins(row: dict) -> list[Bin]:
    return [widened((b["from_ns"], b["to_ns"], b["count"])) for b in row["histogram"]]


def widened(entry: Bin) -> Bin:
    """Return the histogram bin `entry` as (low, high, count), wide enough to be drawn.

    A bin whose values are all the same has no width. It becomes one clock cycle wide."""
    low, high, count = entry
    return (low, high, count) if high > low else (low - CYCLE_NS / 2, low + CYCLE_NS / 2, count)


def _ns_axis(values: list[float]) -> Axis:
    """Return an axis of times that is a little wider than these values in ns.

    The axis does not begin at zero, since the values differ by little.
    """
    pad = max((max(values) - min(values)) * 0.04, 4)
    low, high = min(values) - pad, max(values) + pad
    axis = linear("ns", high, low)
    ticks = [tick for tick in axis.ticks if low <= tick <= high]
    return Axis("ns, by the card's 4 ns clock", low, high, ticks)


def of_row(row: dict) -> str:
    """Return HTML with the histogram of a benchmark row whose id is in ROWS, with its median, 99th
    percentile and limit as marks."""
    bins = _bins(row)
    count = sum(b[2] for b in bins)
    marks = [("median", "median", row["value"])]
    if row["p99"]:
        marks.append(("tail", "99 %", row["p99"]))
    if row["limit"]:
        marks.append(("limit", f"limit ({row['binds']})", row["limit"]))
    host = row["conditions"].get("host", "client")
    return draw(ROWS[row["id"]], f"{row['id']}, {count:,} accesses, {host}.", bins, marks)


def of_reads(tlps: Iterable[Tlp], latency_ns: int) -> str:
    """Return as HTML the histogram of the read times of the card in a trace."""
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
    """Return HTML of the report's histograms, or a sentence if there are none."""
    by_id = {row["id"]: row for row in rows}
    with_bins = [by_id[name] for name in ROWS if by_id.get(name, {}).get("histogram")]
    figures = "".join(of_row(row) for row in with_bins) + of_reads(tlps, latency_ns)
    for end, title in ENDS.items():
        figures += by_size(end, title, rows) + of_sizes(end, title, rows)
    if not figures:
        return '<p class="quiet">No latency was measured yet: <code>make sim</code> does.</p>'
    return f'<div class="figures">{figures}</div>'
