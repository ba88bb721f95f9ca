# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Draws the rows `user/*`, and how the cycles at each stream of the user slot were spent.

A row's conditions["slot"] has the counts of the slot's streams `sink` and `source`: beats, and
stalls (cycles in which valid waited for ready). A row without these counts is shown in the table
only.
"""

from __future__ import annotations

from html import escape

from sim.report import table

SIDES = {"sink": "host to logic (sink)", "source": "logic to host (source)"}
# The styles of the parts of a bar, which divides a stream's cycles, and each part's words in the
# legend.
PARTS = {
    "ours": "a beat passes",
    "stall": "valid waits for ready",
    "idle": "nothing is offered",
}


def shares(row: dict, side: str) -> dict[str, float] | None:
    """Return {style of a bar's part: share of the row's cycles, 0 to 1} for the stream `side` of
    the user slot.

    The styles are "ours" (cycles with a beat), "stall" and "idle". Returns None if the row has no
    counts for that stream.
    """
    counted = (row["conditions"].get("slot") or {}).get(side)
    if not counted or not row["cycles"] or "beats" not in counted or "stalls" not in counted:
        return None
    beats, stalls = counted["beats"] / row["cycles"], counted["stalls"] / row["cycles"]
    return {"ours": beats, "stall": stalls, "idle": max(0.0, 1 - beats - stalls)}


def _bar(name: str, parts: dict[str, float]) -> str:
    pieces = "".join(
        f'<i class="{style}" style="width:{share * 100:.2f}%" '
        f'title="{PARTS[style]}: {share * 100:.1f} %"></i>'
        for style, share in parts.items()
    )
    words = ", ".join(
        f"{PARTS[style]} {share * 100:.1f} %" for style, share in parts.items() if share >= 0.0005
    )
    return (
        f'<div class="spent"><p>{escape(name)}</p><div class="stack">{pieces}</div>'
        f'<p class="quiet">{words}</p></div>'
    )


def _cycles(row: dict) -> str:
    found = {words: shares(row, side) for side, words in SIDES.items()}
    bars = "".join(_bar(words, parts) for words, parts in found.items() if parts)
    if not bars:
        return ""
    return (
        f"<figure><figcaption><b><code>{escape(row['id'])}</code></b> "
        f'<span class="quiet">{escape(row["reason"] or "")}</span></figcaption>{bars}</figure>'
    )


def section(rows: list[dict]) -> str:
    """Return HTML with a table of the rows `user/*`, and a figure for each row with the counts of
    the slot: the shares of its cycles with a beat, with a stall and with neither."""
    users = sorted({row["conditions"].get("user") or "unknown" for row in rows})
    figures = "".join(map(_cycles, rows))
    return f'<p class="quiet">In the slot: {escape(", ".join(users))}.</p>{table.table(rows)}' + (
        f'<div class="figures">{figures}</div>' if figures else ""
    )
