# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Writes build/report.html: all rows of the results file as one self-contained page.

The page needs no script and no network: it contains its style sheet and drawings. It is light or
dark as the browser prefers.
"""

from __future__ import annotations

import os
import time
from html import escape
from pathlib import Path

from sim.report import (
    builds,
    capture,
    histograms,
    slot,
    table,
    throughput,
    timeline,
    versions,
    virtio,
)
from sim.report.record import Recording
from sim.rows.results import ROOT, TIMES, load, reached

REPORT = ROOT / "build" / "report.html"
STYLE = Path(__file__).with_name("page.css")

# The ids of the benchmark rows whose values open the page as tiles, with the text of each tile.
HEADLINES = (
    ("c2h/mps256", "card to host"),
    ("h2c/cpl256", "host to card"),
    ("duplex/mps256", "each way, both at once"),
    ("mmio_read/4", "to read a register"),
)


def headline(rows: list[dict]) -> str:
    """Return HTML with a tile for each row of HEADLINES that was measured."""
    by_id = {row["id"]: row for row in rows}
    tiles = []
    for name, words in HEADLINES:
        row = by_id.get(name)
        if not row or row["value"] is None:
            continue
        value = f"{row['value']:.2f}" if row["unit"] == "GB/s" else f"{row['value']:.0f}"
        text = reached(row["unit"], row["value"], row["limit"], row["ratio"])
        share = f"{text} {'above' if row['unit'] in TIMES else 'of'} the limit: " if text else ""
        tiles.append(
            f'<div class="tile"><p class="value">{value} <small>{escape(row["unit"])}</small></p>'
            f"<p>{escape(words)}</p>"
            f'<p class="quiet">{share}{escape(row["binds"] or "")}</p></div>'
        )
    return f'<div class="tiles">{"".join(tiles)}</div>'


def body(rows: list[dict], recording: Recording) -> str:
    """Return HTML of the report page's body, made from benchmark rows and recorded traces."""
    when = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime())
    rows, through_slot, others = builds.split(rows)
    sections = [
        (
            "Throughput against its limits",
            "throughput",
            "Lines are what the link and the hard block's pins allow, marks are measured by the "
            "card's own counters. Every byte was compared.",
            throughput.section(rows),
        ),
        (
            "Your logic in the user slot",
            "user",
            "What passes it when no software has to keep up, and how the cycles at the slot "
            "were spent.",
            slot.section(through_slot) if through_slot else "",
        ),
        (
            "Frames into host memory",
            "capture",
            "The card writes pcapng. Lines are what link, pins and the record builder allow.",
            capture.section(rows),
        ),
        (
            "Latency",
            "latency",
            "By the card's own clock, never the host's.",
            histograms.section(rows, recording.many, recording.latency_ns),
        ),
        (
            "Messages through VirtIO",
            "virtio",
            "One at a time, the host's reads included, beside the figures of a paper.",
            virtio.section(rows),
        ),
        (
            "On the pins",
            "timeline",
            "Recorded without a guest. Point at a box for the whole TLP.",
            timeline.section(recording.alone, recording.one),
        ),
        (
            "All rows",
            "rows",
            "Rates in GB/s are 1e9 bytes a second. A rate reaches a share of its limit. A time "
            "stands with how far it is above its own limit.",
            table.section(rows),
        ),
        (
            "Rows of other builds",
            "others",
            "Measured at another commit, or with other logic in the user slot.",
            builds.section(others),
        ),
        ("Versions and conditions", "versions", "", versions.section([*rows, *through_slot])),
    ]
    sections = [entry for entry in sections if entry[3]]
    links = "".join(f'<a href="#{anchor}">{title}</a>' for title, anchor, _, _ in sections)
    parts = "".join(
        f'<section id="{anchor}"><h2>{title}</h2>{f"<p>{text}</p>" if text else ""}{content}'
        "</section>"
        for title, anchor, text, content in sections
    )
    return (
        f'<header><h1>Lanebox <span class="quiet">measured and its limits</span></h1>'
        f"<p>PCIe Gen3 x8, 256 bit at 250 MHz, in simulation: the gateware that a card gets, below "
        f'it a model of its hard block. <span class="quiet">Written {when}.</span></p>'
        f"{headline(rows)}<nav>{links}</nav></header><main>{parts}</main>"
    )


def render(rows: list[dict], recording: Recording) -> str:
    """Return the whole HTML of the report page, made from the benchmark rows and the recorded
    traces."""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark"><title>Lanebox: measured and its limits'
        f"</title><style>\n{STYLE.read_text()}</style></head>\n"
        f"<body>{body(rows, recording)}</body></html>\n"
    )


def write(recording: Recording | None = None, path: Path = REPORT) -> Path:
    """Write the page from all stored rows and return `path`.

    The file is replaced in one step, so a reader never sees half a page.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    staged = path.with_suffix(f".{os.getpid()}")
    staged.write_text(render(load(), recording or Recording()))
    staged.replace(path)
    return path
