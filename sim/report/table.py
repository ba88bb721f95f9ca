# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Makes HTML tables of the benchmark rows, one for each group.

A row without a value shows its reason.
"""

from __future__ import annotations

from html import escape

from sim.report.svg import number
from sim.rows.results import TIMES, reached

# Groups of rows: (title, prefixes of the rows' ids). A row belongs to the first group with a
# fitting prefix.
GROUPS = (
    ("The card writes host memory", ("c2h/",)),
    ("The card reads host memory", ("h2c/",)),
    ("Both at once", ("duplex/",)),
    ("Through the logic in the user slot", ("user/",)),
    ("The host and the card's memory", ("mmio_", "latency/")),
    ("Small transfers", ("small/", "held/", "told/")),
    ("Frames into host memory as pcapng", ("capture/",)),
    ("A program's own work", ("host/",)),
    ("A peer and the card's memory", ("p2p_",)),
    ("LitePCIe's own endpoint, in the same run", ("stock/",)),
    ("The model with ideal users, which bound everything above", ("model/",)),
    ("The simulation itself", ("sim/",)),
)
OTHERS = "Others"
HEAD = ("", "measured", "limit", "", "reached", "binds", "vs stock", "rules broken")


def groups(rows: list[dict]) -> dict[str, list[dict]]:
    """Return the rows by the title of their group, in the order of GROUPS.

    Groups without a row are left out.
    """
    found: dict[str, list[dict]] = {title: [] for title, _ in GROUPS} | {OTHERS: []}
    for row in rows:
        title = next((t for t, begins in GROUPS if row["id"].startswith(begins)), OTHERS)
        found[title].append(row)
    return {title: members for title, members in found.items() if members}


def section(rows: list[dict]) -> str:
    """Return HTML with the tables of all groups.

    The tables of the model, of LitePCIe's endpoint and of the simulation are folded.
    """
    if not rows:
        return '<p class="quiet">Nothing was measured yet.</p>'
    out = []
    for title, members in groups(rows).items():
        opened = "" if members[0]["id"].startswith(("model/", "stock/", "sim/")) else " open"
        out.append(
            f"<details{opened}><summary>{escape(title)} "
            f'<span class="quiet">{len(members)}</span></summary>{table(members)}</details>'
        )
    return "".join(out)


def table(rows: list[dict]) -> str:
    """Return the table of one group of benchmark rows as HTML."""
    columns = range(len(HEAD))
    widths = "".join(f'<col class="c{i}">' for i in columns)
    head = "".join(f'<th scope="col" class="{_side(i)}">{HEAD[i]}</th>' for i in columns)
    body = "".join(_line(row, _cells(row)) for row in rows)
    return (
        f'<div class="scroll"><table><colgroup>{widths}</colgroup><thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def _line(row: dict, cells: tuple[str, ...]) -> str:
    rest = "".join(f'<td class="{_side(i)}">{cells[i]}</td>' for i in range(1, len(cells)))
    return f'<tr><th scope="row"><code>{cells[0]}</code></th>{rest}</tr>{_reason(row)}'


def _side(column: int) -> str:
    return "number" if column in (1, 2, 6, 7) else ""


def _cells(row: dict) -> tuple[str, ...]:
    def known(value: float | None, form: str) -> str:
        return "" if value is None else format(value, form)

    return (
        escape(row["id"]),
        f"<b>{_number(row['value'])}</b>",
        _number(row["limit"]) if row["limit"] is not None else "",
        escape(row["unit"]),
        _reached(row),
        escape(row["binds"] or ""),
        known(row["vs"], ".2f"),
        known(row["violations"], "d"),
    )


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    return number(value) if abs(value) >= 1000 or value == int(value) else f"{value:.3f}"


def _reached(row: dict) -> str:
    """Return the text of results.reached() as HTML.

    A rate also gets a bar whose length is its share of the limit.
    """
    text = reached(row["unit"], row["value"], row["limit"], row["ratio"])
    if not text or row["unit"] in TIMES:
        return f"<b>{text}</b>" if text else ""
    bar = f'<i style="width:{min(max(row["ratio"], 0), 1) * 100:.1f}%"></i>'
    return f'<span class="ratio"><b>{text}</b><span>{bar}</span></span>'


def _reason(row: dict) -> str:
    if not row["reason"]:
        return ""
    return f'<tr class="reason"><td colspan="{len(HEAD)}">{escape(row["reason"])}</td></tr>'
