# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Tests of sim/rows/results.py, which writes the results file for programs and the table for
people."""

import json

from sim.rows.limits import Limit
from sim.rows.results import LOST_FRAMES, beyond, broken, load, lossy, merge, row, table


def test_ratio_turns_round_where_lower_is_better():
    """The ratio of a row is value/limit for a throughput and limit/value for a latency, so that 1
    is the best."""
    assert row("c2h/mps256", 3.5, "GB/s", Limit(7.0, "wire")).ratio == 0.5
    assert row("mmio_read/4", 800, "ns", Limit(400, "wire"), lower_is_better=True).ratio == 0.5


def test_what_beats_its_limit_is_told():
    """results.beyond() returns each row whose ratio is above 1 by more than rounding, since nothing
    can be better than a limit. It leaves out rows with a budget, which may be undercut."""
    limit, budget = Limit(10, "wire"), Limit(10, "budget")
    rows = [
        row("a", 10.004, "GB/s", limit),
        row("b", 10.2, "GB/s", limit),
        row("c", None, "GB/s", limit),
        row("d", 8, "cycles", budget, lower_is_better=True),
        row("e", 8, "ns", limit, True),
    ]
    assert [entry.id for entry in beyond(rows)] == ["b", "e"]


def test_a_card_that_broke_a_rule_is_told():
    """results.broken() returns rows of Lanebox's endpoint in which a rule was broken, and no rows
    of stock LitePCIe."""
    rows = [
        row("a", 7.0, "GB/s", violations=0),
        row("b", 7.0, "GB/s", violations=1),
        row("c", 7.0, "GB/s"),
        row("stock/b", 7.0, "GB/s", violations=5),
    ]
    assert [entry.id for entry in broken(rows)] == ["b"]


def test_a_lost_frame_is_told():
    """results.lossy() returns the capture's rows that have lost frames, but not the row with a host
    that takes nothing for so long that some must be lost."""
    rows = [
        row("a", 0, LOST_FRAMES),
        row("b", 1, LOST_FRAMES, conditions={"stall_us": 170}),
        row("c", 1, LOST_FRAMES, conditions={"stall_us": 190, "overfilled": True}),
        row("d", 1, "frames"),
        row("e", None, LOST_FRAMES),
    ]
    assert [entry.id for entry in lossy(rows)] == ["b"]


def test_rows_merge_by_id(tmp_path):
    """merge() replaces rows of the results file that have the id of a new row, and keeps the
    others."""
    path = tmp_path / "build" / "results.json"
    merge([row("a", 1.0, "GB/s"), row("b", 2.0, "GB/s")], path)
    merge([row("b", 3.0, "GB/s")], path)
    assert {entry["id"]: entry["value"] for entry in load(path)} == {"a": 1.0, "b": 3.0}
    assert json.loads(path.read_text())["schema"] == 1


def test_a_file_of_another_schema_is_not_mixed_in(tmp_path):
    """load() gives no result rows for a file of another schema, or for a file that is not JSON."""
    path = tmp_path / "results.json"
    path.write_text('{"schema": 99, "results": [{"id": "old"}]}')
    assert load(path) == []
    path.write_text("no json")
    assert load(path) == []


def test_a_row_without_a_value_says_why():
    """The table of benchmark rows has a line for a row without a value too, and below the table the
    reason why the value is missing."""
    text = table([row("mmio_read/8", None, "ns", reason="one dword came back")])
    assert "mmio_read/8" in text.splitlines()[2]
    assert "  mmio_read/8: one dword came back" in text.splitlines()


def test_the_table_shows_what_binds_and_what_was_broken():
    """Each line of the table of benchmark rows has the row's value, unit, limit and ratio, what
    sets the limit, and the number of broken rules."""
    entry = row("c2h/mps256", 7.07, "GB/s", Limit(7.11, "interface"), violations=3)
    line = table([entry]).splitlines()[2]
    assert line.split() == ["c2h/mps256", "7.07", "GB/s", "7.11", "0.994", "interface", "3"]


def test_a_time_is_given_as_what_it_is_above_its_floor():
    """If a row's value is a time, the table shows by how many ns it is above its limit, the
    smallest possible time, in place of a ratio."""
    entry = row("mmio_read/4", 736.0, "ns", Limit(713.7, "host round trip"), lower_is_better=True)
    line = table([entry]).splitlines()[2]
    assert "713.70  +22.3 ns  host round trip" in line and "0.9" not in line


def test_a_table_fits_a_terminal_and_has_no_empty_column():
    """The table of benchmark rows fits 80 columns: a row with a long name is printed on two lines,
    and a column without values is left out."""
    limit = Limit(7.21, "wire")
    rows = [
        row("c2h/mps256", 7.07, "GB/s", limit, violations=0, vs=1.02),
        row("h2c/cpl256@5us/rcb128/desc4096/of/a/long/name", 6.9, "GB/s", limit),
    ]
    lines = table(rows).splitlines()
    assert max(map(len, lines)) <= 80
    assert "vs stock" in lines[0] and "broken" not in lines[0]
    assert lines[3] == rows[1].id and lines[4].split()[0] == "6.90"
    assert lines[-1] == "  No rule of the hard block was broken."
    assert "vs stock" not in table(rows[1:])
