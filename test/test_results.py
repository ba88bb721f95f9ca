# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""sim/results.py: the file that others read, and the table that people read."""

import json

from sim.limits import Limit
from sim.results import beyond, load, merge, row, table


def test_ratio_turns_round_where_lower_is_better():
    """A throughput's ratio is value/limit, a latency's limit/value: 1 is always the best."""
    assert row("c2h/mps256", 3.5, "GB/s", Limit(7.0, "wire")).ratio == 0.5
    assert row("mmio_read/4", 800, "ns", Limit(400, "wire"), lower_is_better=True).ratio == 0.5


def test_what_beats_its_limit_is_told():
    """A ratio above 1 is a mistake of ours; a budget may be kept with room to spare."""
    limit, budget = Limit(10, "wire"), Limit(10, "budget")
    rows = [
        row("a", 10.004, "GB/s", limit), row("b", 10.2, "GB/s", limit),
        row("c", None, "GB/s", limit),
        row("d", 8, "cycles", budget, lower_is_better=True), row("e", 8, "ns", limit, True),
    ]  # fmt: skip
    assert [entry.id for entry in beyond(rows)] == ["b", "e"]


def test_rows_merge_by_id(tmp_path):
    """A second run replaces its own rows and leaves the others alone."""
    path = tmp_path / "build" / "results.json"
    merge([row("a", 1.0, "GB/s"), row("b", 2.0, "GB/s")], path)
    merge([row("b", 3.0, "GB/s")], path)
    assert {entry["id"]: entry["value"] for entry in load(path)} == {"a": 1.0, "b": 3.0}
    assert json.loads(path.read_text())["schema"] == 1


def test_a_file_of_another_schema_is_not_mixed_in(tmp_path):
    """Rows whose meaning is not known are dropped, not guessed at."""
    path = tmp_path / "results.json"
    path.write_text('{"schema": 99, "results": [{"id": "old"}]}')
    assert load(path) == []
    path.write_text("no json")
    assert load(path) == []


def test_a_row_without_a_value_says_why():
    """It keeps its line in the table, and the reason stands below."""
    text = table([row("mmio_read/8", None, "ns", reason="one dword came back")])
    assert "mmio_read/8" in text.splitlines()[2]
    assert text.splitlines()[-1].strip() == "mmio_read/8: one dword came back"


def test_the_table_shows_what_binds_and_what_was_broken():
    """Measured, limit, ratio, binding limit and count of broken rules stand in one line."""
    entry = row("c2h/mps256", 7.07, "GB/s", Limit(7.11, "interface"), violations=0)
    line = table([entry]).splitlines()[2]
    assert line.split() == ["c2h/mps256", "7.07", "7.11", "GB/s", "0.994", "interface", "0"]
