# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Draws plots as inline SVG: axes, lines and marks. Colours and font sizes come from page.css.

A plot takes coordinates in the data's own units. Its elements are kept as text until `render`."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from html import escape

WIDTH, HEIGHT = 400, 266
LEFT, RIGHT, TOP, BOTTOM = 46, 12, 12, 48
MARK = 4.2  # The radius of a circle that marks a point, in SVG units. The other marks are wider.


@dataclass
class Axis:
    """An axis from `low` to `high`, with a label at each of `ticks`.

    The labels are `names`, or the numbers if `names` is None."""

    label: str
    low: float
    high: float
    ticks: Sequence[float]
    log: bool = False
    names: Sequence[str] | None = None

    def share(self, value: float) -> float:
        """Return where `value` lies on the axis, as a share: 0 at `low`, 1 at `high`."""
        low, high = self.low, self.high
        if self.log:
            value, low, high = math.log(value), math.log(low), math.log(high)
        return (value - low) / (high - low)


def linear(label: str, high: float, least: float = 0.0) -> Axis:
    """Return a linear axis from `least` or below to `high` or above.

    Its ticks are multiples of a step of 1, 2 or 5 times a power of ten. The axis has at most eight
    steps, or nine if `least` is no multiple of the step."""
    span = max(high - least, 1e-9)
    magnitude = 10 ** math.floor(math.log10(span))
    step = next(s for s in (m * magnitude / 10 for m in (1, 2, 5, 10, 20, 50)) if span / s <= 8)
    low = math.floor(least / step) * step
    count = math.ceil(round((high - low) / step, 6))
    return Axis(label, low, low + count * step, [low + i * step for i in range(count + 1)])


def powers(label: str, ticks: Sequence[float], names: Sequence[str] | None = None) -> Axis:
    """Return a logarithmic axis from the first of `ticks` divided by 1.12 to the last one times
    1.12."""
    return Axis(label, ticks[0] / 1.12, ticks[-1] * 1.12, ticks, log=True, names=names)


@dataclass
class Plot:
    """A plot with two axes. `title` is the text that a screen reader reads out."""

    title: str
    x: Axis
    y: Axis
    width: float = WIDTH
    height: float = HEIGHT
    parts: list[str] = field(default_factory=list)

    def at(self, x: float, y: float) -> tuple[float, float]:
        """Return the position (x, y) of a data point on the drawing, in SVG units from the upper
        left corner."""
        across = self.width - LEFT - RIGHT
        up = self.height - TOP - BOTTOM
        return LEFT + self.x.share(x) * across, self.height - BOTTOM - self.y.share(y) * up

    def line(self, points: Iterable[tuple[float, float]], style: str) -> None:
        """Draw a line through the points, in a style that page.css defines."""
        places = " ".join("{:.1f},{:.1f}".format(*self.at(*point)) for point in points)
        self.parts.append(f'<polyline class="line {style}" points="{places}"/>')

    def upright(self, x: float, style: str, note: str) -> None:
        """Draw a vertical line at `x` over the whole height of the plot."""
        px, _ = self.at(x, self.y.low)
        self.parts.append(
            f'<line class="line {style}" x1="{px:.1f}" x2="{px:.1f}" y1="{TOP}" '
            f'y2="{self.height - BOTTOM}"><title>{escape(note)}</title></line>'
        )

    def mark(self, x: float, y: float, style: str, shape: str, note: str) -> None:
        """Draw one measured point. The page shows `note` when the mouse is over the point."""
        px, py = self.at(x, y)
        self.parts.append(f"{symbol(px, py, style, shape, note)}")

    def render(self) -> str:
        """Return the plot as SVG text, to be put into a page."""
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
            out.append(
                f'<line class="grid" x1="{left}" x2="{right:.1f}" y1="{py:.1f}" y2="{py:.1f}"/>'
            )
            out.append(
                f'<text class="tick" x="{left - 6}" y="{py + 4:.1f}" '
                f'text-anchor="end">{number(tick)}</text>'
            )
        for i, tick in enumerate(self.x.ticks):
            px, _ = self.at(tick, self.y.low)
            name = self.x.names[i] if self.x.names else number(tick)
            out.append(
                f'<text class="tick" x="{px:.1f}" y="{base + 21}" '
                f'text-anchor="middle">{escape(name)}</text>'
            )
        out.append(f'<line class="axis" x1="{left}" x2="{right:.1f}" y1="{base}" y2="{base}"/>')
        out.append(
            f'<text class="label" x="{(left + right) / 2:.1f}" y="{self.height - 6}" '
            f'text-anchor="middle">{escape(self.x.label)}</text>'
        )
        middle = (top + base) / 2
        out.append(
            f'<text class="label" transform="translate(11 {middle:.1f}) rotate(-90)" '
            f'text-anchor="middle">{escape(self.y.label)}</text>'
        )
        return "".join(out)


def symbol(x: float, y: float, style: str, shape: str, note: str = "") -> str:
    """Return a mark as SVG: a circle, a square or a diamond.

    The shapes let a reader tell marks apart without their colours."""
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
    """Return a number as text with four significant digits.

    From 1000 on the number is whole and has commas."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
