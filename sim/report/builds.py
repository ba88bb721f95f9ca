# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Chooses the rows that the report page is about: those of one build.

A build is a commit together with the logic in the user slot. The page is about this tree's own
commit if it has rows, otherwise about the commit with most rows. Rows of another commit, or with
other logic in the slot, are shown in tables of their own: a chart never mixes two builds.
"""

from __future__ import annotations

from html import escape

from sim.report import table
from sim.rows.results import commit

PLAIN = "loopback"  # the logic in the user slot if `make` gets no EXAMPLE=
# prefix of the ids of benchmark rows that were measured through the user slot's logic
USER = "user/"
# Prefixes of the ids of benchmark rows that need logic of their own in the user slot. They count as
# rows of PLAIN.
BESIDE = ("p2p_read_axi50/", "slot.commands/")

Build = tuple[str, str]  # a build of the gateware: (commit, logic in the user slot)


def build(row: dict) -> Build:
    """Return the build (commit, logic in the user slot) with which a row was measured."""
    if row["id"].startswith(BESIDE):
        return row["commit"] or "unknown", PLAIN
    return row["commit"] or "unknown", row["conditions"].get("user") or PLAIN


def _most(values: list[str]) -> str:
    return max(sorted(set(values)), key=values.count)


def split(rows: list[dict]) -> tuple[list[dict], list[dict], dict[Build, list[dict]]]:
    """Return (rows of the page's build, user/* rows of its commit, all other rows by build)."""
    if not rows:
        return [], [], {}
    commits = [build(row)[0] for row in rows]
    this = commit() if commit() in commits else _most(commits)
    slot = [row for row in rows if row["id"].startswith(USER) and build(row)[0] == this]
    rest = [row for row in rows if row not in slot]
    users = [user for at, user in map(build, rest) if at == this]
    chosen = (this, PLAIN if PLAIN in users or not users else _most(users))
    others: dict[Build, list[dict]] = {}
    for row in rest:
        if build(row) != chosen:
            others.setdefault(build(row), []).append(row)
    return [row for row in rest if build(row) == chosen], slot, others


def section(others: dict[Build, list[dict]]) -> str:
    """Return HTML with a folded table for each build of the gateware that the page is not about."""
    return "".join(
        f"<details><summary>{escape(at)}, {escape(user)} in the user slot "
        f'<span class="quiet">{len(rows)}</span></summary>{table.table(rows)}</details>'
        for (at, user), rows in sorted(others.items())
    )
