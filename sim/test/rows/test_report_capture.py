# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Tests of sim/report/capture.py: rates of captured frames over their limits, and the table of what
became of all frames."""

import re
from dataclasses import asdict

import pytest

from sim.report import capture
from sim.rows import limits
from sim.rows.results import row

FATES = {"delivered": 90, "bad": 3, "lost_ring": 2, "lost_staging": 5}


def rate(size, mps):
    suffix = "" if mps == 256 else f"/mps{mps}"
    limit = limits.capture(size, mps)
    return asdict(row(f"capture/c2h/{size}{suffix}", 0.995 * limit.value, "GB/s", limit))


def loss(**fates):
    conditions = {"frames": 100, "device_ms": 17.0, "mpps": 59.5, **fates}
    return asdict(row("capture/line/4x10/64", 7, "frames lost", conditions=conditions))


def test_each_rate_is_a_mark_in_both_figures():
    """Each row of a rate of captured frames is a mark in both figures of the report: in GB/s, and
    in frames a second. The mark's note has the row's id, value, limit and what sets the limit."""
    rows = [rate(size, mps) for size in (64, 1518) for mps in (128, 256, 512)]
    page = capture.section(rows)
    for entry in rows:
        words = f"{entry['id']}: {entry['value']:.3f} GB/s, limit {entry['limit']:.3f}"
        assert page.count(f"{words} ({entry['binds']})") == 2
    assert page.count("<figure>") == 2
    # 7.05 GB/s of records of 96 bytes are 73.5 million frames.
    million = rows[1]["value"] * 1e3 / 96
    assert f"64: <b>{million:.2f}</b>" in page and f"64: <b>{rows[1]['value']:.2f}</b>" in page


@pytest.mark.parametrize("lost, sign", [(5, "="), (4, "&ne;")])
def test_the_table_says_whether_all_frames_are_accounted_for(lost, sign):
    """The report's table of captured frames has for each row how many frames were delivered or lost
    for each cause, and a sign that says whether these are all frames."""
    page = capture.section([loss(**{**FATES, "lost_staging": lost})])
    cells = re.findall(r'<td class="number">([^<]*)</td>', page)
    assert cells == ["100", "17.00", "59.5", "90", "3", "2", str(lost), sign]


def test_nothing_measured_is_no_section():
    """If no row of captured frames has a value, the report has no section about captured frames."""
    assert capture.section([asdict(row("capture/c2h/64", None, "GB/s", reason="no"))]) == ""
    assert capture.section([asdict(row("c2h/mps256", 7.0, "GB/s"))]) == ""
