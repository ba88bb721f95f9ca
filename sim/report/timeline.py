# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Draws one register access and one DMA transfer as they pass the hard block's pins.

The TLPs are from a trace. A figure has a lane for each interface and a box for each TLP, from its
first beat to its last. The steps are listed below the figure. All times are those of the trace;
none is estimated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from sim.report.svg import linear
from sim.trace.perfetto import span
from sim.trace.tlp import Tlp, matched

WIDTH, LANE, TOP, LEFT, RIGHT = 1100, 34, 8, 52, 26
NARROW = 340  # The width in SVG units of the drawing for phones, which is not scaled down.
BOX = 20
# The bytes of a status line, the card's report of its progress. No write that reports a single
# buffer is longer.
NOTICE_BYTES = 32
LANES = ("CQ", "CC", "RQ", "RC", "MSI")
MEANING = {
    "CQ": "host asks",
    "CC": "card answers",
    "RQ": "card asks",
    "RC": "host answers",
    "MSI": "interrupt",
}
STYLES = {"MRd": "read", "MWr": "write", "CplD": "completion", "Cpl": "completion"}


@dataclass(frozen=True)
class Story:
    """The consecutive TLPs of one timeline figure, and its steps as (name, from ns, to ns)."""

    title: str
    text: str
    tlps: list[Tlp]
    steps: list[tuple[str, int, int]]


def access(tlps: Sequence[Tlp]) -> Story | None:
    """Return the last read by the host that is followed at once by another one, as a figure.

    Its steps are the time in the card and the time in the host. Returns None if the trace has no
    such pair of reads."""
    pairs = [(tlp, read) for tlp, read in matched(tlps)]
    asked = [read for tlp, read in pairs if tlp.kind == "MRd" and tlp.interface == "CQ"]
    whole = [
        (first, second)
        for first, second in zip(asked, asked[1:])
        if first.done and not _between(tlps, first.completions[-1].ns, second.request.ns)
    ]
    if not whole:
        return None
    first, second = whole[-1]
    done = first.completions[-1].ns
    return Story(
        "One MMIO read",
        f"{first.request.dwords * 4} bytes at 0x{first.request.address:x}; the host asks again as "
        "soon as it has its answer.",
        [t for t in tlps if first.request.ns <= t.ns <= second.request.ns],
        [("in the card", first.request.ns, done), ("in the host", done, second.request.ns)],
    )


def _between(tlps: Sequence[Tlp], first: int, last: int) -> bool:
    return any(first < tlp.ns < last for tlp in tlps)


def transfer(tlps: Sequence[Tlp]) -> Story | None:
    """Return the first buffer through the card and back, from doorbell to interrupt, as a figure.

    Returns None if the trace does not have the whole transfer."""
    reads = _of(tlps, "RQ", "MRd")
    if not reads:
        return None
    writes = [t for t in _of(tlps, "RQ", "MWr") if t.ns > reads[0].ns]
    rings = [t for t in _of(tlps, "CQ", "MWr") if t.ns < reads[0].ns]
    ends = [t for t in tlps if t.interface == "MSI" and writes and t.ns > writes[-1].ns]
    answers = _of(tlps, "RC", "CplD")
    if not (writes and rings and ends and answers):
        return None
    bell, msi = rings[-1], ends[0]
    # Records and status lines are writes, too. They are shorter than data, so they can be left out
    # by their length.
    data = [t for t in writes if t.ns < msi.ns and len(t.payload) > NOTICE_BYTES]
    if not data:
        return None
    size = sum(len(t.payload) for t in data)
    return Story(
        f"One DMA transfer of {size:,} bytes, there and back",
        "The host rings, the card reads host memory, loops the data back, writes host memory, "
        "tells how far it is and interrupts.",
        [t for t in tlps if bell.ns <= t.ns <= msi.ns],
        [
            ("doorbell to first request", bell.ns, reads[0].ns),
            ("first request to first data", reads[0].ns, answers[0].ns),
            ("first to last data in", answers[0].ns, answers[-1].ns),
            ("first to last data out", data[0].ns, data[-1].ns),
            ("last data out to interrupt", data[-1].ns, msi.ns),
            ("doorbell to interrupt", bell.ns, msi.ns),
        ],
    )


def _of(tlps: Sequence[Tlp], interface: str, kind: str) -> list[Tlp]:
    return [t for t in tlps if t.interface == interface and t.kind == kind]


# Drawing a timeline -------------------------------------------------------------------------------


def draw(story: Story) -> str:
    """Return one figure as HTML, with a drawing for a screen and one for a phone.

    The style sheet shows only one of the two drawings."""
    return (
        f'<figure class="wide"><figcaption><b>{escape(story.title)}</b> <span class="quiet">'
        f"{escape(story.text)}</span></figcaption>"
        f"{_drawing(story, WIDTH, 'broad')}{_drawing(story, NARROW, 'narrow', every=2)}"
        f"{_key(story)}{_steps(story)}</figure>"
    )


def _drawing(story: Story, width: int, style: str, every: int = 1) -> str:
    """Return the timeline as SVG of `width` units, with a label at every `every`-th grid line."""
    lanes = [lane for lane in LANES if any(t.interface == lane for t in story.tlps)]
    zero, end = story.tlps[0].ns, story.tlps[-1].ns
    axis = linear("ns", max((end - zero) * 1.01, 20))
    scale = (width - LEFT - RIGHT) / axis.high
    base = TOP + LANE * len(lanes)
    parts = [_lane(lane, number, width) for number, lane in enumerate(lanes)]
    for number, tick in enumerate(axis.ticks):
        x = LEFT + tick * scale
        parts.append(f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" y2="{base}"/>')
        if number % every == 0:
            parts.append(
                f'<text class="tick" x="{x:.1f}" y="{base + 17}" '
                f'text-anchor="middle">{tick:,.0f}</text>'
            )
    parts.append(
        f'<text class="label" x="{width / 2}" y="{base + 37}" '
        'text-anchor="middle">ns since the first TLP</text>'
    )
    parts += _boxes(story, lanes, zero, scale)
    return (
        f'<svg class="{style}" viewBox="0 0 {width} {base + 44}" role="img" '
        f'aria-label="{escape(story.title)}">{"".join(parts)}</svg>'
    )


def _lane(lane: str, number: int, width: int) -> str:
    y = TOP + number * LANE + LANE / 2
    line = f'<line class="grid" x1="{LEFT}" x2="{width - RIGHT}" y1="{y}" y2="{y}"/>'
    return (
        f'<g><title>{lane}: {MEANING[lane]}</title><text class="label" x="{LEFT - 8}" y="{y + 4}" '
        f'text-anchor="end">{lane}</text>{line}</g>'
    )


def _boxes(story: Story, lanes: list[str], zero: int, scale: float) -> list[str]:
    free = dict.fromkeys(lanes, zero)
    out = []
    for tlp, _ in matched(story.tlps):
        begin, end = span(tlp, free[tlp.interface])
        free[tlp.interface] = end
        x = LEFT + max(begin - zero, 0) * scale
        width = max((end - max(begin, zero)) * scale - 0.5, 1.5)
        y = TOP + lanes.index(tlp.interface) * LANE + (LANE - BOX) / 2
        style = "interrupt" if tlp.interface == "MSI" else STYLES.get(tlp.kind, "other")
        out.append(
            f'<rect class="tlp {style}" x="{x:.1f}" y="{y}" width="{width:.1f}" height="{BOX}">'
            f"<title>{tlp.ns - zero} ns: {tlp.interface} {escape(str(tlp))}</title></rect>"
        )
    return out


def _key(story: Story) -> str:
    kinds = {
        "read": "read request",
        "write": "write",
        "completion": "completion",
        "interrupt": "interrupt (MSI)",
    }
    used = {"interrupt" if t.interface == "MSI" else STYLES.get(t.kind) for t in story.tlps}
    items = [
        f'<li><svg viewBox="0 0 14 12" class="key small"><rect class="tlp {style}" x="1" y="1" '
        f'width="12" height="10"/></svg>{name}</li>'
        for style, name in kinds.items()
        if style in used
    ]
    return f'<ul class="legend">{"".join(items)}</ul>'


def _steps(story: Story) -> str:
    cells = "".join(
        f'<div><dt>{escape(name)}</dt><dd>{last - first:,} <span class="quiet">ns</span></dd></div>'
        for name, first, last in story.steps
    )
    return f'<dl class="steps">{cells}</dl>'


def section(alone: Sequence[Tlp], one: Sequence[Tlp]) -> str:
    """Return HTML with the figures of an access and a transfer.

    If the traces have neither, the HTML is a sentence that says so."""
    stories = [story for story in (access(alone), transfer(one)) if story]
    if not stories:
        return (
            '<p class="quiet">No trace: <code>make sim</code> and <code>make bench</code> record '
            "one access and one transfer for this page.</p>"
        )
    return "".join(draw(story) for story in stories)
