# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Tests of sim/report/virtio.py: seed 002's tables with the paper's figures beside ours."""

import re
from dataclasses import asdict

from sim.report import virtio
from sim.rows.results import row

NS = {"p50": 4100, "p95": 5200, "p99": 6300, "p99.9": 7400}


def echo(size, value=4100, begin="virtio/echo", **changes):
    told = {"ns": {**NS, **changes}}
    return asdict(row(f"{begin}/{size}", value, "ns", conditions=told))


def test_each_size_stands_beside_the_paper_s_figures():
    """A line has the size, our percentiles in us, and for each share those of the paper by virtio
    and by XDMA. Lines are in the order of size."""
    rows = [echo(1024), echo(64), asdict(row("virtio/own/64", 1, "cycles")), echo(128, None)]
    wanted = [
        "64 4.10 5.20 35.1 51.3 6.30 44.8 70.1 7.40 66.5 85.8".split(),
        "1024 4.10 5.20 57.8 72.8 6.30 65.9 76.7 7.40 99.6 97.3".split(),
    ]
    assert virtio.lines(rows, "virtio/echo") == wanted
    page = virtio.section(rows)
    cells = re.findall(r'<td class="number">([^<]*)</td>', page)
    assert cells == [cell for cells in wanted for cell in cells]
    assert "no program, system call or driver" in page.lower().replace("\n", " ")
    lines = virtio.text(rows).splitlines()
    assert [line.split() for line in lines[3:]] == wanted
    assert len({len(line) for line in lines[2:]}) == 1 and len(lines[2]) <= 80


def test_each_device_has_a_table():
    """The rows of the net device have a table with a title, in front of that of the console. A
    device without rows has no table."""
    rows = [echo(64), echo(64, begin="virtio/net", p50=1800)]
    page, text = virtio.section(rows), virtio.text(rows)
    titles = re.findall(r"<caption>([^<]*)</caption>", page)
    assert titles == [virtio.TITLES["virtio/net"], virtio.TITLES["virtio/echo"]]
    cells = re.findall(r'<td class="number">([^<]*)</td>', page)
    assert cells[1] == "1.80" and cells[12] == "4.10" and len(cells) == 2 * 11
    tables = [table.splitlines() for table in text.split("\n\n")]
    assert [table[0] for table in tables] == titles
    assert [table[3].split()[1] for table in tables] == ["1.80", "4.10"]
    assert virtio.section(rows[:1]).count("<caption>") == 1


def test_nothing_measured_is_no_section():
    """If no row of messages through a virtio device has a value, the report has no section about
    virtio."""
    assert virtio.section([echo(64, None), asdict(row("c2h/mps256", 7.0, "GB/s"))]) == ""
