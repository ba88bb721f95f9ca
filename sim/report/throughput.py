# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Draws throughput against its limits: a panel for each stream, points over the limits' curves.

The curves are computed for every size. The points are rows of the results that have a value. A
panel without a point is not drawn; its title is listed below the others."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from html import escape

from sim.endpoints import DEFAULT, ENDPOINTS
from sim.report.svg import Axis, Plot, linear, number, powers, symbol
from sim.rows import limits

SIZES = (64, 128, 256, 512)
FINE = range(32, 577, 4)
ROUND_TRIPS = (600, 1000, 2000, 5000, 10000)
CREDITS = (1, 2, 4, 8, 16, 32)
TRANSFERS = (64, 128, 256, 512, 1504)
SHAPES = {"ours": "circle", "stock": "square", "ideal": "diamond"}
NAMES = {"ours": "Lanebox endpoint", "stock": "LitePCIe endpoint", "ideal": "ideal user"}

# A point in a figure of throughput: (x, the benchmark row that has its value).
Point = tuple[float, dict]


@dataclass(frozen=True)
class Panel:
    """A figure of throughput in the report.

    `curves` are (style, name, y as a function of x), drawn at each of `xs`. `patterns` are (style,
    pattern of a row's id whose group 1 is x)."""

    title: str
    text: str
    x: Axis
    xs: Iterable[float]
    curves: list[tuple[str, str, Callable[[float], float]]]
    patterns: list[tuple[str, str]]
    x_scale: float = 1.0


def programmed(payload: float) -> int:
    """Return the smallest MPS in bytes (128, 256 or 512) that carries this payload."""
    return next((mps for mps in (128, 256) if payload <= mps), 512)


def _c2h(n: float) -> float:
    return limits.wire(int(n), limits.WRITE_OVERHEAD, programmed(n))


def _completion(n: float) -> float:
    return limits.wire(int(n), limits.COMPLETION_OVERHEAD, max(256, programmed(n)))


def panels() -> list[Panel]:
    """Return the figures of throughput of the report, in their order, without those of small()."""
    card = ENDPOINTS[DEFAULT]
    by_size = {"x": powers("payload of one TLP, bytes", SIZES), "xs": FINE}
    wire, beats = ("wire", "wire"), ("interface", "interface beats")
    return [
        Panel(
            "The card writes (c2h)",
            "DMA to host memory, RQ. MPS is the payload.",
            **by_size,
            curves=[
                (*wire, _c2h),
                (*beats, lambda n: limits.interface(int(n), limits.REQUEST_DESCRIPTOR)),
            ],
            patterns=[
                ("ours", r"c2h/mps(\d+)"),
                ("stock", r"stock/c2h/mps(\d+)"),
                ("ideal", r"model/rq/(\d+)"),
            ],
        ),
        Panel(
            "The card reads (h2c)",
            "DMA from host memory, RC, by the completions that the host sends.",
            **by_size,
            curves=[
                (*wire, _completion),
                (*beats, lambda n: limits.interface(int(n), limits.COMPLETION_DESCRIPTOR, 16)),
            ],
            patterns=[
                ("ours", r"h2c/cpl(\d+)"),
                ("stock", r"stock/h2c/cpl(\d+)"),
                ("ideal", r"model/rc_straddle/(\d+)"),
            ],
        ),
        Panel(
            "A peer reads the card",
            "An NVMe drive or a GPU reads BAR2, CC.",
            **by_size,
            curves=[
                (*wire, _completion),
                (*beats, lambda n: limits.interface(int(n), limits.COMPLETION_DESCRIPTOR)),
            ],
            patterns=[("ours", r"p2p_read/(\d+)"), ("ideal", r"model/cc/(\d+)")],
        ),
        Panel(
            "The card reads from far away",
            f"h2c, 256 B completions, MRRS 512, {card.tags} tags.",
            x=powers("host memory's round trip, µs", [t / 1000 for t in ROUND_TRIPS]),
            xs=[t / 1000 for t in range(560, 11000, 40)],
            curves=[
                (
                    "limit",
                    "limit",
                    lambda us: limits.h2c(256, 256, card.tags, 512, us * 1000, card.straddle).value,
                )
            ],
            patterns=[("ours", r"h2c/cpl256(?:@(\d+)us)?")],
        ),
        Panel(
            "A peer reads with few credits",
            "CC, 256 B each, by the non-posted credits that the peer may use.",
            x=powers("non-posted credits", CREDITS),
            xs=(),
            curves=[],
            patterns=[("ours", r"p2p_read/256@np(\d+)")],
        ),
    ]


def small() -> list[Panel]:
    """Return the panels of small transfers, each by a descriptor of its own.

    Their limits are taken from the rows."""
    x = powers("bytes of one transfer", TRANSFERS)
    return [
        Panel(
            "Small transfers to the host (c2h)",
            "A descriptor each, MPS 256.",
            x=x,
            xs=(),
            curves=[],
            patterns=[("ours", r"small/c2h/(\d+)")],
        ),
        Panel(
            "Small transfers to the card (h2c)",
            "A descriptor each; host memory answers after 0.6 µs.",
            x=x,
            xs=(),
            curves=[],
            patterns=[("ours", r"small/h2c/(\d+)@0.6us")],
        ),
    ]


def found(rows: list[dict], pattern: str) -> Iterator[Point]:
    """Yield the measured rows whose id fits `pattern`, each as (x, row).

    x is the pattern's group 1. If the id has no such group, x is the read latency of the row in µs.
    """
    for row in rows:
        match = re.fullmatch(pattern, row["id"])
        if not match or not row["value"]:
            continue
        where = match.group(1) or row["conditions"].get("read_latency_ns", 600) / 1000
        yield float(where), row


def note(row: dict) -> str:
    """Return the text that the page shows when the mouse is over a point of a figure."""
    text = f"{row['id']}: {row['value']:.3f} {row['unit']}"
    if row["limit"]:
        text += f", limit {row['limit']:.3f} ({row['binds']})"
    return text


def draw(panel: Panel, rows: list[dict]) -> str:
    """Return one figure of throughput as HTML."""
    plot = Plot(panel.title, panel.x, linear("GB/s", 8))
    for style, _, value in panel.curves:
        inside = [x for x in panel.xs if panel.x.low <= x <= panel.x.high]
        plot.line([(x, min(value(x), plot.y.high)) for x in inside], style)
    shown = []
    # The style "ours" is drawn last, so its points lie on top of those of the other styles.
    for style, pattern in reversed(panel.patterns):
        points = list(found(rows, pattern))
        if points:
            shown.insert(0, (style, NAMES[style]))
        if not panel.curves:
            plot.line([(x, row["limit"]) for x, row in sorted(points, key=_x)], "limit")
        for x, row in points:
            plot.mark(x, row["value"], style, SHAPES[style], note(row))
    curves = [(s, n) for s, n, _ in panel.curves] or [("limit", "limit")]
    return (
        f'<figure><figcaption><b>{escape(panel.title)}</b> <span class="quiet">'
        f"{escape(panel.text)}</span></figcaption>{plot.render()}"
        f"{legend(curves, shown)}{best(rows, panel)}</figure>"
    )


def _x(point: Point) -> float:
    return point[0]


def legend(curves: list[tuple[str, str]], marks: list[tuple[str, str]]) -> str:
    """Return HTML with the legend of a figure's lines and marks."""
    lines = [
        f'<li><svg viewBox="0 0 22 12" class="key"><line class="line {style}" x1="1" x2="21" '
        f'y1="6" y2="6"/></svg>{escape(name)}</li>'
        for style, name in curves
    ]
    points = [
        f'<li><svg viewBox="0 0 20 18" class="key small">'
        f"{symbol(10, 9, style, SHAPES[style])}</svg>{escape(name)}</li>"
        for style, name in marks
    ]
    return f'<ul class="legend">{"".join(points + lines)}</ul>'


def best(rows: list[dict], panel: Panel) -> str:
    """Return HTML that gives the Lanebox endpoint's points in a figure as text, in GB/s."""
    points = sorted(found(rows, panel.patterns[0][1]), key=_x)
    words = ", ".join(f"{number(x)}: <b>{row['value']:.2f}</b>" for x, row in points)
    return f'<p class="points">{words} GB/s</p>' if points else ""


def measured(panel: Panel, rows: list[dict]) -> bool:
    """Return whether the panel has a point of an endpoint.

    Points of ideal user logic do not count."""
    return any(
        True for style, pattern in panel.patterns if style != "ideal" for _ in found(rows, pattern)
    )


def section(rows: list[dict]) -> str:
    """Return HTML with the figures that have a point, and the titles of figures without one."""
    every = [*panels(), *small()]
    drawn = [panel for panel in every if measured(panel, rows)]
    missing = ", ".join(escape(panel.title) for panel in every if panel not in drawn)
    figures = "".join(draw(panel, rows) for panel in drawn)
    return (f'<div class="figures">{figures}</div>' if drawn else "") + (
        f'<p class="quiet">Not measured with this build: {missing}. <code>make bench</code> does.'
        "</p>"
        if missing
        else ""
    )
