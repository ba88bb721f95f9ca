# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Plots as inline SVG: axes, lines, marks and bars. Colours and type sizes are page.css's.

A plot has its own coordinates, those of the data; what is drawn is kept as text until `render`.
Nothing here knows what is plotted.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from html import escape

WIDTH, HEIGHT = 400, 266
LEFT, RIGHT, TOP, BOTTOM = 46, 12, 12, 48
MARK = 4.2  # radius of a circle; the others are wider


@dataclass
class Axis:
    """From `low` to `high`, with a label at each of `ticks`."""

    label: str
    low: float
    high: float
    ticks: Sequence[float]
    log: bool = False
    names: Sequence[str] | None = None

    def share(self, value: float) -> float:
        """Where `value` stands, 0 at `low` and 1 at `high`."""
        low, high = self.low, self.high
        if self.log:
            value, low, high = math.log(value), math.log(low), math.log(high)
        return (value - low) / (high - low)


def linear(label: str, high: float, least: float = 0.0) -> Axis:
    """An axis from `least` to at least `high` with four to eight round steps."""
    span = max(high - least, 1e-9)
    magnitude = 10 ** math.floor(math.log10(span))
    step = next(s for s in (m * magnitude / 10 for m in (1, 2, 5, 10, 20, 50)) if span / s <= 8)
    low = math.floor(least / step) * step
    count = math.ceil(round((high - low) / step, 6))
    return Axis(label, low, low + count * step, [low + i * step for i in range(count + 1)])


def powers(label: str, ticks: Sequence[float], names: Sequence[str] | None = None) -> Axis:
    """A logarithmic axis a little wider than its ticks."""
    return Axis(label, ticks[0] / 1.12, ticks[-1] * 1.12, ticks, log=True, names=names)


@dataclass
class Plot:
    """`title` is read out to those who cannot see the plot."""

    title: str
    x: Axis
    y: Axis
    width: float = WIDTH
    height: float = HEIGHT
    parts: list[str] = field(default_factory=list)

    def at(self, x: float, y: float) -> tuple[float, float]:
        """Place on the drawing."""
        across = self.width - LEFT - RIGHT
        up = self.height - TOP - BOTTOM
        return LEFT + self.x.share(x) * across, self.height - BOTTOM - self.y.share(y) * up

    def line(self, points: Iterable[tuple[float, float]], style: str) -> None:
        """A line through the points."""
        places = " ".join("{:.1f},{:.1f}".format(*self.at(*point)) for point in points)
        self.parts.append(f'<polyline class="line {style}" points="{places}"/>')

    def upright(self, x: float, style: str, note: str) -> None:
        """A vertical line over the whole height."""
        px, _ = self.at(x, self.y.low)
        self.parts.append(
            f'<line class="line {style}" x1="{px:.1f}" x2="{px:.1f}" y1="{TOP}" '
            f'y2="{self.height - BOTTOM}"><title>{escape(note)}</title></line>'
        )

    def mark(self, x: float, y: float, style: str, shape: str, note: str) -> None:
        """One measured point; `note` appears when it is pointed at."""
        px, py = self.at(x, y)
        self.parts.append(f"{symbol(px, py, style, shape, note)}")

    def bar(self, low: float, high: float, value: float, style: str, note: str) -> None:
        """A bar from `low` to `high` on the x axis."""
        (left, top), (right, base) = self.at(low, value), self.at(high, self.y.low)
        gap = min(1.0, (right - left) / 8)
        self.parts.append(
            f'<rect class="bar {style}" x="{left + gap:.1f}" y="{top:.1f}" '
            f'width="{max(right - left - 2 * gap, 0.8):.1f}" height="{base - top:.1f}">'
            f"<title>{escape(note)}</title></rect>"
        )

    def render(self) -> str:
        """The drawing, to be put into a page."""
        return (
            f'<svg viewBox="0 0 {self.width:g} {self.height:g}" role="img" '
            f'aria-label="{escape(self.title)}">{self._axes()}{"".join(self.parts)}</svg>'
        )

    def _axes(self) -> str:
        left, base = self.at(self.x.low, self.y.low)
        right, top = self.at(self.x.high, self.y.high)
        out = []
        for tick in self.y.ticks:
            _, py = self.at(self.x.low, tick)
            out.append(f'<line class="grid" x1="{left}" x2="{right:.1f}" y1="{py:.1f}" '
                       f'y2="{py:.1f}"/>')  # fmt: skip
            out.append(f'<text class="tick" x="{left - 6}" y="{py + 4:.1f}" '
                       f'text-anchor="end">{number(tick)}</text>')  # fmt: skip
        for i, tick in enumerate(self.x.ticks):
            px, _ = self.at(tick, self.y.low)
            name = self.x.names[i] if self.x.names else number(tick)
            out.append(f'<text class="tick" x="{px:.1f}" y="{base + 21}" '
                       f'text-anchor="middle">{escape(name)}</text>')  # fmt: skip
        out.append(f'<line class="axis" x1="{left}" x2="{right:.1f}" y1="{base}" y2="{base}"/>')
        out.append(f'<text class="label" x="{(left + right) / 2:.1f}" y="{self.height - 6}" '
                   f'text-anchor="middle">{escape(self.x.label)}</text>')  # fmt: skip
        middle = (top + base) / 2
        out.append(f'<text class="label" transform="translate(11 {middle:.1f}) rotate(-90)" '
                   f'text-anchor="middle">{escape(self.y.label)}</text>')  # fmt: skip
        return "".join(out)


def symbol(x: float, y: float, style: str, shape: str, note: str = "") -> str:
    """A mark; shapes differ so that colour is never the only difference."""
    title = f"<title>{escape(note)}</title>" if note else ""
    if shape == "circle":
        return f'<circle class="mark {style}" cx="{x:.1f}" cy="{y:.1f}" r="{MARK}">{title}</circle>'
    if shape == "square":
        side = MARK * 2.6
        return (
            f'<rect class="mark {style}" x="{x - side / 2:.1f}" y="{y - side / 2:.1f}" '
            f'width="{side:.1f}" height="{side:.1f}">{title}</rect>'
        )
    size = MARK * 1.9
    corners = f"{x:.1f},{y - size:.1f} {x + size:.1f},{y:.1f} {x:.1f},{y + size:.1f} "
    corners += f"{x - size:.1f},{y:.1f}"
    return f'<polygon class="mark {style}" points="{corners}">{title}</polygon>'


def number(value: float) -> str:
    """As short as it can be without lying."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
